// RangeSampler: draws numbers of [0, range) by some distribution, and knows how likely each is.
//
// The numbers of one batch, and how often a class is expected among them, are TensorFlow's for the
// same seeds. Thread-safe but for `learn`, which a lock of its own guards.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/philox_numbers.h"

namespace millrace {

class RangeSampler {
 public:
  explicit RangeSampler(int64_t range) : range_(range) {}
  virtual ~RangeSampler() = default;

  int64_t range() const { return range_; }
  virtual int64_t draw(Philox& bits) const = 0;
  virtual float probability(int64_t value) const = 0;
  // How many values may come at all: no more can be drawn that differ.
  virtual int64_t possible() const { return range_; }
  // Makes values more likely. Errors: INVALID_ARGUMENT for one outside of the range.
  virtual Status learn(std::span<const int64_t> values) {
    (void)values;
    return {};
  }

 private:
  const int64_t range_;
};

// All alike; and value i with probability log((i + 2) / (i + 1)) / log(range + 1), for classes that
// are in order of how frequent they are.
std::unique_ptr<RangeSampler> uniform_sampler(int64_t range);
std::unique_ptr<RangeSampler> log_uniform_sampler(int64_t range);
// As often as they have been learnt, and once. Errors: INVALID_ARGUMENT for a range over 2^31 - 2,
// RESOURCE_EXHAUSTED.
Result<std::unique_ptr<RangeSampler>> learned_sampler(int64_t range);
// By fixed weights, none negative and one at least positive.
std::unique_ptr<RangeSampler> weighted_sampler(std::vector<float> weights, float total);

// What one run of a sampling op draws.
struct SampledBatch {
  std::span<int64_t> values;
  std::span<float> expected;         // of each value: how often it is expected in such a batch
  std::span<const int64_t> classes;  // others, of which that is to be known as well
  std::span<float> classes_expected;
};

// Errors: INVALID_ARGUMENT if there are not as many different values; the probe's.
Status sample(const RangeSampler& sampler, bool unique, Philox bits, const SampledBatch& batch,
              CancelProbe& probe);

}  // namespace millrace
