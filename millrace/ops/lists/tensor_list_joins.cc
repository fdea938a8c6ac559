// Part of tensor_list_ops.h: elements of a list become one tensor.
#include <optional>

#include "millrace/ops/lists/tensor_list_ops.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

Result<Shape> with_first_dim(int64_t first, const Shape& rest) {
  std::vector<int64_t> dims(rest.dims().begin(), rest.dims().end());
  dims.insert(dims.begin(), first);
  return Shape::create(dims);
}

// The elements one after the other; what is not set is left out, `sizes` elements of zeros long.
Result<Tensor> joined(const TensorList& list, std::span<const int64_t> indices,
                      std::span<const int64_t> sizes, const Shape& shape) {
  MR_ASSIGN(Tensor made, Tensor::zeros(list.dtype, shape));
  const int64_t unit = 1;
  int64_t begin = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<size_t>(indices[i]);
    const Tensor& element = list.elements[index];
    if (element.has_value()) MR_TRY(list.check_element(index));
    if (element.has_value() && sizes[i] > 0)
      copy_box({&sizes[i], 1}, element, {0, {&unit, 1}}, made, {begin, {&unit, 1}});
    begin += sizes[i];
  }
  return made;
}

// What Stack and Gather say where they differ, as TensorFlow has it.
struct Wording {
  std::string_view none;   // there are no elements, and the shape is not fully known
  std::string_view unset;  // none is set, and the shape is not fully known
};
constexpr Wording kOfStack = {
    "Tried to stack elements of an empty list with non-fully-defined element_shape: ",
    "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined "
    "element_shape: "};
constexpr Wording kOfGather = {
    "Tried to gather 0-elements from a list with non-fully-defined shape: ",
    "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: "};

// The elements of the given indices, which have one shape, along a new first axis.
Result<Tensor> stacked(const TensorList& list, std::span<const int64_t> indices,
                       const PartialShape& asked, const Wording& wording) {
  MR_ASSIGN(PartialShape shape, merge_element_shapes(asked, list.element_shape));
  for (int64_t index : indices) {
    if (index < 0 || index >= static_cast<int64_t>(list.elements.size())) {
      return invalid("Trying to gather element ", index, " in a list with ", list.elements.size(),
                     " elements.");
    }
    const Tensor& element = list.elements[static_cast<size_t>(index)];
    if (!element.has_value()) continue;
    if (shape.is_fully_known() && shape.allows(element.shape())) continue;
    MR_ASSIGN(shape, merge_element_shapes(shape, element.shape()));
  }
  const auto known = shape.to_shape();
  if (!known) return invalid(indices.empty() ? wording.none : wording.unset, shape.to_string());
  MR_ASSIGN(const Shape whole, with_first_dim(static_cast<int64_t>(indices.size()), *known));
  const std::vector<int64_t> sizes(indices.size(), known->num_elements());
  return joined(list, indices, sizes, whole);
}

std::vector<int64_t> all_indices(const TensorList& list) {
  std::vector<int64_t> all;
  for (size_t i = 0; i < list.elements.size(); ++i) all.push_back(static_cast<int64_t>(i));
  return all;
}

Result<Tensor> stack(KernelContext& context, DType dtype, int64_t wanted) {
  MR_ASSIGN(const PartialShape asked, read_element_shape(context.input(1)));
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, dtype));
  const auto size = static_cast<int64_t>(list.elements.size());
  if (wanted >= 0 && wanted != size) {
    return invalid("Operation expected a list with ", wanted, " elements but got a list with ",
                   size, " elements.");
  }
  return stacked(list, all_indices(list), asked, kOfStack);
}

Result<Tensor> gather(KernelContext& context, DType dtype) {
  MR_ASSIGN(const auto indices, read_integers(context.input(1), "indices"));
  MR_ASSIGN(const PartialShape asked, read_element_shape(context.input(2)));
  MR_ASSIGN(const TensorList list, TensorList::take(context, 0, dtype));
  return stacked(list, indices, asked, kOfGather);
}

// Elements that differ in their first dimension at most, joined along it.
class Concatenation {
 public:
  // Errors: INVALID_ARGUMENT if elements are scalars, or their shapes contradict each other.
  static Result<Concatenation> create(TensorList list, const PartialShape& asked) {
    Concatenation made;
    MR_ASSIGN(const PartialShape shape, merge_element_shapes(asked, list.element_shape));
    if (shape.has_rank() && shape.rank() == 0) {
      return invalid("Concat requires elements to be at least vectors, found scalars instead.");
    }
    made.first_dim_ = shape.has_rank() ? shape.dim(0) : kUnknownDim;
    MR_ASSIGN(made.rest_, without_first_dim(shape));
    made.list_ = std::move(list);
    MR_TRY(made.look_at_elements());
    return made;
  }

