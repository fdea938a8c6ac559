// Part of families.h: register_dataset_counts, datasets that are held to a number of elements.
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"

namespace millrace::data {
namespace {

class HoldingTo final : public DatasetIterator {
 public:
  HoldingTo(IteratorPtr input, int64_t promised) : input_(std::move(input)), promised_(promised) {}
  Result<Next> next(Pull& pull, Element* element) override {
    MR_ASSIGN(const Next next, input_->next(pull, element));
    if (next == Next::element && ++seen_ > promised_ && promised_ != kInfinite)
      return broken("at least ");
    if (next == Next::end && seen_ != promised_) return broken("only ");
    return next;
  }

 private:
  static std::string elements(int64_t count) {
    return str_cat(count, count == 1 ? " element" : " elements");
  }
  Status broken(std::string_view how) const {
    return failed_precondition(
        "Input dataset was expected to contain ",
        promised_ == kInfinite ? "an infinite number of elements" : elements(promised_),
        " but contained ", how, elements(seen_), ".");
  }

  const IteratorPtr input_;
  const int64_t promised_;
  int64_t seen_ = 0;
};

class PromisedDataset final : public DerivedDataset {
 public:
  PromisedDataset(Components components, DatasetPtr input, int64_t promised)
      : DerivedDataset(std::move(components), std::move(input)), promised_(promised) {}
  int64_t cardinality() const override { return promised_; }
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<HoldingTo>(std::move(input), promised_));
  }

 private:
  const int64_t promised_;
};

Result<DatasetPtr> make_promised(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const int64_t promised, inputs.scalar<int64_t>(1, "cardinality"));
  Dataset::Components components = input->components();
  return DatasetPtr(
      std::make_shared<PromisedDataset>(std::move(components), std::move(input), promised));
}

}  // namespace

Status register_dataset_counts(OpRegistry& ops) {
  return ops.add(
      dataset_op("AssertCardinalityDataset",
                 "The same elements, and an error where there are more or fewer than cardinality.",
                 "input_dataset: variant, cardinality: int64", kOutputs, make_promised));
}

}  // namespace millrace::data
