// Part of families.h: register_dataset_shuffles, elements in random order.
#include <deque>
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/seed_generator.h"
#include "millrace/ops/data/seeds.h"

namespace millrace::data {
namespace {

// Keeps elements in a buffer, and gives any of those of the epoch that began first. The order is
// TensorFlow's: where elements lie in the buffer decides it.
class Shuffling final : public DatasetIterator {
 public:
  Shuffling(DatasetPtr input, HostPtr host, int64_t size, int64_t epochs,
            std::shared_ptr<WalkSeeds> seeds)
      : input_(std::move(input)),
        host_(std::move(host)),
        size_(static_cast<uint64_t>(size)),
        epochs_(epochs),
        seeds_(std::move(seeds)),
        words_(words_of(host_->seeds().next(seeds_))) {}

  Result<Next> next(Pull& pull, Element* element) override {
    while (wants_more()) {
      MR_ASSIGN(const bool has_come_on, fill(pull));
      if (!has_come_on) return Next::pending;
    }
    if (held_ == 0) return Next::end;
    while (slices_.front().begin == slices_.front().end) {
      slices_.pop_front();
      words_ = words_of(host_->seeds().next(seeds_));
    }
    Slice& slice = slices_.front();
    const uint64_t offset = words_.next() % (slice.end - slice.begin);
    Element& chosen = buffer_[(slice.begin + offset) % size_];
    *element = std::move(chosen);
    std::swap(chosen, buffer_[slice.begin % size_]);
    ++slice.begin;
    --held_;
    return Next::element;
  }

 private:
  // The elements of one epoch that are in the buffer: places, which go round.
  struct Slice {
    uint64_t begin, end;
  };
  // More epochs than this in the buffer at once would only take memory.
  static constexpr size_t kMostEpochs = 3;

  bool wants_more() const {
    if (current_ == nullptr && epochs_ >= 0 && begun_ >= epochs_) return false;
    if (slices_.size() > kMostEpochs && held_ > 0) return false;
    return held_ < size_;
  }

  // False if the input is not there yet.
  Result<bool> fill(Pull& pull) {
    if (!pull.go_on(current_ == nullptr ? Pull::kDear : 1)) return false;
    if (current_ == nullptr) {
      const uint64_t begin = slices_.empty() ? next_place_ : slices_.back().end;
      slices_.push_back({begin, begin});
      MR_ASSIGN(current_, input_->iterate(host_));
      ++begun_;
      has_given_ = false;
    }
    Element element;
    MR_ASSIGN(const Next next, current_->next(pull, &element));
    if (next == Next::pending) return false;
    if (next == Next::end) {
      current_.reset();
      // Nothing for ever is nothing.
      if (!has_given_ && epochs_ < 0) epochs_ = begun_;
      return true;
    }
    has_given_ = true;
    const uint64_t place = slices_.back().end % size_;
    if (place >= buffer_.size()) buffer_.resize(place + 1);
    buffer_[place] = std::move(element);
    next_place_ = ++slices_.back().end;
    ++held_;
    return true;
  }

  const DatasetPtr input_;
  const HostPtr host_;
  const uint64_t size_;
  int64_t epochs_;  // negative: for ever
  const std::shared_ptr<WalkSeeds> seeds_;
  PhiloxWords words_;

  IteratorPtr current_;
  int64_t begun_ = 0;  // epochs
  bool has_given_ = false;
  std::vector<Element> buffer_;  // grows up to size_
  uint64_t held_ = 0;
  uint64_t next_place_ = 0;
  std::deque<Slice> slices_;
};

class ShuffleDataset final : public DerivedDataset {
 public:
  ShuffleDataset(DatasetPtr input, int64_t size, int64_t epochs, std::shared_ptr<WalkSeeds> seeds)
      : DerivedDataset(std::move(input)), size_(size), epochs_(epochs), seeds_(std::move(seeds)) {}
  int64_t cardinality() const override {
    const int64_t all = input_->cardinality();
    if (all == 0 || epochs_ == 1) return all;
    if (epochs_ < 0) return kInfinite;
    return all < 0 || all > INT64_MAX / epochs_ ? all : all * epochs_;
  }
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    return IteratorPtr(std::make_unique<Shuffling>(input_, host, size_, epochs_, seeds_));
  }

