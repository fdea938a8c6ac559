// Text tests: files of cases, each a command, a graph that goes in, and the text that comes out.
//
//   # What the case shows.
//   place devices=worker:2,ps
//   w = VariableV2(dtype=float, shape=[]) @ /job:ps
//   ----
//   w -> /job:ps/replica:0/task:0/device:CPU:0
//
// A blank line ends a case. With MILLRACE_REWRITE in the environment the files are written anew
// with what came out, to be read before it is committed. For tests only.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/plan/device_set.h"

namespace millrace::testing {

struct TextCase {
  std::string title;                           // of the comment above
  std::string command;                         // the first word
  std::map<std::string, std::string> options;  // name=value; "" for a word alone
  std::string input;

  bool has(const std::string& option) const { return options.contains(option); }
  // The parts of an option between commas; none if it is missing.
  std::vector<std::string> list(const std::string& option) const;
};

// Runs the cases of testdata/`file`, each a doctest subcase with CHECKs.
void run_text_cases(std::string_view file, const std::function<std::string(const TextCase&)>& run);

// The devices of a case: "devices=ps:2,worker:1" gives each job so many tasks with one CPU, "+gpu"
// after a job's name a GPU as well. The first task of the first job is local to the master.
// Incarnations are 1, 2, 3 … in the order written.
DeviceSet devices_of(const TextCase& text_case);

// Between "worker:1" (or "worker:1/gpu") and the full name of that task's CPU (GPU). Short names
// are expanded where a device stands in the text form, after "->".
std::string with_full_names(std::string_view text);
std::string with_short_names(std::string_view text);

}  // namespace millrace::testing
