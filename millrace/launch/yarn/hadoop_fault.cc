#include "millrace/launch/yarn/hadoop_fault.h"

#include <initializer_list>
#include <string>

namespace millrace {
namespace {

bool ends_with_one_of(std::string_view text, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends)
    if (text.ends_with(end)) return true;
  return false;
}

Code code_of(std::string_view exception) {
  if (ends_with_one_of(exception, {"StandbyException", "RetriableException", "NotYetReadyException",
                                   "NMNotYetReadyException"}))
    return Code::unavailable;
  if (ends_with_one_of(exception, {"InvalidToken", "SaslException"})) return Code::unauthenticated;
  if (ends_with_one_of(exception, {"AccessControlException", "AuthorizationException"}))
    return Code::permission_denied;
  if (ends_with_one_of(exception,
                       {"InvalidResourceRequestException", "InvalidLabelResourceRequestException",
                        "ResourceNotFoundException"}))
    return Code::invalid_argument;
  if (ends_with_one_of(exception, {"ApplicationAttemptNotFoundException",
                                   "ApplicationNotFoundException", "ContainerNotFoundException"}))
    return Code::not_found;
  if (ends_with_one_of(exception, {"ApplicationMasterNotRegisteredException"}))
    return Code::aborted;
  if (ends_with_one_of(exception, {"InvalidApplicationMasterRequestException"}))
    return Code::already_exists;
  if (ends_with_one_of(exception, {"RpcNoSuchMethodException", "RpcNoSuchProtocolException",
                                   "UnsupportedOperationException"}))
    return Code::unimplemented;
  return Code::unknown;
}

}  // namespace

Status hadoop_fault(std::string_view exception_class, std::string_view said) {
  const std::string_view first_line = said.substr(0, said.find('\n'));
  const size_t dot = exception_class.rfind('.');
  const std::string_view name =
      dot == std::string_view::npos ? exception_class : exception_class.substr(dot + 1);
  if (first_line.empty()) return error(code_of(name), name.empty() ? "it says no more" : name);
  return error(code_of(name), first_line);
}

}  // namespace millrace
