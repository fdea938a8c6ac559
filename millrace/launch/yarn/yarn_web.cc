#include "millrace/launch/yarn/yarn_web.h"

#include <charconv>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job_place.h"
#include "millrace/launch/local_command.h"
#include "millrace/launch/yarn/answers.h"

namespace millrace {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

constexpr const char* kJson = "application/json";

// curl's arguments are seen by everybody on the machine; none of them is a secret.
std::vector<std::string> curl_words(const std::string& method, const std::string& url,
                                    const std::string& accepted, seconds time_limit,
                                    bool has_kerberos) {
  std::vector<std::string> words = {
      "curl", "--silent", "--show-error", "--globoff", "--max-time",
      std::to_string(time_limit.count()), "--request", method, "--header",
      "Content-Type: application/json", "--header", str_cat("Accept: ", accepted),
      // Where this is not asked for, it does no harm.
      "--header", "X-XSRF-HEADER: millrace", "--write-out", "\n%{http_code}"};
  if (method != "GET") words.insert(words.end(), {"--data-binary", "@-"});
  if (has_kerberos) words.insert(words.end(), {"--negotiate", "--user", ":"});
  words.insert(words.end(), {"--", url});
  return words;
}

}  // namespace

std::string YarnWeb::with_user(std::string url) const {
  if (!addresses_.has_kerberos) str_append(&url, "?user.name=", user_);
  return url;
}

Result<YarnWeb::Answer> YarnWeb::answer_of(const std::vector<std::string>& words,
                                           const std::string& body, const std::string& server) {
  // curl itself is to end in time; should it not, it is ended.
  const Result<CommandOutput> answer =
      run_command(words, body, duration_cast<seconds>(time_limit_) + seconds(5), clock_);
  if (!answer.ok() && answer.status().code() == Code::not_found)
    return failed_precondition(answer.status().message(), "; jobs go to YARN by it: install curl");
  if (!answer.ok()) return answer.status();
  if (answer->code != 0) return curl_fault(answer->code, answer->err).with(server);
  const size_t end = answer->out.rfind('\n');
  if (end == std::string::npos) return curl_fault(0, "it told no code of the answer");
  Answer told{.body = answer->out.substr(0, end)};
  std::from_chars(answer->out.data() + end + 1, answer->out.data() + answer->out.size(), told.code);
  return told;
}

Result<std::string> YarnWeb::ask_once(const Call& call, const std::string& server) {
  const std::string url = with_user(str_cat(server, "/ws/v1/cluster/", call.path));
  MR_ASSIGN(Answer answer,
            answer_of(curl_words(call.method, url, kJson, duration_cast<seconds>(time_limit_),
                                 addresses_.has_kerberos),
                      call.body, server));
  if (answer.code / 100 == 2) return std::move(answer.body);
  const std::string why = answer.code == 401 ? missing_login_at(server) : "";
  return yarn_fault(answer.code, why.empty() ? answer.body : why);
}

std::string YarnWeb::missing_login_at(const std::string& server) {
  if (!addresses_.has_kerberos) return "";
  const auto limit = duration_cast<seconds>(time_limit_);
  std::vector<std::string> words =
      curl_words("GET", str_cat(server, "/ws/v1/cluster/info"), kJson, limit, true);
  words.insert(words.begin() + 1, "--verbose");
  const Result<CommandOutput> told = run_command(words, "", limit + seconds(5), clock_);
  return told.ok() ? missing_login(told->err) : "";
}

Result<std::string> YarnWeb::ask(const Call& call, Tries tries) {
  const std::vector<std::string>& servers = addresses_.web;
  return ask_again(tries, [&]() -> Result<std::string> {
    Status fault;
    for (size_t i = 0; i < servers.size(); ++i) {
      Result<std::string> answer = ask_once(call, servers[active_]);
      if (answer.ok() || !may_pass(answer.status())) return answer;
      fault = answer.status();
      active_ = (active_ + 1) % servers.size();
    }
    return fault;
  });
}

Result<std::string> YarnWeb::page(const std::string& url) {
  std::vector<std::string> words = curl_words(
      "GET", with_user(url), "*/*", duration_cast<seconds>(time_limit_), addresses_.has_kerberos);
  words.insert(words.begin() + 1, "--location");
  MR_ASSIGN(Answer answer, answer_of(words, "", url));
  if (answer.code / 100 == 2) return std::move(answer.body);
  return yarn_fault(answer.code, answer.body);
}

}  // namespace millrace
