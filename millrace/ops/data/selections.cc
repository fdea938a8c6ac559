// Part of families.h: register_dataset_selections, which elements of datasets and in which order.
#include <algorithm>
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/shards.h"

namespace millrace::data {
namespace {

// The sum, or the product, of numbers of elements; what does not fit is unknown.
int64_t sum_of(int64_t a, int64_t b) {
  if (a == kInfinite || b == kInfinite) return kInfinite;
  if (a == kUnknown || b == kUnknown || a > INT64_MAX - b) return kUnknown;
  return a + b;
}
int64_t product_of(int64_t elements, int64_t times) {
  if (elements == 0 || times == 0) return 0;
  if (elements == kInfinite || times == kInfinite) return kInfinite;
  if (elements == kUnknown || elements > INT64_MAX / times) return kUnknown;
  return elements * times;
}

// ---- Take and Skip
// -------------------------------------------------------------------------------

class Taking final : public DatasetIterator {
 public:
  Taking(IteratorPtr input, int64_t count) : input_(std::move(input)), left_(count) {}
  Result<Next> next(Pull& pull, Element* element) override {
    if (left_ == 0) {
      input_.reset();  // what works ahead need not
      return Next::end;
    }
    MR_ASSIGN(const Next next, input_->next(pull, element));
    if (next == Next::element) --left_;
    if (next == Next::end) left_ = 0;
    return next;
  }

 private:
  IteratorPtr input_;
  int64_t left_;
};

// All of them if the count is negative.
class TakeDataset final : public DerivedDataset {
 public:
  TakeDataset(DatasetPtr input, int64_t count) : DerivedDataset(std::move(input)), count_(count) {}
  int64_t cardinality() const override {
    const int64_t all = input_->cardinality();
    if (count_ < 0 || all == kUnknown) return count_ == 0 ? 0 : all;
    return all == kInfinite ? count_ : std::min(all, count_);
  }
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    if (count_ < 0) return input;
    return IteratorPtr(std::make_unique<Taking>(std::move(input), count_));
  }

 private:
  const int64_t count_;
};

class Skipping final : public DatasetIterator {
 public:
  Skipping(IteratorPtr input, int64_t count) : input_(std::move(input)), left_(count) {}
  Result<Next> next(Pull& pull, Element* element) override {
    while (left_ > 0) {
      if (!pull.go_on()) return Next::pending;
      MR_ASSIGN(const Next next, input_->next(pull, element));
      if (next != Next::element) return next;
      --left_;
    }
    return input_->next(pull, element);
  }

 private:
  const IteratorPtr input_;
  int64_t left_;
};

class Nothing final : public DatasetIterator {
 public:
  Result<Next> next(Pull&, Element*) override { return Next::end; }
};

// None of them if the count is negative.
class SkipDataset final : public DerivedDataset {
 public:
  SkipDataset(DatasetPtr input, int64_t count) : DerivedDataset(std::move(input)), count_(count) {}
  int64_t cardinality() const override {
    const int64_t all = input_->cardinality();
    if (all < 0) return all;
    return count_ < 0 ? 0 : std::max<int64_t>(all - count_, 0);
  }
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    if (count_ < 0) return IteratorPtr(std::make_unique<Nothing>());
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    if (count_ == 0) return input;
    return IteratorPtr(std::make_unique<Skipping>(std::move(input), count_));
  }

 private:
  const int64_t count_;
};

// ---- Repeat
// --------------------------------------------------------------------------------------

class Repeating final : public DatasetIterator {
 public:
  Repeating(DatasetPtr input, HostPtr host, int64_t count)
      : input_(std::move(input)), host_(std::move(host)), left_(count) {}
  Result<Next> next(Pull& pull, Element* element) override {
    while (left_ != 0) {
      if (current_ == nullptr) {
        if (!pull.go_on(Pull::kDear)) return Next::pending;
        MR_ASSIGN(current_, input_->iterate(host_));
        has_given_ = false;
      }
      MR_ASSIGN(const Next next, current_->next(pull, element));
      if (next == Next::element) has_given_ = true;
      if (next != Next::end) return next;
      current_.reset();
      if (left_ > 0) --left_;
      // Nothing for ever is nothing.
      if (left_ < 0 && !has_given_) left_ = 0;
    }
    return Next::end;
  }

 private:
  const DatasetPtr input_;
  const HostPtr host_;
  int64_t left_;  // negative: for ever
  IteratorPtr current_;
  bool has_given_ = false;
};

