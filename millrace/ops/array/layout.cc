// Part of families.h: register_layout.
#include <complex>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

// --- Transpose ---

// perm[i] is the axis of the input that becomes axis i.
Result<std::vector<int>> read_permutation(std::span<const int64_t> perm, int rank) {
  if (static_cast<int>(perm.size()) != rank) {
    return invalid("transpose expects a vector of size ", rank,
                   ". But input(1) is a vector of size ", perm.size());
  }
  std::vector<int> axes;
  std::vector<bool> named(rank, false);
  for (const int64_t axis : perm) {
    if (axis < -rank || axis >= rank) return invalid(axis, " is out of range [0 .. ", rank, ")");
    axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
    named[axes.back()] = true;
  }
  for (int axis = 0; axis < rank; ++axis) {
    if (named[axis]) continue;
    std::string told;
    for (const int each : axes) str_append(&told, told.empty() ? "" : ",", each);
    return invalid(axis, " is missing from {", told, "}.");
  }
  return axes;
}

Result<Tensor> transpose(KernelContext& context) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(const std::vector<int64_t> perm, read_integers(context.input(1), "perm"));
  MR_ASSIGN(const std::vector<int> axes, read_permutation(perm, input.shape().rank()));
  const Strides own = row_major_strides(input.shape());
  std::vector<int64_t> dims;
  Strides from;
  for (const int axis : axes) {
    dims.push_back(input.shape().dim(axis));
    from.push_back(own[axis]);
  }
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  return copied_box(shape, input, {0, from}, context);
}

template <class T>
Status conjugate_all(Tensor& tensor, CancelProbe probe) {
  T* const elements = tensor.mutable_flat<T>().data();
  return probe.in_pieces(tensor.num_elements(), [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i) elements[i] = std::conj(elements[i]);
  });
}

Result<Tensor> conjugate_transpose(KernelContext& context) {
  MR_ASSIGN(Tensor made, transpose(context));
  const CancelProbe probe(context);
  if (made.dtype() == DType::c64) MR_TRY(conjugate_all<std::complex<float>>(made, probe));
  if (made.dtype() == DType::c128) MR_TRY(conjugate_all<std::complex<double>>(made, probe));
  return made;
}

Status infer_transpose(InferContext& context) {
  const PartialShape& input = context.input(0);
  MR_ASSIGN(const auto perm, constant_integers(context, 1, "perm"));
  if (!input.has_rank()) {
    if (perm && perm->size() <= static_cast<size_t>(kMaxRank))
      context.set_output(0, PartialShape::of_rank(static_cast<int>(perm->size())));
    return {};
  }
  std::vector<int64_t> dims(input.rank(), kUnknownDim);
  if (perm) {
    MR_ASSIGN(const std::vector<int> axes, read_permutation(*perm, input.rank()));
    for (size_t i = 0; i < axes.size(); ++i) dims[i] = input.dim(axes[i]);
  }
  return context.set_output(0, PartialShape::create(dims));
}

Result<Tensor> invert_permutation(KernelContext& context) {
  MR_ASSIGN(const std::vector<int64_t> perm, read_integers(context.input(0), "x"));
  if (context.input(0).shape().rank() != 1)
    return invalid("invert_permutation expects a 1D vector.");
  const auto size = static_cast<int64_t>(perm.size());
  std::vector<int64_t> inverse(perm.size(), -1);
  for (int64_t i = 0; i < size; ++i) {
    const int64_t at = perm[i];
    if (at < 0 || at >= size) return invalid(at, " is not between 0 and ", size);
    if (inverse[at] != -1) return invalid(at, " is duplicated in the input.");
    inverse[at] = i;
  }
  return integer_tensor(context.output_dtype(0), {size}, inverse);
}

// --- Tile ---

