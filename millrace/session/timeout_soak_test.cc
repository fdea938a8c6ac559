// Many steps that time out: each must give back all that it held.
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/api/ops.h"
#include "millrace/base/testing/footprint.h"
#include "millrace/session/session.h"

namespace millrace {
namespace {

// For the allocator's own fluctuation; a leaked step would cost hundreds of bytes each. The thread
// sanitizer keeps several bytes about each of ours.
#if defined(__SANITIZE_THREAD__)
constexpr size_t kRoom = size_t{40} << 20;
#else
constexpr size_t kRoom = size_t{8} << 20;
#endif

TEST_CASE("a hundred thousand steps that time out leave nothing behind") {
  const auto runtime = Runtime::create({.threads = 2});
  const auto session = Session::create("", {}, runtime).value();
  GraphBuilder builder(runtime->ops());
  const Output queue = ops::fifo_queue(builder.root(), {DType::i32});
  const Output taken = ops::queue_dequeue(builder.root(), queue, {DType::i32})[0];
  REQUIRE(session->extend(builder).ok());

  constexpr int kThreads = 20;
  std::atomic<int> otherwise{0};
  const auto time_out = [&](int steps) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < steps / kThreads; ++i) {
          const Status status =
              session->run({}, {taken.name()}, {.timeout = std::chrono::milliseconds(1)}).status();
          if (status.code() != Code::deadline_exceeded) ++otherwise;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  time_out(20'000);
  const Footprint before = Footprint::now();
  time_out(80'000);
  const Footprint after = Footprint::now();
  CHECK(otherwise == 0);
  CHECK(after.threads == before.threads);
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.resident_bytes < before.resident_bytes + kRoom);
}

}  // namespace
}  // namespace millrace
