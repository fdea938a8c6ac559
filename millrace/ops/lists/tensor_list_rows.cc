// Part of tensor_list_ops.h: the rows of a tensor become elements of lists.
#include <algorithm>

#include "millrace/ops/lists/tensor_list_ops.h"
#include "millrace/ops/loops/arguments.h"

namespace millrace {
namespace {

Status check_rows(const Tensor& tensor) {
  if (tensor.shape().rank() >= 1) return {};
  return invalid("Tensor must be at least a vector, but saw shape: ", tensor.shape().to_string());
}

// The rows of a tensor of rank 1 or more; their shape is the tensor's without the first dimension.
Result<std::vector<Tensor>> rows_of(const Tensor& tensor) {
  MR_TRY(TensorList::check_size(tensor.shape().dim(0)));
  MR_ASSIGN(const Shape shape, Shape::create(tensor.shape().dims().subspan(1)));
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < tensor.shape().dim(0); ++i) {
    MR_ASSIGN(const Tensor row, tensor.rows(i, i + 1));
    MR_ASSIGN(Tensor element, row.reshaped(shape));
    rows.push_back(std::move(element));
  }
  return rows;
}

Result<std::vector<Tensor>> rows_of(const Tensor& tensor, const PartialShape& element_shape) {
  MR_TRY(check_rows(tensor));
  MR_ASSIGN(const Shape shape, Shape::create(tensor.shape().dims().subspan(1)));
  if (element_shape.allows(shape)) return rows_of(tensor);
  return invalid("Specified a list with shape ", element_shape.to_string(),
                 " from a tensor with shape ", shape.to_string());
}

Status from_tensor(KernelContext& context, DType dtype) {
  TensorList list{.dtype = dtype, .element_shape = {}, .most = -1, .elements = {}};
  MR_ASSIGN(list.element_shape, read_element_shape(context.input(1)));
  MR_ASSIGN(list.elements, rows_of(context.input(0), list.element_shape));
  return std::move(list).put(context, 0);
}

// Sets elements; the list grows as far as an index demands.
Status set_rows(TensorList& list, std::span<const int64_t> indices, std::vector<Tensor> rows) {
  const int64_t last = indices.empty() ? -1 : std::ranges::max(indices);
  MR_TRY(TensorList::check_size(last + 1));
  if (last >= static_cast<int64_t>(list.elements.size())) list.resize(last + 1);
  for (size_t i = 0; i < indices.size(); ++i)
    list.elements[static_cast<size_t>(indices[i])] = std::move(rows[i]);
  return {};
}

// `wanted`: how many elements the list is to have; -1 if the indices decide.
Status scatter(KernelContext& context, DType dtype, int64_t wanted) {
  if (wanted < -1) return invalid("TensorListScatter expects num_elements >= -1, found: ", wanted);
  MR_ASSIGN(const auto indices, read_integers(context.input(1), "indices"));
  TensorList list{.dtype = dtype, .element_shape = {}, .most = -1, .elements = {}};
  MR_ASSIGN(list.element_shape, read_element_shape(context.input(2)));
  MR_ASSIGN(std::vector<Tensor> rows, rows_of(context.input(0), list.element_shape));
  if (rows.size() != indices.size()) {
    return invalid("Invalid number of rows in input tensor. Expected: ", indices.size(),
                   " Actual: ", rows.size());
  }
  for (int64_t index : indices) {
    if (index < 0) return invalid("Indices in TensorListScatter must all be non-negative.");
    if (wanted >= 0 && index >= wanted) {
      return invalid("TensorListScatter: Trying to scatter at index ", index, " in list with size ",
                     wanted);
    }
  }
  const int64_t size = std::max<int64_t>(wanted, 0);
  MR_TRY(TensorList::check_size(size));
  list.resize(size);
  MR_TRY(set_rows(list, indices, std::move(rows)));
  return std::move(list).put(context, 0);
}

Status scatter_by_indices(KernelContext& context, DType dtype) {
  return scatter(context, dtype, -1);
}

Status scatter_to_size(KernelContext& context, DType dtype) {
  MR_ASSIGN(const int64_t wanted, read_integer(context.input(3), "num_elements"));
  return scatter(context, dtype, wanted);
}

Status scatter_into(KernelContext& context, DType dtype) {
  const Tensor& tensor = context.input(1);
  MR_TRY(check_rows(tensor));
  if (context.input(2).shape().rank() != 1) {
    return invalid("Expected indices to be a vector, but received shape: ",
                   context.input(2).shape().to_string());
  }
  MR_ASSIGN(const auto indices, read_integers(context.input(2), "indices"));
  const auto count = static_cast<int64_t>(indices.size());
  if (count != tensor.shape().dim(0)) {
    return invalid("Expected len(indices) == tensor.shape[0], but saw: ", count, " vs. ",
                   tensor.shape().dim(0));
  }
  if (count > 0 && std::ranges::min(indices) < 0)
    return invalid("indices must all be non-negative, and one is ", std::ranges::min(indices));
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, dtype));
  MR_ASSIGN(std::vector<Tensor> rows, rows_of(tensor, list.element_shape));
  MR_TRY(set_rows(list, indices, std::move(rows)));
  return std::move(list).put(context, 0);
}