Result<std::vector<int64_t>> tiled_dims(const PartialShape& input,
                                        std::span<const int64_t> multiples) {
  if (multiples.size() != static_cast<size_t>(input.rank())) {
    return invalid("Expected multiples argument to be a vector of length ", input.rank(),
                   " but got length ", multiples.size());
  }
  std::vector<int64_t> dims;
  for (int axis = 0; axis < input.rank(); ++axis) {
    if (multiples[axis] < 0)
      return invalid("Expected multiples[", axis, "] >= 0, but got ", multiples[axis]);
    int64_t dim = kUnknownDim;
    if (input.dim(axis) != kUnknownDim &&
        __builtin_mul_overflow(input.dim(axis), multiples[axis], &dim))
      return invalid("Tile: ", multiples[axis], " times ", input.dim(axis), " does not fit int64");
    dims.push_back(dim);
  }
  return dims;
}

Result<Tensor> tile(KernelContext& context) {
  const Tensor& input = context.input(0);
  if (context.input(1).shape().rank() != 1) {
    return invalid("Expected multiples to be 1-D, but got shape ",
                   context.input(1).shape().to_string());
  }
  MR_ASSIGN(const std::vector<int64_t> multiples, read_integers(context.input(1), "multiples"));
  MR_ASSIGN(const std::vector<int64_t> dims, tiled_dims(input.shape(), multiples));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  // Each axis is walked as two: which copy, and where in it.
  const Strides own = row_major_strides(input.shape());
  const Strides wide = row_major_strides(shape);
  std::vector<int64_t> box, from, to;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const int64_t dim = input.shape().dim(static_cast<int>(axis));
    box.insert(box.end(), {multiples[axis], dim});
    from.insert(from.end(), {0, own[axis]});
    to.insert(to.end(), {wide[axis] * dim, wide[axis]});
  }
  if (output.num_elements() > 0) MR_TRY(copy_box(box, input, {0, from}, output, {0, to}, context));
  return output;
}

Status infer_tile(InferContext& context) {
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  MR_ASSIGN(const auto multiples, constant_integers(context, 1, "multiples"));
  if (multiples) {
    MR_ASSIGN(const std::vector<int64_t> dims, tiled_dims(input, *multiples));
    return context.set_output(0, PartialShape::create(dims));
  }
  context.set_output(0, PartialShape::of_rank(input.rank()));
  const auto known = context.elements(1);
  if (!known || std::ssize(*known) != input.rank()) return {};
  KnownElements dims;
  for (int axis = 0; axis < input.rank(); ++axis) {
    const std::optional<int64_t> times = (*known)[static_cast<size_t>(axis)];
    // Where something is unknown, all is, but nothing repeated any number of times.
    int64_t product = kUnknownDim;
    const bool is_known = times && input.dim(axis) != kUnknownDim && *times >= 0 &&
                          !__builtin_mul_overflow(*times, input.dim(axis), &product);
    dims.push_back(is_known ? std::optional(product) : std::nullopt);
  }
  return context.set_output(0, known_shape(dims));
}

// --- Pad ---

struct Padding {
  std::vector<int64_t> before, dims;  // dims of the padded tensor
};

// `paddings` are the rows of an [n, 2] matrix, one after another.
Result<Padding> read_padding(const PartialShape& input, std::span<const int64_t> paddings) {
  if (paddings.size() != 2 * static_cast<size_t>(input.rank())) {
    return invalid(
        "The first dimension of paddings must be the rank of inputs: ", paddings.size() / 2,
        " rows of paddings for inputs of shape ", input.to_string());
  }
  Padding padding;
  for (int axis = 0; axis < input.rank(); ++axis) {
    const size_t at = 2 * static_cast<size_t>(axis);
    const int64_t before = paddings[at], after = paddings[at + 1];
    if (before < 0 || after < 0)
      return invalid("Paddings must be non-negative: ", before, " ", after);
    int64_t dim = input.dim(axis);
    if (dim != kUnknownDim &&
        (__builtin_add_overflow(dim, before, &dim) || __builtin_add_overflow(dim, after, &dim)))
      return invalid("Pad: axis ", axis, " would be longer than 2^63 - 1");
    padding.before.push_back(before);
    padding.dims.push_back(dim);
  }
  return padding;
}

