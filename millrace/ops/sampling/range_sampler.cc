#include "millrace/ops/sampling/range_sampler.h"

#include <cmath>
#include <limits>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/shared_mutex.h"
#include "millrace/base/str_cat.h"
#include "millrace/tensor/tensor.h"

namespace millrace {
namespace {

class UniformSampler final : public RangeSampler {
 public:
  explicit UniformSampler(int64_t range)
      : RangeSampler(range), each_(static_cast<float>(1.0 / static_cast<double>(range))) {}
  int64_t draw(Philox& bits) const override {
    return static_cast<int64_t>(bits.below64(static_cast<uint64_t>(range())));
  }
  float probability(int64_t) const override { return each_; }

 private:
  const float each_;
};

class LogUniformSampler final : public RangeSampler {
 public:
  explicit LogUniformSampler(int64_t range)
      : RangeSampler(range), log_range_(std::log1p(static_cast<double>(range))) {}
  int64_t draw(Philox& bits) const override {
    // Rounding may reach the range itself.
    return (static_cast<int64_t>(std::exp(bits.real64() * log_range_)) - 1) % range();
  }
  float probability(int64_t value) const override {
    const auto place = static_cast<double>(value);
    return static_cast<float>(std::log((place + 2.0) / (place + 1.0)) / log_range_);
  }

 private:
  const double log_range_;
};

// Weights in a tree of sums (Fenwick's): node i has the sum of the lowest_bit(i) weights up to i.
class LearnedSampler final : public RangeSampler {
 public:
  LearnedSampler(int64_t range, Tensor sums)
      : RangeSampler(range), sums_(std::move(sums)), total_(range) {
    const auto nodes = sums_.mutable_flat<int64_t>();
    for (int64_t i = 1; i <= range; ++i) nodes[static_cast<size_t>(i)] = i & -i;
  }

  int64_t draw(Philox& bits) const override {
    ReaderLock lock(mutex_);
    auto left = static_cast<int64_t>(bits.below32(static_cast<uint32_t>(total_)));
    const auto nodes = sums_.flat<int64_t>();
    int64_t place = 0;
    for (int64_t step = int64_t{1} << 31; step > 0; step /= 2) {
      const int64_t next = place + step;
      if (next > range() || nodes[static_cast<size_t>(next)] > left) continue;
      left -= nodes[static_cast<size_t>(next)];
      place = next;
    }
    return place;
  }
  float probability(int64_t value) const override {
    ReaderLock lock(mutex_);
    if (value < 0 || value >= range()) return 0;
    return static_cast<float>(sum_before(value + 1) - sum_before(value)) /
           static_cast<float>(total_);
  }
  Status learn(std::span<const int64_t> values) override {
    for (const int64_t value : values) {
      if (value < 0 || value >= range())
        return invalid("class ", value, " is not in [0, ", range(), ")");
    }
    WriterLock lock(mutex_);
    // The numbers that are drawn from have 32 bits: who has learnt so much learns no more.
    if (total_ + static_cast<int64_t>(values.size()) > std::numeric_limits<int32_t>::max())
      return {};
    const auto nodes = sums_.mutable_flat<int64_t>();
    for (const int64_t value : values) {
      for (int64_t i = value + 1; i <= range(); i += i & -i) ++nodes[static_cast<size_t>(i)];
    }
    total_ += static_cast<int64_t>(values.size());
    return {};
  }

 private:
  int64_t sum_before(int64_t value) const MR_REQUIRES_SHARED(mutex_) {
    const auto nodes = sums_.flat<int64_t>();
    int64_t sum = 0;
    for (int64_t i = value; i > 0; i -= i & -i) sum += nodes[static_cast<size_t>(i)];
    return sum;
  }