  // `leading_dims`: how long what is not set is, if its index is among them.
  Status run(KernelContext& context, std::span<const int64_t> leading_dims) const {
    const auto rest = rest_.to_shape();
    if (!rest) {
      return invalid(list_.elements.empty()
                         ? "All except the first dimension must be fully defined when concating an "
                           "empty tensor list. element_shape: "
                         : "Trying to concat list with only uninitialized tensors but "
                           "element_shape_except_first_dim is not fully defined: ",
                     rest_.to_string());
    }
    MR_ASSIGN(const auto lengths, lengths_of(leading_dims));
    int64_t total = 0;
    for (int64_t length : lengths) {
      if (length > INT64_MAX - total)
        return invalid("the lengths of elements add up to more than an int64 holds");
      total += length;
    }
    MR_ASSIGN(const Shape whole, with_first_dim(total, *rest));
    std::vector<int64_t> sizes;  // small enough to multiply, since `whole` is a shape
    for (int64_t length : lengths) sizes.push_back(length * rest->num_elements());
    MR_ASSIGN(Tensor made, joined(list_, all_indices(list_), sizes, whole));
    context.set_output(0, std::move(made));
    context.set_output(1, Tensor::vector<int64_t>(lengths));
    return {};
  }

 private:
  Status look_at_elements() {
    std::optional<int64_t> common;
    bool differ = false;
    for (size_t i = 0; i < list_.elements.size(); ++i) {
      const Tensor& element = list_.elements[i];
      if (!element.has_value()) continue;
      if (element.shape().rank() == 0) {
        return invalid("Concat saw a scalar shape at index ", i, " but requires at least vectors.");
      }
      const int64_t length = element.shape().dim(0);
      MR_ASSIGN(const PartialShape rest, without_first_dim(element.shape()));
      MR_ASSIGN(rest_, merge_element_shapes(rest_, rest));
      if (first_dim_ != kUnknownDim && first_dim_ != length) {
        return invalid("First entry of element_shape input does not match the first dim of list ",
                       "element at index: ", i, " Expected: ", first_dim_, " Actual: ", length);
      }
      differ = differ || (common && *common != length);
      common = length;
    }
    if (common && !differ) first_dim_ = *common;
    return {};
  }

  Result<std::vector<int64_t>> lengths_of(std::span<const int64_t> leading_dims) const {
    std::vector<int64_t> lengths;
    for (size_t i = 0; i < list_.elements.size(); ++i) {
      int64_t length = first_dim_;
      if (list_.elements[i].has_value()) {
        length = list_.elements[i].shape().dim(0);
      } else if (i < leading_dims.size()) {
        length = leading_dims[i];
        if (length < 0) return invalid("leading_dims[", i, "] is ", length, "; it must be >= 0");
      } else if (length == kUnknownDim) {
        return invalid("List contains uninitialized tensor at index ", i,
                       " but leading_dims has only ", leading_dims.size(), " elements.");
      }
      lengths.push_back(length);
    }
    return lengths;
  }

  TensorList list_;
  int64_t first_dim_ = kUnknownDim;  // of each element, if it is one
  PartialShape rest_;                // of each element, without the first dimension
};

Status concat(KernelContext& context, DType dtype) {
  MR_ASSIGN(const PartialShape asked, read_element_shape(context.input(1)));
  MR_ASSIGN(const auto leading_dims, read_integers(context.input(2), "leading_dims"));
  MR_ASSIGN(TensorList list, TensorList::take(context, 0, dtype));
  MR_ASSIGN(const auto concatenation, Concatenation::create(std::move(list), asked));
  return concatenation.run(context, leading_dims);
}

KernelFactory old_concat_kernel() {
  return [](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    MR_ASSIGN(const DType dtype, spec.attrs.type("element_dtype"));
    MR_ASSIGN(const PartialShape asked, spec.attrs.shape("element_shape"));
    if (asked.has_rank() && asked.rank() == 0) return invalid("element_shape must not be empty");
    return kernel([dtype, asked](KernelContext& context) -> Status {
      MR_ASSIGN(TensorList list, TensorList::take(context, 0, dtype));
      MR_ASSIGN(const auto concatenation, Concatenation::create(std::move(list), asked));
      return concatenation.run(context, {});
    })(spec);
  };
}

Status infer_lengths(InferContext& context) {
  context.set_output(1, PartialShape::of_rank(1));
  return {};
}

}  // namespace

Status register_list_joins(OpRegistry& ops) {
  MR_TRY(ops.add(list_op("TensorListStack", "All elements as one tensor, along a new first axis.",
                         "input_handle: variant, element_shape: int32 -> tensor: element_dtype | "
                         "element_dtype: type, num_elements: int = -1",
                         infer::unknown,
                         kernel_with(stack, type("element_dtype"), integer("num_elements")))));
  MR_TRY(ops.add(list_op("TensorListGather", "Some elements as one tensor, along a new first axis.",
                         "input_handle: variant, indices: int32, element_shape: int32 -> "
                         "values: element_dtype | element_dtype: type",
                         infer::unknown, list_kernel(gather))));
  MR_TRY(ops.add(list_op("TensorListConcat",
                         "All elements along their first axis, and how long each one is.",
                         "input_handle: variant -> tensor: element_dtype, lengths: int64 | "
                         "element_dtype: type, element_shape: shape = ?",
                         infer_lengths, old_concat_kernel())));
  return ops.add(list_op("TensorListConcatV2",
                         "As TensorListConcat; leading_dims say how long unset elements are.",
                         "input_handle: variant, element_shape: shape_type, leading_dims: int64 -> "
                         "tensor: element_dtype, lengths: int64 | " +
                             std::string(kListTypes),
                         infer_lengths, list_kernel(concat)));
}

}  // namespace millrace