// Consecutive rows of a tensor, `lengths` of them for each element.
Status split(KernelContext& context, DType dtype) {
  const Tensor& tensor = context.input(0);
  TensorList list{.dtype = dtype, .element_shape = {}, .most = -1, .elements = {}};
  MR_ASSIGN(list.element_shape, read_element_shape(context.input(1)));
  if (list.element_shape.has_rank() && list.element_shape.rank() < 1) {
    return invalid("TensorListSplit requires element_shape to be at least of rank 1, but saw: ",
                   list.element_shape.to_string());
  }
  MR_TRY(check_rows(tensor));
  if (context.input(2).shape().rank() != 1) {
    return invalid("Expected lengths to be a vector, received shape: ",
                   context.input(2).shape().to_string());
  }
  MR_ASSIGN(const PartialShape rest, without_first_dim(list.element_shape));
  MR_ASSIGN(const Shape row, Shape::create(tensor.shape().dims().subspan(1)));
  if (!rest.allows(row)) {
    return invalid("tensor shape ", tensor.shape().to_string(),
                   " is not compatible with element_shape ", list.element_shape.to_string());
  }
  MR_ASSIGN(const auto lengths, read_integers(context.input(2), "lengths"));
  MR_TRY(TensorList::check_size(static_cast<int64_t>(lengths.size())));
  const int64_t size = tensor.shape().dim(0);
  int64_t begin = 0;
  for (int64_t length : lengths) {
    if (length < 0) return invalid("Invalid value in lengths: ", length);
    if (length > size - begin) {
      // The end is a sum that may be more than an int64 holds.
      return invalid("Attempting to slice [", begin, ", ",
                     static_cast<uint64_t>(begin) + static_cast<uint64_t>(length),
                     "] from tensor with length ", size);
    }
    MR_ASSIGN(Tensor element, tensor.rows(begin, begin + length));
    list.elements.push_back(std::move(element));
    begin += length;
  }
  if (begin != size) {
    return invalid("Unused values in tensor. Length of tensor: ", size, " Values used: ", begin);
  }
  return std::move(list).put(context, 0);
}

// Lists that come as a vector get a row each.
Result<Tensor> push_back_batch(KernelContext& context, DType dtype) {
  const Tensor& tensor = context.input(1);
  const Shape& shape = context.input(0).shape();
  if (tensor.shape().rank() < 1) {
    return invalid("Expected tensor to be at least a vector, but saw shape: ",
                   tensor.shape().to_string());
  }
  if (shape.rank() != 1)
    return invalid("Expected input_handles to be a vector, but saw shape: ", shape.to_string());
  if (tensor.shape().dim(0) != shape.dim(0)) {
    return invalid("Expected tensor.shape[0] == input_handles.size, but saw ",
                   tensor.shape().dim(0), " vs. ", shape.dim(0));
  }
  MR_ASSIGN(std::vector<Tensor> rows, rows_of(tensor));
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::variant, shape));
  Tensor handles = context.take_input(0);
  for (size_t i = 0; i < rows.size(); ++i) {
    MR_ASSIGN(TensorList list, TensorList::take_from(handles, i));
    if (!list.element_shape.allows(rows[i].shape())) {
      return invalid("Tried to append a tensor with incompatible shape to a list at index ", i,
                     ". Op element shape: ", rows[i].shape().to_string(),
                     " list shape: ", list.element_shape.to_string());
    }
    if (list.dtype != dtype) {
      return invalid("Invalid data type at index ", i, "; op elements ", dtype_name(dtype),
                     " but list elements ", dtype_name(list.dtype));
    }
    MR_TRY(TensorList::check_size(static_cast<int64_t>(list.elements.size()) + 1));
    list.elements.push_back(std::move(rows[i]));
    MR_ASSIGN(made.mutable_flat<Variant>()[i], std::move(list).to_variant());
  }
  return made;
}

}  // namespace

Status register_list_rows(OpRegistry& ops) {
  const std::string types(kListTypes);
  MR_TRY(ops.add(list_op("TensorListFromTensor", "The rows of a tensor as a list.",
                         "tensor: element_dtype, element_shape: shape_type -> "
                         "output_handle: variant | " +
                             types,
                         infer_list, list_kernel(from_tensor))));
  MR_TRY(
      ops.add(list_op("TensorListSplit", "Consecutive parts of a tensor, as long as lengths say.",
                      "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> "
                      "output_handle: variant | " +
                          types,
                      infer_list, list_kernel(split))));
  MR_TRY(ops.add(list_op("TensorListScatter",
                         "A list with the rows of a tensor at the places that indices say.",
                         "tensor: element_dtype, indices: int32, element_shape: shape_type -> "
                         "output_handle: variant | " +
                             types,
                         infer_list, list_kernel(scatter_by_indices))));
  MR_TRY(ops.add(list_op("TensorListScatterV2",
                         "As TensorListScatter, with num_elements elements if that is not -1.",
                         "tensor: element_dtype, indices: int32, element_shape: shape_type, "
                         "num_elements: int32 -> output_handle: variant | " +
                             types,
                         infer_list, list_kernel(scatter_to_size))));
  MR_TRY(ops.add(list_op("TensorListScatterIntoExistingList",
                         "The list with the rows of a tensor at the places that indices say.",
                         "input_handle: variant, tensor: element_dtype, indices: int32 -> "
                         "output_handle: variant | element_dtype: type",
                         infer_list, list_kernel(scatter_into))));
  return ops.add(list_op("TensorListPushBackBatch",
                         "Each of several lists with one more element, a row of tensor.",
                         "input_handles: variant, tensor: element_dtype -> "
                         "output_handles: variant | element_dtype: type",
                         infer::same_as_input, list_kernel(push_back_batch)));
}

}  // namespace millrace