class RepeatDataset final : public DerivedDataset {
 public:
  RepeatDataset(DatasetPtr input, int64_t count)
      : DerivedDataset(std::move(input)), count_(count) {}
  int64_t cardinality() const override {
    return product_of(input_->cardinality(), count_ < 0 ? kInfinite : count_);
  }
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    return IteratorPtr(std::make_unique<Repeating>(input_, host, count_));
  }

 private:
  const int64_t count_;
};

// ---- Concatenate and Zip
// -------------------------------------------------------------------------

class OneAfterAnother final : public DatasetIterator {
 public:
  OneAfterAnother(IteratorPtr first, DatasetPtr second, HostPtr host)
      : current_(std::move(first)), second_(std::move(second)), host_(std::move(host)) {}
  Result<Next> next(Pull& pull, Element* element) override {
    for (;;) {
      MR_ASSIGN(const Next next, current_->next(pull, element));
      if (next != Next::end || second_ == nullptr) return next;
      MR_ASSIGN(current_, std::exchange(second_, nullptr)->iterate(host_));
    }
  }

 private:
  IteratorPtr current_;
  DatasetPtr second_;  // null once it has begun
  const HostPtr host_;
};

class ConcatenateDataset final : public DerivedDataset {
 public:
  ConcatenateDataset(Components components, DatasetPtr first, DatasetPtr second)
      : DerivedDataset(std::move(components), std::move(first)), second_(std::move(second)) {}
  int64_t cardinality() const override {
    return sum_of(input_->cardinality(), second_->cardinality());
  }
  int64_t batch_size() const override {
    const int64_t size = input_->batch_size();
    return size == second_->batch_size() ? size : kNoBatches;
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr first, input_->iterate(host));
    return IteratorPtr(std::make_unique<OneAfterAnother>(std::move(first), second_, host));
  }

 private:
  const DatasetPtr second_;
};

class Zipping final : public DatasetIterator {
 public:
  explicit Zipping(std::vector<IteratorPtr> inputs)
      : inputs_(std::move(inputs)), parts_(inputs_.size()) {}
  Result<Next> next(Pull& pull, Element* element) override {
    for (; have_ < inputs_.size(); ++have_) {
      Result<Next> next = inputs_[have_]->next(pull, &parts_[have_]);
      // The others' parts of an element that failed go with it.
      if (!next.ok()) {
        if (failed_.ok()) failed_ = std::move(next).status();
      } else if (*next != Next::element) {
        return *next;
      }
    }
    have_ = 0;
    MR_TRY(std::exchange(failed_, {}));
    element->clear();
    for (Element& part : parts_) std::ranges::move(part, std::back_inserter(*element));
    return Next::element;
  }

 private:
  const std::vector<IteratorPtr> inputs_;
  std::vector<Element> parts_;
  size_t have_ = 0;  // parts of the next element
  Status failed_;    // one of them
};

class ZipDataset final : public Dataset {
 public:
  ZipDataset(Components components, std::vector<DatasetPtr> inputs)
      : Dataset(std::move(components)), inputs_(std::move(inputs)) {}
  int64_t cardinality() const override {
    int64_t least = kInfinite;
    for (const DatasetPtr& input : inputs_) {
      const int64_t count = input->cardinality();
      if (count == kUnknown) return kUnknown;
      if (count != kInfinite) least = least == kInfinite ? count : std::min(least, count);
    }
    return least;
  }
  int64_t batch_size() const override {
    const int64_t size = inputs_[0]->batch_size();
    const auto differs = [size](const DatasetPtr& input) { return input->batch_size() != size; };
    return std::ranges::any_of(inputs_, differs) ? kNoBatches : size;
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    std::vector<IteratorPtr> made;
    for (const DatasetPtr& input : inputs_) {
      MR_ASSIGN(IteratorPtr iterator, input->iterate(host));
      made.push_back(std::move(iterator));
    }
    return IteratorPtr(std::make_unique<Zipping>(std::move(made)));
  }

 private:
  const std::vector<DatasetPtr> inputs_;
};

// ---- Shard
// ---------------------------------------------------------------------------------------

class Sharding final : public DatasetIterator {
 public:
  Sharding(IteratorPtr input, int64_t shards, int64_t index)
      : input_(std::move(input)), shards_(shards), before_(index) {}
  Result<Next> next(Pull& pull, Element* element) override {
    for (;;) {
      MR_ASSIGN(const Next next, input_->next(pull, element));
      if (next != Next::element) return next;
      if (before_ == 0) {
        before_ = shards_ - 1;
        return next;
      }
      --before_;
      if (!pull.go_on()) return Next::pending;
    }
  }

 private:
  const IteratorPtr input_;
  const int64_t shards_;
  int64_t before_;  // elements of others to come before the next one of this shard
};