Result<std::vector<int64_t>> padding_rows(const Tensor& paddings) {
  const Shape& shape = paddings.shape();
  if (shape.rank() != 2 || shape.dim(1) != 2)
    return invalid("paddings must be a matrix with 2 columns: ", shape.to_string());
  return read_elements(paddings, "paddings");
}

Result<Tensor> pad(KernelContext& context) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(const std::vector<int64_t> rows, padding_rows(context.input(1)));
  MR_ASSIGN(const Padding padding, read_padding(input.shape(), rows));
  MR_ASSIGN(const Shape shape, Shape::create(padding.dims));
  const Strides to = row_major_strides(shape);
  Tensor output;
  if (context.num_inputs() == 3) {
    const Tensor& value = context.input(2);
    if (value.num_elements() != 1)
      return invalid("constant_values must be a scalar: ", value.shape().to_string());
    const Strides everywhere(shape.rank(), 0);
    MR_ASSIGN(output, copied_box(shape, value, {0, everywhere}, context));
  } else {
    MR_ASSIGN(output, Tensor::zeros(input.dtype(), shape));
  }
  int64_t begin = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) begin += padding.before[axis] * to[axis];
  const Strides from = row_major_strides(input.shape());
  MR_TRY(copy_box(input.shape().dims(), input, {0, from}, output, {begin, to}, context));
  return output;
}

Status infer_pad(InferContext& context) {
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  const Tensor* paddings = context.constant(1);
  if (paddings == nullptr) {
    context.set_output(0, PartialShape::of_rank(input.rank()));
    return {};
  }
  MR_ASSIGN(const std::vector<int64_t> rows, padding_rows(*paddings));
  MR_ASSIGN(const Padding padding, read_padding(input, rows));
  return context.set_output(0, PartialShape::create(padding.dims));
}

// --- BroadcastTo ---

Result<Tensor> broadcast_to(KernelContext& context) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(const Shape shape, read_shape(context.input(1), "BroadcastTo's shape"));
  const auto together = broadcast_shapes(input.shape(), shape);
  if (!together.ok() || *together != shape) {
    return invalid("Incompatible shapes: ", input.shape().to_string(), " vs. ", shape.to_string());
  }
  return copied_box(shape, input, {0, broadcast_strides(input.shape(), shape)}, context);
}

Status infer_broadcast_to(InferContext& context) {
  const auto known = context.elements(1);
  if (!known) return {};
  MR_ASSIGN(PartialShape shape, known_shape(*known).with("BroadcastTo's shape"));
  MR_TRY(broadcast_shapes(context.input(0), shape));
  context.set_output(0, std::move(shape));
  return {};
}

// --- ReverseV2 ---

Result<Tensor> reverse(KernelContext& context) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(const std::vector<int64_t> axes, read_integers(context.input(1), "axis"));
  MR_ASSIGN(const std::vector<bool> reversed, resolve_axes(axes, input.shape().rank(), "axis"));
  Strides from = row_major_strides(input.shape());
  int64_t begin = 0;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (!reversed[axis]) continue;
    begin += from[axis] * (input.shape().dim(static_cast<int>(axis)) - 1);
    from[axis] = -from[axis];
  }
  if (input.num_elements() == 0) begin = 0;
  return copied_box(input.shape(), input, {begin, from}, context);
}

