// Part of families.h: register_shapes.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"

namespace millrace {
namespace {

Status shape_of_each(KernelContext& context) {
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    const Shape& shape = context.input(slot).shape();
    MR_ASSIGN(Tensor dims,
              integer_tensor(context.output_dtype(slot), {shape.rank()}, shape.dims()));
    context.set_output(slot, std::move(dims));
  }
  return {};
}

Result<Tensor> size_of(KernelContext& context) {
  const int64_t size = context.input(0).num_elements();
  return integer_tensor(context.output_dtype(0), Shape(), {&size, 1});
}

Result<Tensor> rank_of(KernelContext& context) {
  return Tensor::scalar<int32_t>(context.input(0).shape().rank());
}

Status infer_shape_of_each(InferContext& context) {
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    const int rank = context.input(slot).rank();
    context.set_output(slot, rank < 0 ? PartialShape::of_rank(1) : PartialShape{rank});
  }
  return {};
}

// --- Reshape ---

// The product of the dims that are no zeros.
Result<int64_t> product_without_zeros(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t dim : shape.dims()) {
    if (dim != 0 && __builtin_mul_overflow(product, dim, &product))
      return invalid("the dims of ", shape.to_string(), " leave no size for the one that is -1");
  }
  return product;
}

// The dims asked for, with the one that is -1 worked out from the number of elements. An empty
// tensor and a zero among the dims leave it open; the dims that are no zeros then say what it is:
// [0,6] as [0,-1,3] is [0,2,3].
Result<Shape> reshaped(const Shape& from, std::vector<int64_t> dims) {
  int unknown = -1;
  bool has_zero = false;
  int64_t product = 1;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == kUnknownDim) {
      if (unknown >= 0)
        return invalid("Only one input size may be -1, not both ", unknown, " and ", axis);
      unknown = static_cast<int>(axis);
    } else if (dims[axis] < 0) {
      return invalid("Size ", axis, " must be non-negative, not ", dims[axis]);
    } else if (dims[axis] == 0) {
      has_zero = true;
    } else if (__builtin_mul_overflow(product, dims[axis], &product)) {
      return invalid("Shape ", PartialShape::create(dims).status().message());
    }
  }
  if (unknown >= 0) {
    int64_t elements = from.num_elements();
    if (has_zero && elements == 0) {
      MR_ASSIGN(elements, product_without_zeros(from));
    }
    dims[unknown] = elements / product;
    if (dims[unknown] * product != elements) {
      return invalid("Input to reshape is a tensor with ", elements,
                     " values, but the requested shape requires a multiple of ", product);
    }
    product = elements;
  }
  if (has_zero) product = 0;
  if (product != from.num_elements()) {
    return invalid("Input to reshape is a tensor with ", from.num_elements(),
                   " values, but the requested shape has ", product);
  }
  return Shape::create(dims);
}

Result<Tensor> reshape(KernelContext& context) {
  MR_ASSIGN(std::vector<int64_t> dims, read_integers(context.input(1), "sizes input"));
  if (std::ssize(dims) >= kMaxRank) {
    return invalid("too many dimensions: must be < ", kMaxRank, ", but received ", dims.size());
  }
  MR_ASSIGN(const Shape shape, reshaped(context.input(0).shape(), std::move(dims)));
  return context.take_input(0).reshaped(shape);
}

// The shape of which only some dimensions are known. A -1 among them is not: it may become any.
Result<PartialShape> reshaped_as_known(KnownElements dims, const PartialShape& from) {
  int64_t unknown = 0, product = 1;
  for (std::optional<int64_t>& dim : dims) {
    if (dim == -1) dim = std::nullopt;
    unknown += dim ? 0 : 1;
    if (dim && __builtin_mul_overflow(product, *dim, &product)) product = 0;
  }
  // Of one number of elements with one dimension missing, that is what is left.
  const auto whole = from.to_shape();
  if (whole && unknown == 1 && product > 0 && whole->num_elements() % product == 0)
    for (std::optional<int64_t>& dim : dims)
      if (!dim) dim = whole->num_elements() / product;
  return known_shape(dims);
}

Status infer_reshape(InferContext& context) {
  MR_ASSIGN(const auto dims, constant_integers(context, 1, "sizes input"));
  const auto from = context.input(0).to_shape();
  if (dims && from) {
    MR_ASSIGN(const Shape shape, reshaped(*from, *dims));
    context.set_output(0, shape);
  } else if (dims) {
    MR_TRY(context.set_output(0, PartialShape::create(*dims)));
  } else if (auto known = context.elements(1)) {
    MR_TRY(context.set_output(0, reshaped_as_known(*std::move(known), context.input(0))));
  } else {
    return infer_shape_of(context, "sizes input", 1);
  }
  return {};
}

// --- ExpandDims ---

template <class AnyShape>
Result<std::vector<int64_t>> with_new_axis(const AnyShape& shape, int64_t at) {
  // There is one more place for an axis than there are axes.
  MR_ASSIGN(const int axis, resolve_axis(at, shape.rank() + 1, "ExpandDims' dim"));
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.insert(dims.begin() + axis, 1);
  return dims;
}

Result<Tensor> expand_dims(KernelContext& context) {
  MR_ASSIGN(const int64_t at, read_integer(context.input(1), "ExpandDims' dim"));
  MR_ASSIGN(const std::vector<int64_t> dims, with_new_axis(context.input(0).shape(), at));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  return context.take_input(0).reshaped(shape);
}

