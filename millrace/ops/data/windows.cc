// Part of families.h: register_dataset_windows, one element as several, and several as datasets.
#include <algorithm>
#include <utility>

#include "millrace/ops/data/batch.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/dataset_variant.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/rows.h"

namespace millrace::data {
namespace {

// ---- Unbatch
// -------------------------------------------------------------------------------------

class Unbatching final : public DatasetIterator {
 public:
  explicit Unbatching(IteratorPtr input) : input_(std::move(input)) {}
  Result<Next> next(Pull& pull, Element* element) override {
    while (next_ == count_) {
      MR_ASSIGN(const Next next, input_->next(pull, &batch_));
      if (next != Next::element) return next;
      MR_TRY(begin());
      if (count_ == 0 && !pull.go_on()) return Next::pending;
    }
    element->clear();
    for (const Tensor& component : batch_) {
      MR_ASSIGN(Tensor row, row_of(component, next_));
      element->push_back(std::move(row));
    }
    ++next_;
    return Next::element;
  }

 private:
  Status begin() {
    next_ = count_ = 0;
    for (const Tensor& component : batch_) {
      if (component.shape().rank() == 0)
        return invalid("Input element must have a non-scalar value in each component.");
      if (component.shape().dim(0) != batch_[0].shape().dim(0))
        return invalid(
            "Input element must have the same batch size in each component. Component 0 "
            "had size ",
            batch_[0].shape().dim(0), " but another component had size ", component.shape().dim(0),
            ".");
    }
    if (!batch_.empty()) count_ = batch_[0].shape().dim(0);
    return {};
  }

  const IteratorPtr input_;
  Element batch_;
  int64_t next_ = 0, count_ = 0;  // rows of batch_
};

class UnbatchDataset final : public DerivedDataset {
 public:
  using DerivedDataset::DerivedDataset;
  int64_t cardinality() const override {
    const int64_t batches = input_->cardinality();
    if (batches < 0) return batches;
    const PartialShape& first = input_->components().shapes[0];
    if (!first.has_rank() || first.rank() == 0 || first.dim(0) < 1) return kUnknown;
    return batches > INT64_MAX / first.dim(0) ? kUnknown : batches * first.dim(0);
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<Unbatching>(std::move(input)));
  }
};

Result<DatasetPtr> make_unbatch(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  Dataset::Components components = input->components();
  for (PartialShape& shape : components.shapes) {
    if (!shape.has_rank()) continue;
    if (shape.rank() == 0)
      return invalid(
          "Expected all components to have at least one axis to unbatch; one is a scalar");
    MR_ASSIGN(shape, PartialShape::create(shape.dims().subspan(1)));
  }
  return DatasetPtr(std::make_shared<UnbatchDataset>(std::move(components), std::move(input)));
}

// ---- Window: elements that are datasets
// ----------------------------------------------------------

class Kept final : public DatasetIterator {
 public:
  Kept(std::shared_ptr<const std::vector<Element>> elements, size_t component)
      : elements_(std::move(elements)), component_(component) {}
  Result<Next> next(Pull&, Element* element) override {
    if (next_ == elements_->size()) return Next::end;
    element->assign(1, (*elements_)[next_++][component_]);
    return Next::element;
  }

 private:
  const std::shared_ptr<const std::vector<Element>> elements_;
  const size_t component_;
  size_t next_ = 0;
};

// One component of a window.
class WindowComponent final : public Dataset {
 public:
  WindowComponent(Components components, std::shared_ptr<const std::vector<Element>> elements,
                  size_t component)
      : Dataset(std::move(components)), elements_(std::move(elements)), component_(component) {}
  int64_t cardinality() const override { return static_cast<int64_t>(elements_->size()); }
  Result<IteratorPtr> iterate(const HostPtr&) const override {
    return IteratorPtr(std::make_unique<Kept>(elements_, component_));
  }

 private:
  const std::shared_ptr<const std::vector<Element>> elements_;
  const size_t component_;
};

struct WindowSizes {
  int64_t size, shift, stride;
  Remainder remainder;
};

class Windowing final : public DatasetIterator {
 public:
  Windowing(IteratorPtr input, Dataset::Components rows, const WindowSizes& sizes)
      : input_(std::move(input)), rows_(std::move(rows)), sizes_(sizes) {}

  Result<Next> next(Pull& pull, Element* window) override {
    const int64_t wanted = (sizes_.size - 1) * sizes_.stride + 1;
    if (!skip(pull) || !fill(pull, wanted)) return Next::pending;
    if (buffer_.empty()) return Next::end;
    if (static_cast<int64_t>(buffer_.size()) < wanted && sizes_.remainder == Remainder::dropped) {
      buffer_.clear();
      return Next::end;
    }
    const Status status = give(window);
    move_on();
    if (!status.ok()) return status;
    return Next::element;
  }

 private:
  // What the input gave, or why it did not.
  struct Given {
    Status status;
    Element element;
  };

