// Lookout: whether a thread that waits for another process looks again and again for a moment
// before it sleeps.
//
// Waking a processor that has nothing else to do takes longer than most of what we wait for: on a
// virtual machine forty microseconds, where an answer takes ten. So who has got what it waited for
// soon, some times, looks for it for a moment the next time; who looked in vain sleeps at once,
// until its sleeps are short again. Whatever else could run on the processor goes first.
//
// Of one thread at a time.
#pragma once

#include <chrono>
#include <thread>

#include "absl/functional/function_ref.h"

namespace millrace {

// Between two looks at memory that another processor is about to write: the two share less then.
inline void pause_a_moment() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

class Lookout {
 public:
  using Now = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::microseconds kUsualLook{150};

  // Begins by sleeping.
  Lookout() = default;
  // Begins by looking, for so long at most.
  static Lookout confident(std::chrono::microseconds longest = kUsualLook) {
    Lookout made;
    made.longest_ = longest;
    made.confidence_ = kMostConfidence;
    return made;
  }

  // True as soon as `look` finds something. False if it is time to sleep: has_slept() then wants to
  // know how that went.
  bool finds(absl::FunctionRef<bool()> look);
  // Whether finds() would look at all.
  bool would_look() const { return confidence_ >= kEnough; }
  void begins_to_sleep(Now now = std::chrono::steady_clock::now()) { since_ = now; }
  void has_slept(Now now = std::chrono::steady_clock::now());

 private:
  static constexpr int kMostConfidence = 8;
  static constexpr int kEnough = 4;

  std::chrono::microseconds longest_ = kUsualLook;
  int confidence_ = 0;
  Now since_;
};

}  // namespace millrace
