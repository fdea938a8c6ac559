// Hunt: trials of many ops, in a process of their own that may die of them. Whoever hunts watches
// that process, notes what ended it, and goes on behind it with another one.
//
// What a trial may take is bounded: a step that computes for long is cancelled, and a kernel that
// does not hear of it, or takes more memory than the bound, is a fault like a crash. One thread may
// call; it should be the only one, because the process is forked.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "millrace/op/registry.h"

namespace millrace::hostile {

struct HuntOptions {
  uint64_t seed = 1;
  int64_t first = 0;    // number of each op's first case
  int64_t cases = 100;  // of each op
  std::vector<const OpDef*> subjects;
  int most_faults = 3;  // of one op, which is left then
  std::chrono::milliseconds cancelled_after{500};
  std::chrono::milliseconds ended_after{20'000};
  size_t memory = size_t{1} << 30;
  enum class Voice : uint8_t { heard, hushed } voice = Voice::heard;  // what ops print
};

struct Fault {
  std::string op;
  int64_t number = 0;
  std::string what;  // "killed by signal 11 (Segmentation fault)"
  std::string text;  // of the trial
  // What repeats it: "hostile_ops --seed 1 --op Add --first 17 --cases 1".
  std::string command;
};

// `found` hears of each fault at once, `progress` of each op that is begun; either may be empty.
std::vector<Fault> hunt(const OpRegistry& ops, const HuntOptions& options,
                        const std::function<void(const Fault&)>& found = {},
                        const std::function<void(const OpDef&)>& progress = {});

}  // namespace millrace::hostile
