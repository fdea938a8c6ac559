// YARN's ResourceManagers and NodeManagers by HTTP, through the curl command, which brings the
// logins and has to be on the PATH. Every call of it has a time limit; what may pass is tried again
// a few times. Single-threaded.
#pragma once

#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/local_tries.h"
#include "millrace/launch/yarn/hadoop_conf.h"

namespace millrace {

class YarnWeb {
 public:
  // `user`: who asks, where nobody has to prove it; `time_limit`: of one call.
  YarnWeb(YarnAddresses addresses, std::string user, Clock::Duration time_limit, const Clock& clock)
      : addresses_(std::move(addresses)),
        user_(std::move(user)),
        time_limit_(time_limit),
        clock_(clock) {}

  struct Call {
    std::string method;
    std::string path;         // below /ws/v1/cluster/
    std::string body = "{}";  // of what is no GET
  };
  // What the active ResourceManager answers. Errors: as of yarn_fault() and curl_fault();
  // FAILED_PRECONDITION without curl.
  Result<std::string> ask(const Call& call, Tries tries);

  // What stands at a URL of another server of the cluster, or where that sends who asks. Errors: as
  // above, after one try.
  Result<std::string> page(const std::string& url);

 private:
  Result<std::string> ask_once(const Call& call, const std::string& server);
  // The code of HTTP and the body.
  struct Answer {
    int code = 0;
    std::string body;
  };
  Result<Answer> answer_of(const std::vector<std::string>& words, const std::string& body,
                           const std::string& server);
  std::string with_user(std::string url) const;
  // Why curl could not show there who asks; empty if nobody can tell.
  std::string missing_login_at(const std::string& server);

  const YarnAddresses addresses_;
  const std::string user_;
  const Clock::Duration time_limit_;
  const Clock& clock_;
  size_t active_ = 0;  // which ResourceManager answered last
};

}  // namespace millrace
