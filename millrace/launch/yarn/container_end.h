// Why a container ended, in YARN's numbers and in ours. A container's program has an exit code from
// 0 up; what YARN did to it has a number below zero. The process that stands for a container in the
// launcher (local_errand.h) ends with the program's code, or with kErrandFailed and a line on its
// standard error that says why: hear_yarn() reads it there. Pure.
#pragma once

#include <string>
#include <string_view>

#include "millrace/launch/exit_reason.h"

namespace millrace {

// The exit code of an errand that its program does not explain.
inline constexpr int kErrandFailed = 255;

struct ContainerEnd {
  int code = 0;
  std::string words = {};  // empty unless the code is kErrandFailed: one of the lines below
  friend bool operator==(const ContainerEnd&, const ContainerEnd&) = default;
};

// What YARN says of a container that has ended. `node`: where it was; empty: not known.
ContainerEnd container_end(int status, std::string_view diagnostics, std::string_view node);
// Of one that could not be started.
ContainerEnd never_started(std::string_view why);
// Of one that is ours no longer.
ContainerEnd taken_away(std::string_view why);
// Of one that was to end before it began.
ContainerEnd never_began();

// True for a line that an errand wrote for itself; adds to the facts what it tells of the end.
//
//   yarn: runs in container_1700000000000_0001_01_000002 on n1
//   yarn: out of memory: ...      yarn: taken away: ...      yarn: could not start: ...
bool hear_yarn(std::string_view line, ExitFacts& facts);

}  // namespace millrace
