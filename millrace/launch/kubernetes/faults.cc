#include "millrace/launch/kubernetes/faults.h"

#include <algorithm>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/kubernetes/object_words.h"

namespace millrace {
namespace {

constexpr size_t kMostWords = 600;

bool says(std::string_view text, std::initializer_list<std::string_view> marks) {
  return std::ranges::any_of(
      marks, [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

// Without the lines of kubectl's log and its hints: the last line that tells something.
std::string_view last_words(std::string_view said) {
  std::string_view last;
  while (!said.empty()) {
    const size_t end = said.find('\n');
    const std::string_view line = said.substr(0, end);
    said.remove_prefix(end == std::string_view::npos ? said.size() : end + 1);
    if (!line.empty() && !line.starts_with("Warning:") && !line.starts_with("See '")) last = line;
  }
  return last.substr(0, kMostWords);
}

// The line that has the mark.
std::string_view line_with(std::string_view said, std::string_view mark) {
  const size_t at = said.find(mark);
  const size_t before = said.rfind('\n', at);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return said.substr(begin, said.find('\n', at) - begin).substr(0, kMostWords);
}

}  // namespace

Status kubectl_fault(std::string_view said) {
  const std::string_view words = last_words(said);
  if (says(said, {"exceeded quota"}))
    return error(Code::resource_exhausted,
                 "the namespace's quota is too small: ", line_with(said, "exceeded quota"));
  if (says(said, {"violates PodSecurity"}))
    return failed_precondition("the namespace's security standard forbids the pods: ",
                               line_with(said, "violates PodSecurity"));
  if (says(said, {"is forbidden", "(Forbidden)"})) {
    const std::string_view mark = says(said, {"is forbidden"}) ? "is forbidden" : "(Forbidden)";
    return error(
        Code::permission_denied, "the login may not do this: ", line_with(said, mark),
        "; whoever runs the cluster can allow it: verbs create, get, list, patch and "
        "delete on jobs, pods, pods/log, services, configmaps, secrets and events, and create "
        "on pods/exec for commands beside tasks and for files that are large");
  }
  if (says(said, {"Unauthorized", "must be logged in", "getting credentials", "token has expired",
                  "certificate has expired"}))
    return error(Code::unauthenticated, "the login does not hold, or no longer: ", words,
                 "; log in again, as for kubectl");
  if (says(said,
           {"no configuration has been provided", "current-context", "context was not found",
            "does not exist in the kubeconfig", "invalid configuration", "error loading config",
            // Without a configuration kubectl asks this machine.
            "http://localhost:8080", "localhost:8080 was refused", "[::1]:8080: connect",
            "127.0.0.1:8080: connect"}))
    return failed_precondition("kubectl knows no cluster: ", words,
                               "; set KUBECONFIG, or choose one with kubectl config use-context");
  // A patch that was to hold for what is there no longer.
  if (says(said, {"the object has been modified", "rejected our request due to an error in our"}))
    return error(Code::aborted, "somebody else changes it at this moment; try again");
  if (says(said, {"AlreadyExists"})) return error(Code::already_exists, words);
  if (says(said,
           {"Unable to connect to the server", "was refused", "i/o timeout", "no route to host",
            "TLS handshake timeout", "ServiceUnavailable", "Client.Timeout", "EOF",
            "context deadline exceeded", "connection reset", "http2: ", "InternalError",
            "etcdserver", "TooManyRequests", "Timeout: ", "Timeout)"}))
    return unavailable("the cluster does not answer: ", words);
  if (says(said, {"(NotFound)", "not found"})) return not_found(words);
  return error(Code::unknown, "kubectl: ", words.empty() ? "it failed without a word" : words);
}

Status api_fault(int code, const std::string& body) {
  const auto json = nlohmann::ordered_json::parse(body, nullptr, false);
  const std::string reason = object_text(json, {"reason"});
  // As kubectl tells it.
  if (!reason.empty())
    return kubectl_fault(
        str_cat("Error from server (", reason, "): ", object_text(json, {"message"})));
  return kubectl_fault(
      str_cat(code >= 500 ? "Unable to connect to the server: " : "Error from server: ",
              body.empty() ? str_cat("it answers with HTTP code ", code) : shortened(body)));
}

}  // namespace millrace
