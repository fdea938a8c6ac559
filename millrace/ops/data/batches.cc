// Part of families.h: register_dataset_batches, several elements as one.
#include <algorithm>
#include <utility>

#include "millrace/ops/data/batch.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/rows.h"

namespace millrace::data {
namespace {

// What a component is in a batch: with a first axis more.
Result<PartialShape> batched(int64_t size, const PartialShape& row) {
  if (!row.has_rank()) return PartialShape();
  std::vector<int64_t> dims{size};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return PartialShape::create(dims);
}

// Gathers elements of an input until there are enough for a batch.
class Batching final : public DatasetIterator {
 public:
  Batching(IteratorPtr input, int64_t size, Remainder remainder, MakeBatch make, Loss loss)
      : input_(std::move(input)),
        size_(size),
        remainder_(remainder),
        make_(std::move(make)),
        loss_(loss) {}

  Result<Next> next(Pull& pull, Element* batch) override {
    if (!gather(pull)) return Next::pending;
    num_failed_ = 0;
    if (!failed_.ok()) {
      elements_.clear();
      return std::exchange(failed_, Status());
    }
    if (elements_.empty()) return Next::end;
    const bool is_whole = static_cast<int64_t>(elements_.size()) == size_;
    if (!is_whole && remainder_ == Remainder::dropped) {
      elements_.clear();
      return Next::end;
    }
    std::vector<Element> elements = std::exchange(elements_, {});
    MR_ASSIGN(*batch, make_(elements));
    return Next::element;
  }

 private:
  // Pulls until a batch is full, or has failed, or until the end. False: not yet.
  bool gather(Pull& pull) {
    while (input_ != nullptr && num_gathered() < size_) {
      Element element;
      Result<Next> next = input_->next(pull, &element);
      if (next.ok() && *next == Next::pending) return false;
      if (next.ok() && *next == Next::end) {
        input_.reset();
      } else if (next.ok()) {
        elements_.push_back(std::move(element));
      } else {
        if (failed_.ok()) failed_ = std::move(next).status();
        if (loss_ == Loss::those_before) return true;
        ++num_failed_;
      }
      if (!pull.go_on()) return false;
    }
    return true;
  }
  int64_t num_gathered() const { return static_cast<int64_t>(elements_.size()) + num_failed_; }

  IteratorPtr input_;  // null once it has ended
  const int64_t size_;
  const Remainder remainder_;
  const MakeBatch make_;
  const Loss loss_;
  std::vector<Element> elements_;
  int64_t num_failed_ = 0;  // of this batch
  Status failed_;           // the first of them
};

class BatchDataset final : public DerivedDataset {
 public:
  BatchDataset(Components components, DatasetPtr input, int64_t size, Remainder remainder,
               MakeBatch make)
      : DerivedDataset(std::move(components), std::move(input)),
        size_(size),
        remainder_(remainder),
        make_(std::move(make)) {}
  int64_t cardinality() const override {
    return batches_of(input_->cardinality(), size_, remainder_);
  }
  int64_t batch_size() const override { return size_; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return batches(std::move(input), size_, remainder_, make_);
  }

 private:
  const int64_t size_;
  const Remainder remainder_;
  const MakeBatch make_;
};

Result<Remainder> remainder_at(const DatasetInputs& inputs, int slot) {
  MR_ASSIGN(const bool drop, inputs.scalar<bool>(slot, "drop_remainder"));
  return drop ? Remainder::dropped : Remainder::kept;
}

// The size of batches is known beforehand only if none is smaller.
Result<Dataset::Components> batched_components(const Dataset::Components& rows, int64_t size,
                                               Remainder remainder, int64_t elements) {
  Dataset::Components made = rows;
  const bool is_constant = remainder == Remainder::dropped || elements == kInfinite ||
                           (elements >= 0 && elements % size == 0);
  for (PartialShape& shape : made.shapes) {
    MR_ASSIGN(shape, batched(is_constant ? size : kUnknownDim, shape));
  }
  return made;
}

Result<DatasetPtr> make_batch(DatasetInputs& inputs, Remainder remainder) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const int64_t size, inputs.scalar<int64_t>(1, "batch_size"));
  if (size <= 0) return invalid("Batch size must be greater than zero.");
  MR_ASSIGN(auto components,
            batched_components(input->components(), size, remainder, input->cardinality()));
  return DatasetPtr(std::make_shared<BatchDataset>(std::move(components), std::move(input), size,
                                                   remainder, stacked_batch));
}

// ---- PaddedBatch
// ---------------------------------------------------------------------------------

struct Paddings {
  std::vector<PartialShape> shapes;
  std::vector<Tensor> values;
};

// What a batch pads its rows of one component to: as the node says, the longest of them where it
// leaves that open.
Result<Shape> padded_row(const PartialShape& wanted, std::span<Element> elements,
                         size_t component) {
  std::vector<int64_t> dims(wanted.dims().begin(), wanted.dims().end());
  for (const Element& element : elements) {
    const Shape& shape = element[component].shape();
    if (shape.rank() != wanted.rank()) {
      return invalid(
          "All elements in a batch must have the same rank as the padded shape for "
          "component ",
          component, ": expected rank ", wanted.rank(), " but got element with rank ",
          shape.rank());
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
      int64_t& dim = dims[static_cast<size_t>(axis)];
      if (wanted.dim(axis) == kUnknownDim) {
        dim = std::max(dim, shape.dim(axis));
      } else if (shape.dim(axis) > dim) {
        return error(Code::data_loss,
                     "Attempted to pad to a smaller size than the input element: "
                     "component ",
                     component, " has shape ", shape.to_string(), ", the padded shape is ",
                     wanted.to_string());
      }
    }
  }
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 0);
  return Shape::create(dims);
}

