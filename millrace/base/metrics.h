// Metrics: counts what a task does, for those who look after it.
//
// Adding is one atomic addition and nothing else: no lock, no name, no memory. The names are in
// metric_names.h. One per Host; any thread may call anything. What is counted is never read by the
// code that counts: no decision hangs on it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/base/metric_names.h"

namespace millrace {

// What the numbers were at one time; each by itself, not all at the same instant.
struct MetricsSnapshot {
  struct Count {
    std::string name;
    int64_t value = 0;
  };
  // How many values there were, their sum, and how many lay below each power of two.
  struct Spread {
    std::string name;
    int64_t count = 0;
    int64_t sum = 0;
    // [0]: values of 0 and less; [i]: those from 2^(i-1) up to, not including, 2^i.
    std::vector<int64_t> buckets;
  };
  std::vector<Count> counts;
  std::vector<Spread> spreads;

  // The count of that name; 0 if there is none.
  int64_t count(std::string_view name) const;
  // "steps.started 12, calls.micros 3 (4711 in all)"
  std::string to_string() const;
};

class Metrics {
 public:
  void add(Counter counter, int64_t by = 1) noexcept {
    counters_[static_cast<size_t>(counter)].fetch_add(by, std::memory_order_relaxed);
  }
  void record(Histogram histogram, int64_t value) noexcept;

  int64_t value(Counter counter) const noexcept {
    return counters_[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }
  // Everything that is not zero, in the order of metric_names.h.
  MetricsSnapshot snapshot() const;

 private:
  static constexpr size_t kBuckets = 64;
  struct Spread {
    std::atomic<int64_t> sum{0};
    std::array<std::atomic<int64_t>, kBuckets> buckets{};
  };
  std::array<std::atomic<int64_t>, kCounters> counters_{};
  std::array<Spread, kHistograms> spreads_{};
};

}  // namespace millrace
