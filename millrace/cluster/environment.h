// The environment variables that tell a task about itself: their names, in one place. Nothing here
// reads them: whoever starts a program does, and passes on what they say.
//
//   TF_CONFIG                 which cluster, and which task of it                (tf_config.h)
//   MILLRACE_LISTEN_FD        the socket that a launcher has bound for it (inherited_socket.h)
//   MILLRACE_LISTEN_ADDRESS   and the address that it is bound to
//   MILLRACE_REPORT_FD        where it tells how it is: a descriptor            (task_report.h)
//   MILLRACE_REPORT_FILE      or a file
//   MILLRACE_ATTEMPT          how often a launcher has started it, this time included
//   MILLRACE_ROSTER           the file with the tasks that are not there now            (roster.h)
//
// MILLRACE_LOG, the level of the log, is read by base/log.h alone.
#pragma once

#include <array>
#include <string_view>

namespace millrace {

inline constexpr const char* kTaskVariable = "TF_CONFIG";
inline constexpr const char* kListenDescriptorVariable = "MILLRACE_LISTEN_FD";
inline constexpr const char* kListenAddressVariable = "MILLRACE_LISTEN_ADDRESS";
inline constexpr const char* kReportDescriptorVariable = "MILLRACE_REPORT_FD";
inline constexpr const char* kReportFileVariable = "MILLRACE_REPORT_FILE";
inline constexpr const char* kAttemptVariable = "MILLRACE_ATTEMPT";
inline constexpr const char* kRosterVariable = "MILLRACE_ROSTER";

// What a launcher hands over to one server, and to one program: whoever has taken it removes these,
// so that neither a second server nor programs that it starts look for it.
inline constexpr std::array kSocketHandedOver = {kListenDescriptorVariable, kListenAddressVariable};
inline constexpr std::array kReportHandedOver = {kReportDescriptorVariable, kReportFileVariable};

// Those that a launcher sets itself, differently for every task.
constexpr bool is_set_by_launchers(std::string_view name) {
  for (const char* own : kSocketHandedOver)
    if (name == own) return true;
  return name == kTaskVariable || name == kReportDescriptorVariable || name == kAttemptVariable ||
         name == kRosterVariable;
}

}  // namespace millrace