 private:
  const int64_t size_, epochs_;
  const std::shared_ptr<WalkSeeds> seeds_;
};

// What of a shuffle's node comes with which input.
struct ShuffleSlots {
  int seeds = -1;      // seed, and seed2 behind it; -1: a generator alone
  int count = -1;      // how many epochs; -1: one
  int generator = -1;  // a resource
};

Result<std::shared_ptr<WalkSeeds>> seeds_at(DatasetInputs& inputs, const ShuffleSlots& slots) {
  if (slots.generator >= 0) {
    auto made = seed_generator_at(inputs.context(), slots.generator);
    if (!made.ok() || *made != nullptr) return made;
  }
  Reshuffle reshuffle = Reshuffle::each_walk;
  MR_ASSIGN(const bool reshuffles, inputs.attrs().boolean("reshuffle_each_iteration"));
  if (!reshuffles) reshuffle = Reshuffle::never;
  MR_ASSIGN(const int64_t first, inputs.scalar<int64_t>(slots.seeds, "seed"));
  MR_ASSIGN(const int64_t second, inputs.scalar<int64_t>(slots.seeds + 1, "seed2"));
  const Seeds seeds = Seeds::of(first, second, inputs.context().step().device->random);
  return std::make_shared<WalkSeeds>(seeds, reshuffle);
}

Result<DatasetPtr> make_shuffle(DatasetInputs& inputs, const ShuffleSlots& slots) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(int64_t size, inputs.scalar<int64_t>(1, "buffer_size"));
  if (size == 0 || size < -1)
    return invalid("buffer_size must be greater than zero or equal to -1 (all elements); it is ",
                   size);
  if (size == -1) {
    if (input->cardinality() == kInfinite)
      return invalid("a buffer_size of -1 holds all elements, and the dataset has no end");
    size = INT64_MAX;
  }
  int64_t count = 1;
  if (slots.count >= 0) {
    MR_ASSIGN(count, inputs.scalar<int64_t>(slots.count, "count"));
    if (count == 0 || count < -1) return invalid("count must be greater than zero or equal to -1.");
  }
  MR_ASSIGN(auto seeds, seeds_at(inputs, slots));
  return DatasetPtr(
      std::make_shared<ShuffleDataset>(std::move(input), size, count, std::move(seeds)));
}

MakeDataset shuffle_of(const ShuffleSlots& slots) {
  return [slots](DatasetInputs& inputs) { return make_shuffle(inputs, slots); };
}

}  // namespace

Status register_dataset_shuffles(OpRegistry& ops) {
  const std::string sized = "input_dataset: variant, buffer_size: int64";
  const std::string seeded = sized + ", seed: int64, seed2: int64";
  const std::string attrs = str_cat("reshuffle_each_iteration: bool = true, ", kOutputs);
  MR_TRY(ops.add(dataset_op(
      "ShuffleDataset",
      "The elements in random order: each is chosen from the next buffer_size ones. The same seeds "
      "give the same order; both 0 give another one each time.",
      seeded, attrs, shuffle_of({.seeds = 2}))));
  MR_TRY(ops.add(dataset_op(
      "ShuffleDatasetV2", "ShuffleDataset whose walks take their seeds from a seed generator.",
      sized + ", seed_generator: resource", kOutputs, shuffle_of({.generator = 2}), Kind::source)));
  MR_TRY(ops.add(dataset_op("ShuffleDatasetV3",
                            "ShuffleDataset whose seed generator outlives the dataset.",
                            seeded + ", seed_generator: resource", attrs,
                            shuffle_of({.seeds = 2, .generator = 4}), Kind::source)));
  MR_TRY(
      ops.add(dataset_op("ShuffleAndRepeatDataset",
                         "ShuffleDataset `count` times over, for ever if that is -1; the buffer "
                         "holds elements of several epochs.",
                         seeded + ", count: int64", attrs, shuffle_of({.seeds = 2, .count = 4}))));
  return ops.add(dataset_op("ShuffleAndRepeatDatasetV2",
                            "ShuffleAndRepeatDataset whose seed generator outlives the dataset.",
                            seeded + ", count: int64, seed_generator: resource", attrs,
                            shuffle_of({.seeds = 2, .count = 4, .generator = 5}), Kind::source));
}

}  // namespace millrace::data