  mutable SharedMutex mutex_;
  Tensor sums_ MR_GUARDED_BY(mutex_);
  int64_t total_ MR_GUARDED_BY(mutex_);
};

// Each number stands for itself and for one other, which takes what its own weight leaves over
// (Walker's alias method).
class WeightedSampler final : public RangeSampler {
 public:
  WeightedSampler(std::vector<float> weights, float total)
      : RangeSampler(static_cast<int64_t>(weights.size())),
        weights_(std::move(weights)),
        total_(total),
        own_(weights_.size()),
        other_(weights_.size()) {
    double sum = 0;
    for (const float weight : weights_) {
      sum += weight;
      possible_ += weight > 0 ? 1 : 0;
    }
    std::vector<double> share(weights_.size());
    std::vector<size_t> high, low;
    for (size_t i = 0; i < weights_.size(); ++i) {
      share[i] = static_cast<double>(weights_[i] * static_cast<float>(weights_.size())) / sum;
      other_[i] = i;
      (share[i] < 1 ? low : high).push_back(i);
    }
    while (!high.empty() && !low.empty()) {
      const size_t from = high.back(), to = low.back();
      high.pop_back();
      low.pop_back();
      other_[to] = from;
      own_[to] = static_cast<float>(share[to]);
      share[from] -= 1 - share[to];
      (share[from] < 1 ? low : high).push_back(from);
    }
    // What rounding leaves is near to 1.
    for (const std::vector<size_t>* rest : {&high, &low}) {
      for (const size_t i : *rest) own_[i] = 1;
    }
  }

  int64_t draw(Philox& bits) const override {
    const float which = bits.real32();
    const size_t place = bits.below32(static_cast<uint32_t>(weights_.size()));
    return static_cast<int64_t>(which < own_[place] ? place : other_[place]);
  }
  float probability(int64_t value) const override {
    if (value < 0 || value >= range()) return 0;
    return weights_[static_cast<size_t>(value)] / total_;
  }
  int64_t possible() const override { return possible_; }

 private:
  const std::vector<float> weights_;
  const float total_;
  std::vector<float> own_;
  std::vector<size_t> other_;
  int64_t possible_ = 0;
};

float expected_count(float probability, size_t batch, int64_t tries) {
  if (tries == static_cast<int64_t>(batch)) return probability * static_cast<float>(batch);
  return static_cast<float>(
      -std::expm1(static_cast<double>(tries) * std::log1p(-static_cast<double>(probability))));
}

}  // namespace

std::unique_ptr<RangeSampler> uniform_sampler(int64_t range) {
  return std::make_unique<UniformSampler>(range);
}

std::unique_ptr<RangeSampler> log_uniform_sampler(int64_t range) {
  return std::make_unique<LogUniformSampler>(range);
}

Result<std::unique_ptr<RangeSampler>> learned_sampler(int64_t range) {
  if (range >= std::numeric_limits<int32_t>::max())
    return invalid("range_max ", range, " is too large for learned weights: at most 2^31 - 2");
  MR_ASSIGN(Tensor sums, Tensor::zeros(DType::i64, {range + 1}));
  return std::unique_ptr<RangeSampler>(std::make_unique<LearnedSampler>(range, std::move(sums)));
}

std::unique_ptr<RangeSampler> weighted_sampler(std::vector<float> weights, float total) {
  return std::make_unique<WeightedSampler>(std::move(weights), total);
}

Status sample(const RangeSampler& sampler, bool unique, Philox bits, const SampledBatch& batch,
              CancelProbe& probe) {
  const size_t count = batch.values.size();
  int64_t tries = 0;
  if (unique && static_cast<int64_t>(count) > sampler.possible()) {
    return invalid("Sampler's range is too small: ", count, " different numbers out of ",
                   sampler.possible());
  }
  absl::flat_hash_set<int64_t> used;
  for (size_t picked = 0; picked < count;) {
    if (!probe.go_on(1)) return probe.status();
    if (++tries == std::numeric_limits<int32_t>::max())
      return invalid("no ", count, " different numbers came in 2^31 draws: some are too unlikely");
    const int64_t value = sampler.draw(bits);
    if (!unique || used.insert(value).second) batch.values[picked++] = value;
  }
  for (size_t i = 0; i < count; ++i)
    batch.expected[i] = expected_count(sampler.probability(batch.values[i]), count, tries);
  for (size_t i = 0; i < batch.classes.size(); ++i) {
    batch.classes_expected[i] = expected_count(sampler.probability(batch.classes[i]), count, tries);
  }
  return {};
}

}  // namespace millrace