Status infer_expand_dims(InferContext& context) {
  if (!context.input(0).has_rank()) return {};
  const Tensor* at = context.constant(1);
  if (at == nullptr) {
    context.set_output(0, PartialShape::of_rank(context.input(0).rank() + 1));
    return {};
  }
  MR_ASSIGN(const int64_t axis, read_integer(*at, "ExpandDims' dim"));
  MR_ASSIGN(const std::vector<int64_t> dims, with_new_axis(context.input(0), axis));
  return context.set_output(0, PartialShape::create(dims));
}

// --- Squeeze ---

// The dims that stay; without named axes those that are not 1. Named ones must be 1 (or unknown).
template <class AnyShape>
Result<std::vector<int64_t>> squeezed(const AnyShape& shape, std::span<const int64_t> axes) {
  MR_ASSIGN(const std::vector<bool> named, resolve_axes(axes, shape.rank(), "squeeze_dims"));
  std::vector<int64_t> dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t dim = shape.dim(axis);
    if (named[axis] && dim != 1 && dim != kUnknownDim)
      return invalid("Can not squeeze dim[", axis, "], expected a dimension of 1, got ", dim);
    if (axes.empty() ? dim != 1 : !named[axis]) dims.push_back(dim);
  }
  return dims;
}

Result<Tensor> squeeze(KernelContext& context, const std::vector<int64_t>& axes) {
  MR_ASSIGN(const std::vector<int64_t> dims, squeezed(context.input(0).shape(), axes));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  return context.take_input(0).reshaped(shape);
}

Status infer_squeeze(InferContext& context) {
  MR_ASSIGN(const std::vector<int64_t> axes, context.attrs().integers("squeeze_dims"));
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  const bool all_known = input.is_fully_known();
  if (axes.empty() && !all_known) return {};  // an unknown dim may turn out to be 1
  MR_ASSIGN(const std::vector<int64_t> dims, squeezed(input, axes));
  return context.set_output(0, PartialShape::create(dims));
}

Status register_questions(OpRegistry& ops) {
  const std::string out = "T: type, out_type: {int32, int64} = int32";
  MR_TRY(ops.add({
      .name = "Shape",
      .doc = "The dimensions of a tensor, as a vector.",
      .signature = "input: T -> output: out_type | " + out,
      .infer = infer_shape_of_each,
      .cpu = kernel(shape_of_each),
      .not_differentiable = "its result is a shape or an index",
      .tells = ShapeFact::dims,
      .cost = Cost::cheap,
      .examples = {"[[1 2 3] [4 5 6]] -> [2 3]", "7 -> []"},
  }));
  MR_TRY(ops.add({
      .name = "ShapeN",
      .doc = "The dimensions of each of several tensors.",
      .signature = "input: N*T -> output: N*out_type | N: int >= 1, " + out,
      .infer = infer_shape_of_each,
      .cpu = kernel(shape_of_each),
      .not_differentiable = "its result is a shape or an index",
      .cost = Cost::cheap,
      .examples = {"[[1 2 3] [4 5 6]], [1] -> [2 3], [1]"},
  }));
  MR_TRY(ops.add({
      .name = "Size",
      .doc = "How many elements a tensor has.",
      .signature = "input: T -> output: out_type | " + out,
      .infer = infer::scalar,
      .cpu = kernel(size_of),
      .not_differentiable = "its result is a shape or an index",
      .tells = ShapeFact::num_elements,
      .cost = Cost::cheap,
      .examples = {"[[1 2 3] [4 5 6]] -> 6"},
  }));
  return ops.add({
      .name = "Rank",
      .doc = "How many dimensions a tensor has.",
      .signature = "input: T -> output: int32 | T: type",
      .infer = infer::scalar,
      .cpu = kernel(rank_of),
      .not_differentiable = "its result is a shape or an index",
      .tells = ShapeFact::rank,
      .cost = Cost::cheap,
      .examples = {"[[1 2 3] [4 5 6]] -> 2"},
  });
}

}  // namespace

Status register_shapes(OpRegistry& ops) {
  MR_TRY(register_questions(ops));
  MR_TRY(ops.add({
      .name = "Reshape",
      .doc = "The same elements under another shape; one dimension may be -1, and is worked out.",
      .signature =
          "tensor: T, shape: Tshape -> output: T | T: type, Tshape: {int32, int64} = int32",
      .infer = infer_reshape,
      .cpu = kernel(reshape),
      .grad = grad::reshaped,
      .elements = elements_of_input,
      .cost = Cost::cheap,
      .examples = {"[1 2 3 4 5 6], [2 -1] -> [[1 2 3] [4 5 6]]", "[7], [] -> 7"},
  }));
  MR_TRY(ops.add({
      .name = "ExpandDims",
      .doc = "The same elements with a dimension of 1 put in before axis dim.",
      .signature = "input: T, dim: Tdim -> output: T | T: type, Tdim: {int32, int64} = int32",
      .infer = infer_expand_dims,
      .cpu = kernel(expand_dims),
      .grad = grad::reshaped,
      .elements = elements_of_input,
      .cost = Cost::cheap,
      .examples = {"[1 2], 0 -> [[1 2]]", "[1 2], -1 -> [[1] [2]]"},
  }));
  return ops.add({
      .name = "Squeeze",
      .doc = "The same elements without dimensions of 1: the named ones, or all.",
      .signature = "input: T -> output: T | T: type, squeeze_dims: list(int) >= 0 = {}",
      .infer = infer_squeeze,
      .cpu = kernel_with(squeeze, integers("squeeze_dims")),
      .grad = grad::reshaped,
      .elements = elements_of_input,
      .cost = Cost::cheap,
      .examples = {"[[[1] [2]]] -> [1 2]", "[[[1] [2]]] -> [[1] [2]] | squeeze_dims = {0}"},
  });
}

}  // namespace millrace