  // Reads past what lies between two windows, also past what fails. False: not yet.
  bool skip(Pull& pull) {
    while (to_skip_ > 0 && input_ != nullptr) {
      if (!pull.go_on()) return false;
      Element dropped;
      const Result<Next> next = input_->next(pull, &dropped);
      if (next.ok() && *next == Next::pending) return false;
      if (next.ok() && *next == Next::end) input_.reset();
      --to_skip_;
    }
    return true;
  }

  // What failed has its place among the others: it spoils the windows that it lies in. False: not
  // yet.
  bool fill(Pull& pull, int64_t wanted) {
    while (input_ != nullptr && static_cast<int64_t>(buffer_.size()) < wanted) {
      if (!pull.go_on()) return false;
      Given given;
      const Result<Next> next = input_->next(pull, &given.element);
      if (next.ok() && *next == Next::pending) return false;
      if (next.ok() && *next == Next::end) {
        input_.reset();
        break;
      }
      if (!next.ok()) given.status = next.status();
      buffer_.push_back(std::move(given));
    }
    return true;
  }

  // Errors: that of the first element in the window that failed.
  Status give(Element* window) const {
    auto elements = std::make_shared<std::vector<Element>>();
    for (size_t i = 0; i < buffer_.size() && static_cast<int64_t>(elements->size()) < sizes_.size;
         i += static_cast<size_t>(sizes_.stride)) {
      MR_TRY(buffer_[i].status);
      elements->push_back(buffer_[i].element);
    }
    window->clear();
    for (size_t i = 0; i < rows_.types.size(); ++i) {
      Dataset::Components one{{rows_.types[i]}, {rows_.shapes[i]}};
      window->push_back(to_variant(std::make_shared<WindowComponent>(std::move(one), elements, i)));
    }
    return {};
  }

  void move_on() {
    const auto gone = std::min<int64_t>(sizes_.shift, static_cast<int64_t>(buffer_.size()));
    buffer_.erase(buffer_.begin(), buffer_.begin() + gone);
    to_skip_ = sizes_.shift - gone;
  }

  IteratorPtr input_;  // null once it has ended
  const Dataset::Components rows_;
  const WindowSizes sizes_;
  std::vector<Given> buffer_;
  int64_t to_skip_ = 0;
};

class WindowDataset final : public DerivedDataset {
 public:
  WindowDataset(Components components, DatasetPtr input, const WindowSizes& sizes)
      : DerivedDataset(std::move(components), std::move(input)), sizes_(sizes) {}
  int64_t cardinality() const override {
    const int64_t all = input_->cardinality();
    if (all < 0) return all;
    const int64_t wanted = (sizes_.size - 1) * sizes_.stride + 1;
    if (sizes_.remainder == Remainder::kept)
      return all / sizes_.shift + (all % sizes_.shift != 0 ? 1 : 0);
    return all < wanted ? 0 : (all - wanted) / sizes_.shift + 1;
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<Windowing>(std::move(input), input_->components(), sizes_));
  }

 private:
  const WindowSizes sizes_;
};

Result<DatasetPtr> make_window(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  WindowSizes sizes{};
  MR_ASSIGN(sizes.size, inputs.scalar<int64_t>(1, "size"));
  MR_ASSIGN(sizes.shift, inputs.scalar<int64_t>(2, "shift"));
  MR_ASSIGN(sizes.stride, inputs.scalar<int64_t>(3, "stride"));
  MR_ASSIGN(const bool drop, inputs.scalar<bool>(4, "drop_remainder"));
  sizes.remainder = drop ? Remainder::dropped : Remainder::kept;
  if (sizes.size <= 0) return invalid("Window size must be greater than zero.");
  if (sizes.shift <= 0) return invalid("Window shift must be greater than zero.");
  if (sizes.stride <= 0) return invalid("Window stride must be greater than zero.");
  if (sizes.size - 1 > (INT64_MAX - 1) / sizes.stride)
    return invalid("a window of size ", sizes.size, " and stride ", sizes.stride,
                   " is longer than any dataset");
  Dataset::Components components;
  components.types.assign(input->components().types.size(), DType::variant);
  components.shapes.assign(components.types.size(), PartialShape::scalar());
  return DatasetPtr(
      std::make_shared<WindowDataset>(std::move(components), std::move(input), sizes));
}

}  // namespace

Status register_dataset_windows(OpRegistry& ops) {
  for (const char* name : {"UnbatchDataset", "ExperimentalUnbatchDataset"}) {
    OpDef op = dataset_op(name, "The parts of elements along their first axes, one by one.",
                          "input_dataset: variant", kOutputs, make_unbatch);
    MR_TRY(ops.add(std::move(op)));
  }
  return ops.add(dataset_op(
      "WindowDataset",
      "Groups of `size` elements as datasets, each `shift` elements further, of every stride-th.",
      "input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool",
      kOutputs, make_window));
}

}  // namespace millrace::data
