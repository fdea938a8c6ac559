#include "millrace/base/metrics.h"

#include <bit>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

std::string counter_name(size_t index) {
  if (index < kCounterNames.size()) return std::string(kCounterNames[index]);
  index -= kCounterNames.size();
  const bool made = index < kRpcMethodNames.size();
  return str_cat(made ? "calls.made." : "calls.taken.",
                 kRpcMethodNames[made ? index : index - kRpcMethodNames.size()]);
}

}  // namespace

int64_t MetricsSnapshot::count(std::string_view name) const {
  for (const Count& one : counts)
    if (one.name == name) return one.value;
  return 0;
}

std::string MetricsSnapshot::to_string() const {
  std::string text;
  for (const Count& one : counts)
    str_append(&text, text.empty() ? "" : ", ", one.name, " ", one.value);
  for (const Spread& one : spreads)
    str_append(&text, text.empty() ? "" : ", ", one.name, " ", one.count, " (", one.sum,
               " in all)");
  return text;
}

void Metrics::record(Histogram histogram, int64_t value) noexcept {
  Spread& spread = spreads_[static_cast<size_t>(histogram)];
  const size_t bucket = value <= 0 ? 0 : std::bit_width(static_cast<uint64_t>(value));
  spread.buckets[bucket].fetch_add(1, std::memory_order_relaxed);
  spread.sum.fetch_add(value, std::memory_order_relaxed);
}

MetricsSnapshot Metrics::snapshot() const {
  MetricsSnapshot snapshot;
  for (size_t i = 0; i < kCounters; ++i)
    if (const int64_t value = this->value(static_cast<Counter>(i)); value != 0)
      snapshot.counts.push_back({counter_name(i), value});
  for (size_t i = 0; i < kHistograms; ++i) {
    MetricsSnapshot::Spread spread{.name = std::string(kHistogramNames[i]),
                                   .sum = spreads_[i].sum.load(std::memory_order_relaxed)};
    for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
      const int64_t number = spreads_[i].buckets[bucket].load(std::memory_order_relaxed);
      if (number == 0) continue;
      spread.count += number;
      spread.buckets.resize(bucket + 1);
      spread.buckets[bucket] = number;
    }
    if (spread.count > 0) snapshot.spreads.push_back(std::move(spread));
  }
  return snapshot;
}

}  // namespace millrace
