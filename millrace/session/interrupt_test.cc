#include "millrace/session/interrupt.h"

#include <thread>

#include <doctest/doctest.h>

#include "millrace/session/wait_for.h"

namespace millrace {
namespace {

// Ends a wait when it is asked for the third time.
class ThirdTime final : public Interrupt {
 public:
  explicit ThirdTime(std::thread::id thread) : thread_(thread) {}
  bool applies() override { return std::this_thread::get_id() == thread_; }
  Status ask() override { return ++asked == 3 ? cancelled("enough") : Status(); }

  int asked = 0;

 private:
  const std::thread::id thread_;
};

// A call that ends only when it is cancelled.
struct Endless {
  Cancellation::Registration registration;
  std::shared_ptr<Done<int>> done;

  void start(const Call& call, Done<int> answer) {
    done = std::make_shared<Done<int>>(std::move(answer));
    registration = call.cancellation->on_cancel([this](const Status& why) { (*done)(why); });
  }
};

TEST_CASE("a thread that waits asks, and an error ends its wait") {
  ThirdTime interrupt(std::this_thread::get_id());
  Endless endless;
  WaitFor<int> wait(Clock::real(), &interrupt);
  endless.start(wait.call(), wait.done());
  CHECK(wait.get().status() == cancelled("enough"));
  CHECK(interrupt.asked == 3);
}

TEST_CASE("whoever keeps the thread waiting has it look up, with the same end") {
  ThirdTime interrupt(std::this_thread::get_id());
  Endless endless;
  WaitFor<int> wait(Clock::real(), &interrupt);
  const Call call = wait.call();
  CHECK(call.waiting);
  AttentiveThread* const thread = AttentiveThread::of(call.runner);
  REQUIRE(thread != nullptr);
  endless.start(call, wait.done());
  for (int i = 0; i < 5; ++i) thread->look_up();
  CHECK(interrupt.asked == 3);
  CHECK(wait.get().status() == cancelled("enough"));
}

TEST_CASE("what the caller cancels ends the wait as well") {
  ThirdTime interrupt(std::this_thread::get_id());
  Cancellation cancellation;
  Endless endless;
  WaitFor<int> wait(Clock::real(), &interrupt);
  endless.start(wait.call(&cancellation), wait.done());
  cancellation.cancel(aborted("by the caller"));
  CHECK(wait.get().status() == aborted("by the caller"));
}

TEST_CASE("a thread with nothing to look after just waits") {
  ThirdTime interrupt(std::thread::id{});
  Cancellation cancellation;
  WaitFor<int> wait(Clock::real(), &interrupt);
  const Call call = wait.call(&cancellation);
  CHECK(call.waiting);
  CHECK(AttentiveThread::of(call.runner) == nullptr);
  CHECK(call.cancellation == &cancellation);
  wait.done()(7);
  CHECK(*wait.get() == 7);
  CHECK(interrupt.asked == 0);
}

}  // namespace
}  // namespace millrace
