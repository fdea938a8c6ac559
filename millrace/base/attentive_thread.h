// AttentiveThread: a waiting thread as a runner, which has something to look after while it waits,
// as Python's main thread has signals. Whoever keeps it waiting in a way of his own, in a system
// call say, has it look up ten times a second.
#pragma once

#include <chrono>
#include <utility>

#include "millrace/base/runner.h"

namespace millrace {

class AttentiveThread : public Runner {
 public:
  static constexpr std::chrono::milliseconds kLookEvery{100};

  // The same thread, which outlives this.
  explicit AttentiveThread(CallerThread& thread) : thread_(thread) {}
  void post(Task task) final { thread_.post(std::move(task)); }
  // On the thread itself. What it finds may end what it waits for.
  virtual void look_up() = 0;

  // Null for a runner that is none.
  static AttentiveThread* of(Runner* runner) { return dynamic_cast<AttentiveThread*>(runner); }

 private:
  CallerThread& thread_;
};

}  // namespace millrace
