#include "millrace/base/metrics.h"

#include <limits>
#include <thread>
#include <vector>

#include "doctest/doctest.h"

namespace millrace {
namespace {

TEST_CASE("what is counted shows under its name, and what is zero not at all") {
  Metrics metrics;
  metrics.add(Counter::steps_started);
  metrics.add(Counter::bytes_sent, 40);
  metrics.add(Counter::bytes_sent, 2);
  const MetricsSnapshot snapshot = metrics.snapshot();
  REQUIRE(snapshot.counts.size() == 2);
  CHECK(snapshot.counts[0].name == "steps.started");
  CHECK(snapshot.counts[0].value == 1);
  CHECK(snapshot.count("bytes.sent") == 42);
  CHECK(snapshot.count("steps.failed") == 0);
}

TEST_CASE("calls are counted by method, apart for who asks and who is asked") {
  Metrics metrics;
  metrics.add(counter_of(RpcSide::made, RpcMethod::run_graph), 3);
  metrics.add(counter_of(RpcSide::taken, RpcMethod::other));
  const MetricsSnapshot snapshot = metrics.snapshot();
  CHECK(snapshot.count("calls.made.RunGraph") == 3);
  CHECK(snapshot.count("calls.taken.other") == 1);
  CHECK(snapshot.counts.size() == 2);
}

TEST_CASE("a histogram tells how many values lay below each power of two") {
  Metrics metrics;
  for (const int64_t value :
       {int64_t{-5}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}})
    metrics.record(Histogram::call_micros, value);
  const MetricsSnapshot snapshot = metrics.snapshot();
  REQUIRE(snapshot.spreads.size() == 1);
  CHECK(snapshot.spreads[0].name == "calls.micros");
  CHECK(snapshot.spreads[0].count == 6);
  CHECK(snapshot.spreads[0].sum == 5);
  CHECK(snapshot.spreads[0].buckets == std::vector<int64_t>{2, 1, 2, 1});
  metrics.add(Counter::steps_started, 12);
  CHECK(metrics.snapshot().to_string() == "steps.started 12, calls.micros 6 (5 in all)");
}

TEST_CASE("the largest value has its place in a histogram") {
  Metrics metrics;
  metrics.record(Histogram::reply_bytes, std::numeric_limits<int64_t>::max());
  CHECK(metrics.snapshot().spreads[0].buckets.size() == 64);
}

TEST_CASE("threads that count together lose nothing") {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) metrics.add(Counter::steps_started);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(metrics.value(Counter::steps_started) == 4000);
}

}  // namespace
}  // namespace millrace
