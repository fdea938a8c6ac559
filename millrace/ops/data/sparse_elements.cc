// Part of families.h: register_dataset_sparse_elements, sparse tensors cut into elements and made
// of them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/ops/data/batch.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/tensor/boxes.h"

namespace millrace::data {
namespace {

// ---- SparseTensorSlice: the parts of a sparse tensor along its first axis
// -------------------------------------------

struct SparseParts {
  Tensor indices, values, shape;
};

class SparseSlices final : public DatasetIterator {
 public:
  explicit SparseSlices(SparseParts parts) : parts_(std::move(parts)) {}
  Result<Next> next(Pull&, Element* element) override {
    const auto shape = parts_.shape.flat<int64_t>();
    if (slice_ == shape[0]) return Next::end;
    while (begin_ < count() && first(begin_) < slice_) ++begin_;
    int64_t end = begin_;
    while (end < count() && first(end) == slice_) ++end;
    element->clear();
    MR_ASSIGN(Tensor places, places_of(begin_, end));
    element->push_back(std::move(places));
    MR_ASSIGN(Tensor values, parts_.values.rows(begin_, end));
    element->push_back(std::move(values));
    MR_ASSIGN(Tensor rest, parts_.shape.rows(1, static_cast<int64_t>(shape.size())));
    element->push_back(std::move(rest));
    begin_ = end;
    ++slice_;
    return Next::element;
  }

 private:
  int64_t count() const { return parts_.values.shape().dim(0); }
  int64_t rank() const { return parts_.indices.shape().dim(1); }
  int64_t first(int64_t row) const {
    return parts_.indices.flat<int64_t>()[static_cast<size_t>(row * rank())];
  }
  Result<Tensor> places_of(int64_t begin, int64_t end) const {
    MR_ASSIGN(Tensor places, Tensor::allocate(DType::i64, {end - begin, rank() - 1}));
    const auto from = parts_.indices.flat<int64_t>();
    auto to = places.mutable_flat<int64_t>().begin();
    for (int64_t row = begin; row < end; ++row)
      to = std::ranges::copy(
               from.subspan(static_cast<size_t>(row * rank() + 1), static_cast<size_t>(rank() - 1)),
               to)
               .out;
    return places;
  }

  const SparseParts parts_;
  int64_t slice_ = 0, begin_ = 0;
};

class SparseSliceDataset final : public Dataset {
 public:
  SparseSliceDataset(Components components, SparseParts parts)
      : Dataset(std::move(components)), parts_(std::move(parts)) {}
  int64_t cardinality() const override { return parts_.shape.flat<int64_t>()[0]; }
  Result<IteratorPtr> iterate(const HostPtr&) const override {
    return IteratorPtr(std::make_unique<SparseSlices>(parts_));
  }

