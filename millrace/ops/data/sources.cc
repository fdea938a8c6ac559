// Part of families.h: register_dataset_sources, datasets of tensors and of numbers.
#include <algorithm>
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/rows.h"

namespace millrace::data {
namespace {

// ---- TensorDataset: one element
// ------------------------------------------------------------------

class OneElement final : public DatasetIterator {
 public:
  explicit OneElement(Element element) : element_(std::move(element)) {}
  Result<Next> next(Pull&, Element* element) override {
    if (std::exchange(is_given_, true)) return Next::end;
    *element = element_;
    return Next::element;
  }

 private:
  const Element element_;
  bool is_given_ = false;
};

class TensorDataset final : public Dataset {
 public:
  TensorDataset(Components components, Element element)
      : Dataset(std::move(components)), element_(std::move(element)) {}
  int64_t cardinality() const override { return 1; }
  Result<IteratorPtr> iterate(const HostPtr&) const override {
    return IteratorPtr(std::make_unique<OneElement>(element_));
  }

 private:
  const Element element_;
};

// ---- TensorSliceDataset: the rows of tensors
// -----------------------------------------------------

class Slices final : public DatasetIterator {
 public:
  Slices(std::vector<Tensor> tensors, int64_t count)
      : tensors_(std::move(tensors)), count_(count) {}
  // Rows are views: nothing is copied.
  Result<Next> next(Pull&, Element* element) override {
    if (next_ == count_) return Next::end;
    element->clear();
    element->reserve(tensors_.size());
    for (const Tensor& tensor : tensors_) {
      MR_ASSIGN(Tensor row, row_of(tensor, next_));
      element->push_back(std::move(row));
    }
    ++next_;
    return Next::element;
  }

 private:
  const std::vector<Tensor> tensors_;
  const int64_t count_;
  int64_t next_ = 0;
};

class TensorSliceDataset final : public Dataset {
 public:
  TensorSliceDataset(Components components, std::vector<Tensor> tensors, int64_t count)
      : Dataset(std::move(components)), tensors_(std::move(tensors)), count_(count) {}
  int64_t cardinality() const override { return count_; }
  Result<IteratorPtr> iterate(const HostPtr&) const override {
    return IteratorPtr(std::make_unique<Slices>(tensors_, count_));
  }

 private:
  const std::vector<Tensor> tensors_;
  const int64_t count_;
};

Result<DatasetPtr> make_slices(DatasetInputs& inputs) {
  MR_ASSIGN(auto components, inputs.components("Toutput_types"));
  MR_ASSIGN(std::vector<Tensor> tensors, inputs.list("components"));
  for (const Tensor& tensor : tensors) {
    if (tensor.shape().rank() == 0) return invalid("All components must be at least 1-dimensional");
    if (tensor.shape().dim(0) != tensors[0].shape().dim(0)) {
      return invalid("All components must have the same size in the 0th dimension; they have ",
                     tensors[0].shape().dim(0), " and ", tensor.shape().dim(0));
    }
  }
  if (tensors.empty()) return invalid("TensorSliceDataset needs at least one component");
  const int64_t count = tensors[0].shape().dim(0);
  return DatasetPtr(
      std::make_shared<TensorSliceDataset>(std::move(components), std::move(tensors), count));
}

// ---- RangeDataset
// --------------------------------------------------------------------------------

Result<Tensor> number(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::i64:
      return Tensor::scalar(value);
    case DType::i32:
      return Tensor::scalar(static_cast<int32_t>(value));
    case DType::i16:
      return Tensor::scalar(static_cast<int16_t>(value));
    case DType::i8:
      return Tensor::scalar(static_cast<int8_t>(value));
    case DType::u64:
      return Tensor::scalar(static_cast<uint64_t>(value));
    case DType::u32:
      return Tensor::scalar(static_cast<uint32_t>(value));
    case DType::u16:
      return Tensor::scalar(static_cast<uint16_t>(value));
    case DType::u8:
      return Tensor::scalar(static_cast<uint8_t>(value));
    case DType::f32:
      return Tensor::scalar(static_cast<float>(value));
    case DType::f64:
      return Tensor::scalar(static_cast<double>(value));
    default:
      return invalid("Unsupported data type: ", dtype_name(dtype));
  }
}

// How many numbers there are from start to stop; no subtraction may overflow.
int64_t count_of(int64_t start, int64_t stop, int64_t step) {
  const auto begin = static_cast<uint64_t>(start), end = static_cast<uint64_t>(stop);
  if (step > 0) {
    if (start >= stop) return 0;
    return static_cast<int64_t>((end - begin - 1) / static_cast<uint64_t>(step) + 1);
  }
  if (start <= stop) return 0;
  return static_cast<int64_t>((begin - end - 1) / (uint64_t{0} - static_cast<uint64_t>(step)) + 1);
}

class Numbers final : public DatasetIterator {
 public:
  Numbers(DType dtype, int64_t start, int64_t step, int64_t count)
      : dtype_(dtype),
        step_(static_cast<uint64_t>(step)),
        next_(static_cast<uint64_t>(start)),
        left_(static_cast<uint64_t>(count)) {}
  Result<Next> next(Pull&, Element* element) override {
    if (left_ == 0) return Next::end;
    --left_;
    MR_ASSIGN(Tensor made, number(dtype_, static_cast<int64_t>(next_)));
    next_ += step_;
    element->clear();
    element->push_back(std::move(made));
    return Next::element;
  }

