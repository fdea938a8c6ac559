// A `kubectl proxy` of our own: who speaks HTTP to its socket speaks to the cluster, with the login
// that kubectl has, whatever that is. The socket is in a folder that only this user may enter, and
// goes away with the proxy. The proxy ends with this object, and with the thread that started it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/local_command.h"

namespace millrace {

class LocalProxy {
 public:
  // `kubectl`: the command, with the words that choose a cluster. Does not wait. Errors:
  // UNAVAILABLE where no folder can be made; as of RunningCommand.
  static Result<std::unique_ptr<LocalProxy>> start(std::vector<std::string> kubectl);

  LocalProxy(const LocalProxy&) = delete;
  LocalProxy& operator=(const LocalProxy&) = delete;
  ~LocalProxy();

  // Until it listens. Errors: as of kubectl_fault() where it has ended instead;
  // FAILED_PRECONDITION without kubectl; DEADLINE_EXCEEDED.
  Status await(Clock::Duration time_limit, const Clock& clock);
  // Whether it has not ended yet. Takes what it says.
  bool lives();
  const std::string& socket() const { return socket_; }

 private:
  LocalProxy(std::string folder, RunningCommand command);

  const std::string folder_;
  const std::string socket_;
  std::optional<RunningCommand> command_;
  std::string said_;  // until it listens
  bool listens_ = false;
};

}  // namespace millrace