Result<Element> padded_batch(std::span<Element> elements, const Paddings& paddings) {
  Element made;
  for (size_t i = 0; i < paddings.shapes.size(); ++i) {
    MR_ASSIGN(const Shape row, padded_row(paddings.shapes[i], elements, i));
    MR_ASSIGN(Tensor component, stacked_and_padded(elements, i, row, paddings.values[i]));
    made.push_back(std::move(component));
  }
  return made;
}

Result<PartialShape> padded_shape(const Tensor& written) {
  if (written.shape().rank() != 1) return invalid("All padded shapes must be vectors");
  std::vector<int64_t> dims;
  for (const int64_t dim : written.flat<int64_t>()) {
    if (dim < kUnknownDim)
      return invalid("a padded shape has the size ", dim, "; sizes are at least 0, or -1");
    dims.push_back(dim);
  }
  return PartialShape::create(dims);
}

Result<DatasetPtr> make_padded_batch(DatasetInputs& inputs, bool has_remainder) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const int64_t size, inputs.scalar<int64_t>(1, "batch_size"));
  if (size <= 0) return invalid("Batch size must be greater than zero.");
  Remainder remainder = Remainder::kept;
  if (has_remainder) {
    MR_ASSIGN(remainder, remainder_at(inputs, inputs.context().num_inputs() - 1));
  }
  Paddings paddings;
  MR_ASSIGN(const auto shapes, inputs.list("padded_shapes"));
  for (const Tensor& written : shapes) {
    MR_ASSIGN(PartialShape shape, padded_shape(written));
    paddings.shapes.push_back(std::move(shape));
  }
  MR_ASSIGN(paddings.values, inputs.list("padding_values"));
  const Dataset::Components& rows = input->components();
  if (paddings.shapes.size() != rows.types.size() || paddings.values.size() != rows.types.size())
    return invalid("Number of padded shapes (", paddings.shapes.size(), ") and of padding values (",
                   paddings.values.size(),
                   ") must match the number of components in the input dataset's elements (",
                   rows.types.size(), ")");
  for (size_t i = 0; i < rows.types.size(); ++i) {
    if (paddings.values[i].dtype() != rows.types[i] || paddings.values[i].shape().rank() != 0)
      return invalid("padding value ", i, " must be a scalar of type ", dtype_name(rows.types[i]));
  }
  MR_ASSIGN(auto components, batched_components({rows.types, paddings.shapes}, size, remainder,
                                                input->cardinality()));
  return DatasetPtr(
      std::make_shared<BatchDataset>(std::move(components), std::move(input), size, remainder,
                                     [paddings = std::move(paddings)](std::span<Element> elements) {
                                       return padded_batch(elements, paddings);
                                     }));
}

}  // namespace

int64_t batches_of(int64_t elements, int64_t size, Remainder remainder) {
  if (elements < 0) return elements;
  return elements / size + (remainder == Remainder::kept && elements % size != 0 ? 1 : 0);
}

Result<Element> stacked_batch(std::span<Element> elements) {
  Element made;
  for (size_t i = 0; i < elements[0].size(); ++i) {
    MR_ASSIGN(Tensor component, stacked(elements, i));
    made.push_back(std::move(component));
  }
  return made;
}

IteratorPtr batches(IteratorPtr input, int64_t size, Remainder remainder, MakeBatch make,
                    Loss loss) {
  return std::make_unique<Batching>(std::move(input), size, remainder, std::move(make), loss);
}

Status register_dataset_batches(OpRegistry& ops) {
  MR_TRY(ops.add(
      dataset_op("BatchDataset", "Elements in groups of batch_size, stacked.",
                 "input_dataset: variant, batch_size: int64", kOutputs,
                 [](DatasetInputs& inputs) { return make_batch(inputs, Remainder::kept); })));
  const MakeDataset with_remainder = [](DatasetInputs& inputs) -> Result<DatasetPtr> {
    MR_ASSIGN(const Remainder remainder, remainder_at(inputs, inputs.context().num_inputs() - 1));
    return make_batch(inputs, remainder);
  };
  MR_TRY(ops.add(
      dataset_op("BatchDatasetV2",
                 "Elements in groups of batch_size, stacked; the last group may be left out.",
                 "input_dataset: variant, batch_size: int64, drop_remainder: bool",
                 str_cat("parallel_copy: bool = false, ", kOutputs), with_remainder)));
  MR_TRY(ops.add(dataset_op(
      "ParallelBatchDataset", "BatchDatasetV2, whose copies TensorFlow shares among threads.",
      "input_dataset: variant, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool",
      str_cat("parallel_copy: bool = false, ", kOutputs, ", deterministic: string = 'default'"),
      with_remainder)));
  const std::string padded =
      "input_dataset: variant, batch_size: int64, padded_shapes: N*int64, "
      "padding_values: Toutput_types";
  const std::string padded_attrs =
      "Toutput_types: list(type) >= 1, output_shapes: list(shape) >= 1, N: int >= 1";
  MR_TRY(ops.add(dataset_op(
      "PaddedBatchDataset", "Groups of elements, padded to one shape and stacked.", padded,
      padded_attrs, [](DatasetInputs& inputs) { return make_padded_batch(inputs, false); })));
  return ops.add(dataset_op(
      "PaddedBatchDatasetV2",
      "Groups of elements, padded to one shape and stacked; the last group may be left out.",
      padded + ", drop_remainder: bool", "parallel_copy: bool = false, " + padded_attrs,
      [](DatasetInputs& inputs) { return make_padded_batch(inputs, true); }));
}

}  // namespace millrace::data
