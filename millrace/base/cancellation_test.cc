#include "millrace/base/cancellation.h"

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("the first reason stays") {
  Cancellation cancellation;
  CHECK_FALSE(cancellation.cancelled());
  CHECK(cancellation.reason().ok());
  cancellation.cancel(aborted("first"));
  cancellation.cancel(aborted("second"));
  CHECK(cancellation.cancelled());
  CHECK(cancellation.reason().message() == "first");
}

TEST_CASE("cancelling with OK is still an error to those who wait") {
  Cancellation cancellation;
  cancellation.cancel({});
  CHECK(cancellation.reason().code() == Code::cancelled);
}

TEST_CASE("a callback hears the reason once, before or after the fact") {
  Cancellation cancellation;
  std::vector<std::string> heard;
  auto hear = [&](const Status& why) { heard.push_back(why.message()); };
  const auto before = cancellation.on_cancel(hear);
  cancellation.cancel(aborted("over"));
  cancellation.cancel(aborted("again"));
  CHECK(heard == std::vector<std::string>{"over"});
  const auto after = cancellation.on_cancel(hear);
  CHECK(heard == std::vector<std::string>{"over", "over"});
}

TEST_CASE("a released registration hears nothing") {
  Cancellation cancellation;
  int calls = 0;
  auto released = cancellation.on_cancel([&](const Status&) { ++calls; });
  {
    const auto scoped = cancellation.on_cancel([&](const Status&) { ++calls; });
  }
  released.release();
  cancellation.cancel(aborted("over"));
  CHECK(calls == 0);
}

TEST_CASE("a registration that was moved or overwritten keeps only its last callback") {
  Cancellation cancellation;
  int first = 0;
  int second = 0;
  auto registration = cancellation.on_cancel([&](const Status&) { ++first; });
  registration = cancellation.on_cancel([&](const Status&) { ++second; });
  const auto moved = std::move(registration);
  cancellation.cancel(aborted("over"));
  CHECK(first == 0);
  CHECK(second == 1);
}

TEST_CASE("a callback may drop its own registration") {
  Cancellation cancellation;
  Cancellation::Registration registration;
  bool called = false;
  registration = cancellation.on_cancel([&](const Status&) {
    registration.release();
    called = true;
  });
  cancellation.cancel(aborted("over"));
  CHECK(called);
}

TEST_CASE("destroying a registration waits for its callback on another thread") {
  Cancellation cancellation;
  std::latch entered(1);
  std::latch leave(1);
  std::atomic<bool> finished = false;
  auto registration =
      std::make_unique<Cancellation::Registration>(cancellation.on_cancel([&](const Status&) {
        entered.count_down();
        leave.wait();
        finished = true;
      }));
  std::thread canceller([&] { cancellation.cancel(aborted("over")); });
  entered.wait();
  bool finished_at_release = false;
  std::thread releaser([&] {
    registration.reset();
    finished_at_release = finished;
  });
  leave.count_down();
  releaser.join();
  canceller.join();
  CHECK(finished_at_release);
}

TEST_CASE("many threads may register, release and cancel at once") {
  for (int round = 0; round < 20; ++round) {
    Cancellation cancellation;
    std::atomic<int> running = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          int own = 0;  // goes with the registration: a late callback would write to a dead frame
          const auto registration =
              cancellation.on_cancel([&](const Status&) { ++own, ++running, --running; });
        }
      });
    }
    cancellation.cancel(aborted("over"));
    for (std::thread& thread : threads) thread.join();
    CHECK(running == 0);
  }
}

}  // namespace
}  // namespace millrace