 private:
  const DType dtype_;
  const uint64_t step_;
  uint64_t next_, left_;
};

class RangeDataset final : public Dataset {
 public:
  RangeDataset(Components components, int64_t start, int64_t stop, int64_t step)
      : Dataset(std::move(components)),
        start_(start),
        step_(step),
        count_(count_of(start, stop, step)),
        is_endless_(stop == INT64_MAX) {}
  int64_t cardinality() const override {
    return is_endless_ ? kInfinite : std::max<int64_t>(count_, 0);
  }
  Result<IteratorPtr> iterate(const HostPtr&) const override {
    return IteratorPtr(std::make_unique<Numbers>(components().types[0], start_, step_, count_));
  }

 private:
  const int64_t start_, step_, count_;
  const bool is_endless_;  // what counts up to the largest number there is, as enumerate() does
};

Result<DatasetPtr> make_range(DatasetInputs& inputs) {
  MR_ASSIGN(auto components, inputs.components());
  MR_ASSIGN(const int64_t start, inputs.scalar<int64_t>(0, "start"));
  MR_ASSIGN(const int64_t stop, inputs.scalar<int64_t>(1, "stop"));
  MR_ASSIGN(const int64_t step, inputs.scalar<int64_t>(2, "step"));
  if (step == 0) return invalid("step must be a non-zero integer.");
  if (components.types.size() != 1)
    return invalid("a range has one component, not ", components.types.size());
  MR_TRY(number(components.types[0], 0).status());
  return DatasetPtr(std::make_shared<RangeDataset>(std::move(components), start, stop, step));
}

}  // namespace

Status register_dataset_sources(OpRegistry& ops) {
  const std::string tensors = "Toutput_types: list(type) >= 1, output_shapes: list(shape) >= 1";
  MR_TRY(ops.add(dataset_op(
      "TensorDataset", "A dataset of one element, which has the inputs as components.",
      "components: Toutput_types", tensors,
      [](DatasetInputs& inputs) -> Result<DatasetPtr> {
        MR_ASSIGN(auto components, inputs.components("Toutput_types"));
        MR_ASSIGN(Element element, inputs.list("components"));
        return DatasetPtr(
            std::make_shared<TensorDataset>(std::move(components), std::move(element)));
      },
      Kind::source)));
  MR_TRY(ops.add(dataset_op(
      "TensorSliceDataset",
      "A dataset of the parts of the inputs along their first axes, which must be equally long.",
      "components: Toutput_types",
      tensors + ", is_files: bool = false, replicate_on_split: bool = false", make_slices,
      Kind::source)));
  return ops.add(dataset_op(
      "RangeDataset", "The numbers from start, which is included, to stop, which is not, by step.",
      "start: int64, stop: int64, step: int64",
      str_cat(kOutputs, ", replicate_on_split: bool = false"), make_range, Kind::source));
}

}  // namespace millrace::data
