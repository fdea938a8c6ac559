// Lookout: whether a thread that waits for the network looks again and again for a moment before it
// sleeps.
//
// Waking a processor that has nothing else to do takes longer than most of what we wait for: on a
// virtual machine forty microseconds, where an answer takes ten. So who has got what it waited for
// soon, some times, looks for it for a moment the next time; who looked in vain sleeps at once,
// until its sleeps are short again. Whatever else could run on the processor goes first.
//
// Of one thread at a time.
#pragma once

#include <chrono>

#include "absl/functional/function_ref.h"

namespace millrace::transport {

class Lookout {
 public:
  using Now = std::chrono::steady_clock::time_point;

  // True as soon as `look` finds something. False if it is time to sleep: has_slept() then wants to
  // know how that went.
  bool finds(absl::FunctionRef<bool()> look);
  void begins_to_sleep(Now now = std::chrono::steady_clock::now()) { since_ = now; }
  void has_slept(Now now = std::chrono::steady_clock::now());

 private:
  int confidence_ = 0;
  Now since_;
};

}  // namespace millrace::transport
