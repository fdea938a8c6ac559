// Part of families.h: register_dataset_rebatches, batches cut anew.
#include <algorithm>
#include <deque>
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/rows.h"
#include "millrace/ops/loops/arguments.h"

namespace millrace::data {
namespace {

class Rebatching final : public DatasetIterator {
 public:
  Rebatching(IteratorPtr input, std::vector<int64_t> sizes, bool drops_rest)
      : input_(std::move(input)), sizes_(std::move(sizes)), drops_rest_(drops_rest) {}
  Result<Next> next(Pull& pull, Element* element) override {
    const auto wanted = static_cast<size_t>(sizes_[turn_]);
    // A batch of no rows has the shape of those that come.
    while (rows_.size() < std::max<size_t>(wanted, 1) && !is_over_) {
      if (!pull.go_on()) return Next::pending;
      Element batch;
      const Result<Next> next = input_->next(pull, &batch);
      if (next.ok() && *next == Next::pending) return next;
      if (next.ok() && *next == Next::end) {
        is_over_ = true;
        continue;
      }
      const Status status = next.ok() ? take_rows(batch) : next.status();
      if (!status.ok()) {
        rows_.clear();  // those that were to lie in one batch with what failed go with it
        return status;
      }
    }
    if (rows_.empty() || (rows_.size() < wanted && drops_rest_)) return Next::end;
    turn_ = (turn_ + 1) % sizes_.size();
    MR_TRY(give(std::min(wanted, rows_.size()), element));
    return Next::element;
  }

 private:
  Status take_rows(const Element& batch) {
    for (const Tensor& component : batch) {
      if (component.shape().is_scalar() || component.shape().dim(0) != batch[0].shape().dim(0)) {
        return invalid(
            "a dataset that is batched anew has batches: components of as many rows, not of "
            "shapes ",
            batch[0].shape().to_string(), " and ", component.shape().to_string());
      }
    }
    for (int64_t row = 0; row < batch[0].shape().dim(0); ++row) {
      Element one;
      for (const Tensor& component : batch) {
        MR_ASSIGN(Tensor of_row, row_of(component, row));
        one.push_back(std::move(of_row));
      }
      rows_.push_back(std::move(one));
    }
    return {};
  }

  Status give(size_t count, Element* element) {
    const auto end = rows_.begin() + static_cast<ptrdiff_t>(std::max<size_t>(count, 1));
    std::vector<Element> some(rows_.begin(), end);
    if (count > 0) rows_.erase(rows_.begin(), end);
    element->clear();
    const size_t components = some[0].size();
    for (size_t i = 0; i < components; ++i) {
      MR_ASSIGN(Tensor together, stacked(some, i));
      MR_ASSIGN(Tensor rows, together.rows(0, static_cast<int64_t>(count)));
      element->push_back(std::move(rows));
    }
    return {};
  }

  const IteratorPtr input_;
  const std::vector<int64_t> sizes_;
  const bool drops_rest_;
  std::deque<Element> rows_;
  size_t turn_ = 0;
  bool is_over_ = false;
};

class RebatchDataset final : public DerivedDataset {
 public:
  RebatchDataset(Components components, DatasetPtr input, std::vector<int64_t> sizes,
                 bool drops_rest)
      : DerivedDataset(std::move(components), std::move(input)),
        sizes_(std::move(sizes)),
        drops_rest_(drops_rest) {}
  int64_t cardinality() const override { return kUnknown; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<Rebatching>(std::move(input), sizes_, drops_rest_));
  }