class ShardDataset final : public DerivedDataset {
 public:
  ShardDataset(DatasetPtr input, int64_t shards, int64_t index)
      : DerivedDataset(std::move(input)), shards_(shards), index_(index) {}
  int64_t cardinality() const override {
    const int64_t all = input_->cardinality();
    return all < 0 ? all : all / shards_ + (index_ < all % shards_ ? 1 : 0);
  }
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<Sharding>(std::move(input), shards_, index_));
  }

 private:
  const int64_t shards_, index_;
};

// ---- Their ops
// -----------------------------------------------------------------------------------

template <class D>
MakeDataset with_count(const char* what) {
  return [what](DatasetInputs& inputs) -> Result<DatasetPtr> {
    MR_ASSIGN(DatasetPtr input, inputs.dataset());
    MR_ASSIGN(const int64_t count, inputs.scalar<int64_t>(1, what));
    return DatasetPtr(std::make_shared<D>(std::move(input), count));
  };
}

Result<DatasetPtr> make_concatenation(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr first, inputs.dataset(0));
  MR_ASSIGN(DatasetPtr second, inputs.dataset(1));
  if (first->components().types != second->components().types)
    return invalid("input dataset and another dataset have different output types");
  // What both have in common.
  Dataset::Components components = first->components();
  for (size_t i = 0; i < components.shapes.size(); ++i) {
    const PartialShape& other = second->components().shapes[i];
    PartialShape& shape = components.shapes[i];
    if (!shape.has_rank() || !other.has_rank() || shape.rank() != other.rank()) {
      shape = PartialShape();
      continue;
    }
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (dims[axis] != other.dims()[axis]) dims[axis] = kUnknownDim;
    MR_ASSIGN(shape, PartialShape::create(dims));
  }
  return DatasetPtr(std::make_shared<ConcatenateDataset>(std::move(components), std::move(first),
                                                         std::move(second)));
}

Result<DatasetPtr> make_zip(DatasetInputs& inputs) {
  std::vector<DatasetPtr> datasets;
  Dataset::Components components;
  for (int slot = 0; slot < inputs.context().num_inputs(); ++slot) {
    MR_ASSIGN(DatasetPtr input, inputs.dataset(slot));
    const Dataset::Components& more = input->components();
    components.types.insert(components.types.end(), more.types.begin(), more.types.end());
    components.shapes.insert(components.shapes.end(), more.shapes.begin(), more.shapes.end());
    datasets.push_back(std::move(input));
  }
  return DatasetPtr(std::make_shared<ZipDataset>(std::move(components), std::move(datasets)));
}

Result<DatasetPtr> make_shard(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const int64_t shards, inputs.scalar<int64_t>(1, "num_shards"));
  MR_ASSIGN(const int64_t index, inputs.scalar<int64_t>(2, "index"));
  if (shards < 1)
    return invalid("Number of shards must be greater than zero (currently num_shards = ", shards,
                   ").");
  if (index < 0 || index >= shards)
    return invalid("Index must be between 0 and ", shards - 1, " (currently index = ", index, ").");
  return sharded(std::move(input), shards, index);
}

}  // namespace

DatasetPtr sharded(DatasetPtr input, int64_t shards, int64_t index) {
  return std::make_shared<ShardDataset>(std::move(input), shards, index);
}

Status register_dataset_selections(OpRegistry& ops) {
  const std::string counted = "input_dataset: variant, count: int64";
  MR_TRY(ops.add(dataset_op("TakeDataset",
                            "The first `count` elements; all of them if count is negative.",
                            counted, kOutputs, with_count<TakeDataset>("count"))));
  MR_TRY(ops.add(dataset_op("SkipDataset",
                            "All but the first `count` elements; none if count is negative.",
                            counted, kOutputs, with_count<SkipDataset>("count"))));
  MR_TRY(ops.add(dataset_op("RepeatDataset",
                            "The elements `count` times over; for ever if count is negative.",
                            counted, kOutputs, with_count<RepeatDataset>("count"))));
  MR_TRY(ops.add(dataset_op("ConcatenateDataset", "One dataset behind the other.",
                            "input_dataset: variant, another_dataset: variant", kOutputs,
                            make_concatenation)));
  MR_TRY(ops.add(
      dataset_op("ZipDataset",
                 "Elements of several datasets side by side, as many as the shortest of them has.",
                 "input_datasets: N*variant", str_cat(kOutputs, ", N: int >= 1"), make_zip)));
  return ops.add(dataset_op("ShardDataset", "Every num_shards-th element, from number `index` on.",
                            "input_dataset: variant, num_shards: int64, index: int64",
                            str_cat("require_non_empty: bool = false, ", kOutputs), make_shard));
}

}  // namespace millrace::data