Status register_orders(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Transpose",
      .doc = "The axes in another order: axis perm[i] of x becomes axis i.",
      .signature = "x: T, perm: Tperm -> y: T | T: type, Tperm: {int32, int64} = int32",
      .infer = infer_transpose,
      .cpu = kernel(transpose),
      .grad = grad::transpose,
      .examples = {"[[1 2 3] [4 5 6]], [1 0] -> [[1 4] [2 5] [3 6]]",
                   "[[[1 2]] [[3 4]]], [1 2 0] -> [[[1 3] [2 4]]]"},
  }));
  MR_TRY(ops.add({
      .name = "ConjugateTranspose",
      .doc = "The axes in another order, as Transpose has them; complex elements are conjugated.",
      .signature = "x: T, perm: Tperm -> y: T | T: type, Tperm: {int32, int64} = int32",
      .infer = infer_transpose,
      .cpu = kernel(conjugate_transpose),
      .grad = grad::conjugate_transpose,
      .examples = {"[[1 2 3] [4 5 6]], [1 0] -> [[1 4] [2 5] [3 6]]"},
  }));
  MR_TRY(ops.add({
      .name = "InvertPermutation",
      .doc = "The permutation y with y[x[i]] = i.",
      .signature = "x: T -> y: T | T: {int32, int64} = int32",
      .infer = infer::same_as_input,
      .cpu = kernel(invert_permutation),
      .not_differentiable = "its result is a shape or an index",
      .cost = Cost::cheap,
      .examples = {"[2 0 1] -> [1 2 0]"},
  }));
  return ops.add({
      .name = "ReverseV2",
      .doc = "The elements in the opposite order along the named axes.",
      .signature = "tensor: T, axis: Tidx -> output: T | Tidx: {int32, int64} = int32, T: type",
      .infer = infer::same_as_input,
      .cpu = kernel(reverse),
      .grad = grad::reverse,
      .examples = {"[[1 2] [3 4]], [1] -> [[2 1] [4 3]]", "[1 2 3], [-1] -> [3 2 1]"},
  });
}

}  // namespace

Status register_layout(OpRegistry& ops) {
  MR_TRY(register_orders(ops));
  MR_TRY(ops.add({
      .name = "Tile",
      .doc = "The input repeated multiples[i] times along axis i.",
      .signature = "input: T, multiples: Tmultiples -> output: T | T: type, Tmultiples: {int32, "
                   "int64} = int32",
      .infer = infer_tile,
      .cpu = kernel(tile),
      .grad = grad::tile,
      .examples = {"[[1 2]], [2 2] -> [[1 2 1 2] [1 2 1 2]]", "[1 2], [0] -> []"},
  }));
  MR_TRY(ops.add({
      .name = "Pad",
      .doc = "The input with zeros around it: paddings[i] = (how many before, how many after).",
      .signature =
          "input: T, paddings: Tpaddings -> output: T | T: type, Tpaddings: {int32, int64} = int32",
      .infer = infer_pad,
      .cpu = kernel(pad),
      .grad = grad::pad,
      .examples = {"[[1 2]], [[0 1] [1 1]] -> [[0 1 2 0] [0 0 0 0]] | T = float"},
  }));
  MR_TRY(ops.add({
      .name = "PadV2",
      .doc = "The input with constant_values around it, as by Pad.",
      .signature = "input: T, paddings: Tpaddings, constant_values: T -> output: T | T: type, "
                   "Tpaddings: {int32, int64} = int32",
      .infer = infer_pad,
      .cpu = kernel(pad),
      .grad = grad::pad,
      .examples = {"[1 2], [[1 2]], 9 -> [9 1 2 9 9]"},
  }));
  return ops.add({
      .name = "BroadcastTo",
      .doc = "The input repeated along its axes of 1, and along new leading ones, up to shape.",
      .signature = "input: T, shape: Tidx -> output: T | T: type, Tidx: {int32, int64} = int32",
      .infer = infer_broadcast_to,
      .cpu = kernel(broadcast_to),
      .grad = grad::broadcast_to,
      .examples = {"[[1] [2]], [2 3] -> [[1 1 1] [2 2 2]]"},
  });
}

}  // namespace millrace