 private:
  const std::vector<int64_t> sizes_;
  const bool drops_rest_;
};

Result<DatasetPtr> make_rebatch(DatasetInputs& inputs) {
  MR_ASSIGN(auto components, inputs.components());
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  if (components.types != input->components().types)
    return invalid("output_types are not the types of the dataset that is batched anew");
  const Tensor& given = inputs.context().input(1);
  if (given.shape().rank() > 1) return invalid("`batch_sizes` must be a scalar or vector.");
  MR_ASSIGN(std::vector<int64_t> sizes, read_elements(given, "batch_sizes"));
  MR_ASSIGN(const bool drops_rest, inputs.scalar<bool>(2, "drop_remainder"));
  if (std::ranges::none_of(sizes, [](int64_t size) { return size > 0; }))
    return invalid("batch_sizes must have one that is larger than 0: they are ", given.to_string());
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; }))
    return invalid("batch_sizes must be at least 0: they are ", given.to_string());
  return DatasetPtr(std::make_shared<RebatchDataset>(std::move(components), std::move(input),
                                                     std::move(sizes), drops_rest));
}

// ---- The first version: each batch cut into as many as there are replicas
// -----------------------------------------------

class Splitting final : public DatasetIterator {
 public:
  Splitting(IteratorPtr input, int64_t parts) : input_(std::move(input)), parts_(parts) {}
  Result<Next> next(Pull& pull, Element* element) override {
    if (part_ == 0) {
      MR_ASSIGN(const Next next, input_->next(pull, &batch_));
      if (next != Next::element) return next;
      MR_TRY(check_batch());
    }
    element->clear();
    for (const Tensor& component : batch_) {
      const int64_t rows = component.shape().dim(0);
      const int64_t each = rows / parts_ + (rows % parts_ == 0 ? 0 : 1);
      // The last ones have fewer, or none.
      const int64_t begin = each > 0 && part_ > rows / each ? rows : part_ * each;
      MR_ASSIGN(Tensor some, component.rows(begin, begin + std::min(each, rows - begin)));
      element->push_back(std::move(some));
    }
    part_ = (part_ + 1) % parts_;
    return Next::element;
  }

 private:
  Status check_batch() const {
    for (size_t i = 0; i < batch_.size(); ++i) {
      if (batch_[i].shape().rank() > 0) continue;
      return invalid(
          "Cannot rebatch dataset: All components must have at least one dimension. Perhaps your "
          "input dataset is not batched? Component ",
          i, " is scalar.");
    }
    return {};
  }

  const IteratorPtr input_;
  const int64_t parts_;
  Element batch_;
  int64_t part_ = 0;  // which comes next
};

class SplitDataset final : public DerivedDataset {
 public:
  SplitDataset(Components components, DatasetPtr input, int64_t parts)
      : DerivedDataset(std::move(components), std::move(input)), parts_(parts) {}
  int64_t cardinality() const override {
    const int64_t batches = input_->cardinality();
    if (batches < 0) return batches;
    return batches > INT64_MAX / parts_ ? kUnknown : batches * parts_;
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<Splitting>(std::move(input), parts_));
  }

 private:
  const int64_t parts_;
};

Result<DatasetPtr> make_split(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(auto components, inputs.components());
  if (components.types != input->components().types)
    return invalid("output_types are not the types of the dataset that is batched anew");
  MR_ASSIGN(const int64_t parts, inputs.scalar<int64_t>(1, "num_replicas"));
  if (parts <= 0) return invalid("num_replicas must be greater than zero.");
  return DatasetPtr(std::make_shared<SplitDataset>(std::move(components), std::move(input), parts));
}

}  // namespace

Status register_dataset_rebatches(OpRegistry& ops) {
  for (const char* name : {"RebatchDataset", "ExperimentalRebatchDataset"}) {
    MR_TRY(ops.add(dataset_op(
        name,
        "Each batch in as many as there are replicas, of as many rows, but for the last ones.",
        "input_dataset: variant, num_replicas: int64",
        std::string(kOutputs) + ", use_fallback: bool = true", make_split)));
  }
  return ops.add(dataset_op(
      "RebatchDatasetV2",
      "The rows of batches in batches of other sizes, by turns; the last one may have fewer, or is "
      "left out.",
      "input_dataset: variant, batch_sizes: int64, drop_remainder: bool", kOutputs, make_rebatch));
}

}  // namespace millrace::data
