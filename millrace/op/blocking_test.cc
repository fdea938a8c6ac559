#include "millrace/op/blocking.h"

#include <unistd.h>

#include <array>
#include <latch>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"

namespace millrace {
namespace {

// A step of one kernel, and a pipe whose reader decides how long the kernel blocks.
struct Blocked {
  Blocked() {
    REQUIRE(::pipe(ends.data()) == 0);
    step.cancellation = &cancellation;
  }
  ~Blocked() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  // Blocks until write() has been called.
  Status read() const {
    char byte = 0;
    return ::read(ends[0], &byte, 1) == 1 ? Status() : internal("the pipe was closed");
  }
  void write() const { CHECK(::write(ends[1], "x", 1) == 1); }
  void start() {
    KernelContext context(step, "reader", {}, {}, {});
    run_blocking(
        context, [this] { return read(); }, Done<void>([this](Status status) {
          outcome = std::move(status);
          answered.count_down();
        }));
  }

  std::array<int, 2> ends{};
  Cancellation cancellation;
  StepContext step;
  std::optional<Status> outcome;
  std::latch answered{1};
};

TEST_CASE("work that waits in a system call keeps no kernel from running") {
  ThreadPool pool(1), blocking(1);
  Blocked blocked;
  blocked.step.pool = &pool;
  blocked.step.blocking = &blocking;
  blocked.start();
  std::latch ran(1);
  pool.post([&] { ran.count_down(); });
  ran.wait();
  blocked.write();
  blocked.answered.wait();
  CHECK(blocked.outcome->ok());
}

TEST_CASE("a step that is cancelled does not wait for its system calls") {
  Blocked blocked;
  ThreadPool blocking(1);  // ends first: its thread is still in the call
  blocked.step.blocking = &blocking;
  blocked.start();
  blocked.cancellation.cancel(aborted("enough"));
  blocked.answered.wait();
  CHECK(*blocked.outcome == aborted("enough"));
  blocked.write();
}

TEST_CASE("work whose step has ended before its turn came does not begin, and holds nothing") {
  struct InLine final : Runner {
    void post(Task task) override { tasks.push_back(std::move(task)); }
    std::vector<Task> tasks;
  };
  InLine line;
  Cancellation cancellation;
  StepContext step;
  step.cancellation = &cancellation;
  step.blocking = &line;
  KernelContext context(step, "writer", {}, {}, {});
  bool has_begun = false;
  const auto held = std::make_shared<int>(0);
  Status outcome;
  run_blocking(
      context,
      [&has_begun, held]() -> Status {
        has_begun = true;
        return {};
      },
      Done<void>([&](Status status) { outcome = std::move(status); }));
  CHECK(held.use_count() == 2);
  cancellation.cancel(aborted("enough"));
  CHECK(outcome == aborted("enough"));
  CHECK(held.use_count() == 1);
  line.tasks.front()();
  CHECK_FALSE(has_begun);
}

TEST_CASE("blocking work of a step that has been cancelled before does not begin") {
  Blocked blocked;
  blocked.cancellation.cancel(aborted("too late"));
  blocked.start();
  CHECK(*blocked.outcome == aborted("too late"));
}

TEST_CASE("blocking work without a place of its own runs where it is") {
  Blocked blocked;
  blocked.write();
  blocked.start();
  REQUIRE(blocked.outcome.has_value());
  CHECK(blocked.outcome->ok());
}

}  // namespace
}  // namespace millrace