 private:
  const SparseParts parts_;
};

Status check_sparse(const SparseParts& parts) {
  const Shape &indices = parts.indices.shape(), &values = parts.values.shape(),
              &shape = parts.shape.shape();
  if (indices.rank() != 2)
    return invalid("Input indices must be a matrix. Got: ", indices.to_string());
  if (values.rank() != 1)
    return invalid("Input values must be a vector. Got: ", values.to_string());
  if (shape.rank() != 1) return invalid("Input shape must be a vector. Got: ", shape.to_string());
  if (values.dim(0) != indices.dim(0))
    return invalid("Number of values must match first dimension of indices. Got ", values.dim(0),
                   " values, indices shape: ", indices.to_string());
  if (shape.dim(0) != indices.dim(1))
    return invalid("Number of dimensions must match second dimension of indices. Got ",
                   shape.dim(0), " dimensions, indices shape: ", indices.to_string());
  if (shape.dim(0) == 0) return invalid("The shape argument requires at least one element.");
  return Shape::create(parts.shape.flat<int64_t>()).status();
}

Status check_order(const Tensor& indices) {
  const auto flat = indices.flat<int64_t>();
  const auto rank = static_cast<size_t>(indices.shape().dim(1));
  int64_t before = -1;
  for (size_t at = 0; at < flat.size(); at += rank) {
    if (flat[at] < before)
      return unimplemented(
          "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered "
          "input is not currently supported.");
    before = flat[at];
  }
  return {};
}

Result<DatasetPtr> make_sparse_slices(DatasetInputs& inputs) {
  SparseParts parts;
  // The dataset outlives the step that it is made in.
  MR_ASSIGN(parts.indices, inputs.context().input(0).kept());
  MR_ASSIGN(parts.values, inputs.context().input(1).kept());
  MR_ASSIGN(parts.shape, inputs.context().input(2).kept());
  MR_TRY(check_sparse(parts));
  MR_TRY(check_order(parts.indices));
  const int64_t rest = parts.indices.shape().dim(1) - 1;
  Dataset::Components components{
      {DType::i64, parts.values.dtype(), DType::i64},
      {PartialShape{kUnknownDim, rest}, PartialShape{kUnknownDim}, PartialShape{rest}}};
  return DatasetPtr(std::make_shared<SparseSliceDataset>(std::move(components), std::move(parts)));
}

// ---- DenseToSparseBatch: elements as rows of a sparse tensor
// ---------------------------------------------------------

// The shape of the whole: of so many elements, and large enough for each.
Result<std::vector<int64_t>> whole_shape(std::span<const Element> elements,
                                         const PartialShape& row) {
  std::vector<int64_t> whole = {static_cast<int64_t>(elements.size())};
  for (const int64_t dim : row.dims()) whole.push_back(std::max<int64_t>(dim, 0));
  for (const Element& element : elements) {
    const Shape& shape = element[0].shape();
    if (shape.rank() != row.rank())
      return invalid("Input element had shape (", shape.to_string(),
                     ") that is incompatible with the row shape (", row.to_string(), ").");
    for (int axis = 0; axis < row.rank(); ++axis) {
      int64_t& dim = whole[static_cast<size_t>(axis) + 1];
      if (row.dim(axis) == kUnknownDim) {
        dim = std::max(dim, shape.dim(axis));
      } else if (shape.dim(axis) > dim) {
        return error(Code::data_loss, "Input element had shape (", shape.to_string(),
                     ") that is larger than the row shape (", row.to_string(), ").");
      }
    }
  }
  return whole;
}

// The places of all values of an element, which is row `row`; gives where the next ones go.
int64_t* put_places(const Shape& shape, int64_t row, int64_t* to) {
  for (int64_t value = 0; value < shape.num_elements(); ++value) {
    to[0] = row;
    int64_t rest = value;
    for (int axis = shape.rank(); axis-- > 0; rest /= shape.dim(axis))
      to[axis + 1] = rest % shape.dim(axis);
    to += shape.rank() + 1;
  }
  return to;
}

// The values of all elements behind each other.
Result<Tensor> joined_values(std::span<Element> elements, int64_t count) {
  const DType dtype = elements[0][0].dtype();
  if (dtype != DType::string && !is_plain(dtype))
    return unimplemented("DenseToSparseBatchDataset of elements of type ", dtype_name(dtype));
  MR_ASSIGN(Tensor values, Tensor::allocate(dtype, {count}));
  char* to = dtype == DType::string ? nullptr : static_cast<char*>(values.mutable_data());
  size_t at = 0;
  for (const Element& element : elements) {
    const Tensor& from = element[0];
    if (dtype == DType::string) {
      const auto texts = from.flat<std::string>();
      std::ranges::copy(texts,
                        values.mutable_flat<std::string>().begin() + static_cast<ptrdiff_t>(at));
    } else if (from.num_bytes() > 0) {
      std::memcpy(to, from.data(), from.num_bytes());
      to += from.num_bytes();
    }
    at += static_cast<size_t>(from.num_elements());
  }
  return values;
}

Result<Element> sparse_batch(std::span<Element> elements, const PartialShape& row) {
  MR_ASSIGN(const std::vector<int64_t> whole, whole_shape(elements, row));
  int64_t count = 0;
  for (const Element& element : elements) count += element[0].num_elements();
  MR_ASSIGN(Tensor places, Tensor::allocate(DType::i64, {count, row.rank() + 1}));
  int64_t* to = places.mutable_flat<int64_t>().data();
  for (size_t i = 0; i < elements.size(); ++i)
    to = put_places(elements[i][0].shape(), static_cast<int64_t>(i), to);
  MR_ASSIGN(Tensor values, joined_values(elements, count));
  MR_ASSIGN(Tensor made,
            boxed_each({std::move(places), std::move(values), Tensor::vector<int64_t>(whole)}));
  return Element{std::move(made)};
}

class SparseBatchDataset final : public DerivedDataset {
 public:
  SparseBatchDataset(Components components, DatasetPtr input, int64_t size, PartialShape row)
      : DerivedDataset(std::move(components), std::move(input)),
        size_(size),
        row_(std::move(row)) {}
  int64_t cardinality() const override {
    return batches_of(input_->cardinality(), size_, Remainder::kept);
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return batches(
        std::move(input), size_, Remainder::kept,
        [row = row_](std::span<Element> elements) { return sparse_batch(elements, row); });
  }

 private:
  const int64_t size_;
  const PartialShape row_;
};

Result<DatasetPtr> make_sparse_batches(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(auto components, inputs.components());
  if (input->components().types.size() != 1)
    return invalid("DenseToSparseBatchDataset only supports inputs with a single component.");
  if (components.types != std::vector<DType>{DType::variant})
    return invalid("output_types of a batch of sparse rows must be one variant");
  MR_ASSIGN(const int64_t size, inputs.scalar<int64_t>(1, "batch_size"));
  if (size <= 0) return invalid("Batch size must be greater than zero.");
  const Tensor& row = inputs.context().input(2);
  if (row.shape().rank() != 1) return invalid("row_shape must be a vector");
  MR_ASSIGN(PartialShape shape, read_partial_shape(row, "row_shape"));
  return DatasetPtr(std::make_shared<SparseBatchDataset>(std::move(components), std::move(input),
                                                         size, std::move(shape)));
}

}  // namespace

Status register_dataset_sparse_elements(OpRegistry& ops) {
  MR_TRY(ops.add(dataset_op(
      "SparseTensorSliceDataset",
      "The parts of a sparse tensor along its first axis, each as places, values and shape.",
      "indices: int64, values: Tvalues, dense_shape: int64", "Tvalues: type", make_sparse_slices,
      Kind::source)));
  for (const char* name : {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"}) {
    MR_TRY(ops.add(dataset_op(
        name,
        "Elements in groups of batch_size, as the rows of a sparse tensor of row_shape; what of "
        "that is -1 is as large as the largest of the group.",
        "input_dataset: variant, batch_size: int64, row_shape: int64", kOutputs,
        make_sparse_batches)));
  }
  return {};
}

}  // namespace millrace::data
