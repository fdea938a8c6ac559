// Part of families.h: register_joins.
#include <optional>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

// A tensor seen as a matrix whose rows are cut or joined: the dims before the axis, and the rest.
int64_t product(std::span<const int64_t> dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

// Copies the columns of one matrix into, or out of, columns [begin, begin + width) of a wider one.
struct Columns {
  int64_t rows, begin, width, total;

  Status put(const Tensor& narrow, Tensor& wide, CancelProbe& probe) const {
    const std::array<int64_t, 2> dims = {rows, width}, from = {width, 1}, to = {total, 1};
    return copy_box(dims, narrow, {0, from}, wide, {begin, to}, probe);
  }
  Status take(const Tensor& wide, Tensor& narrow, CancelProbe& probe) const {
    const std::array<int64_t, 2> dims = {rows, width}, from = {total, 1}, to = {width, 1};
    return copy_box(dims, wide, {begin, from}, narrow, {0, to}, probe);
  }
};

// --- Concat ---

Status check_joinable(const Shape& first, const Shape& other, int slot, int axis) {
  if (other.is_scalar()) return invalid("Can't concatenate scalars (use tf.stack instead)");
  if (other.rank() != first.rank()) {
    return invalid("ConcatOp : Ranks of all input tensors should match: shape[0] = ",
                   first.to_string(), " vs. shape[", slot, "] = ", other.to_string());
  }
  for (int i = 0; i < first.rank(); ++i) {
    if (i == axis || first.dim(i) == other.dim(i)) continue;
    return invalid("ConcatOp : Dimension ", i,
                   " in both shapes must be equal: shape[0] = ", first.to_string(), " vs. shape[",
                   slot, "] = ", other.to_string());
  }
  return {};
}

// `values` are the slots [begin, end); `axis_slot` says along which axis.
Result<Tensor> concat(KernelContext& context, int axis_slot, int begin, int end) {
  const Shape first = context.input(begin).shape();
  MR_ASSIGN(const int64_t wanted, read_integer(context.input(axis_slot), "ConcatOp : the axis"));
  if (first.is_scalar()) return invalid("Can't concatenate scalars (use tf.stack instead)");
  MR_ASSIGN(const int axis, resolve_axis(wanted, first.rank(), "ConcatOp : the axis"));
  std::vector<int64_t> dims(first.dims().begin(), first.dims().end());
  dims[axis] = 0;
  for (int slot = begin; slot < end; ++slot) {
    const Shape& shape = context.input(slot).shape();
    MR_TRY(check_joinable(first, shape, slot - begin, axis));
    if (__builtin_add_overflow(dims[axis], shape.dim(axis), &dims[axis]))
      return invalid("ConcatOp : dimension ", axis, " would not fit int64");
  }
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  const int64_t rows = product(shape.dims().first(axis));
  const int64_t inner = product(shape.dims().subspan(axis + 1));
  CancelProbe probe(context);
  Columns columns{rows, 0, 0, dims[axis] * inner};
  for (int slot = begin; slot < end; ++slot) {
    columns.width = context.input(slot).shape().dim(axis) * inner;
    MR_TRY(columns.put(context.input(slot), output, probe));
    columns.begin += columns.width;
  }
  return output;
}

Status infer_concat(InferContext& context, int axis_slot, int begin, int end) {
  MR_ASSIGN(const auto wanted, constant_integers(context, axis_slot, "ConcatOp : the axis"));
  PartialShape common;  // of all inputs, but for the axis
  std::optional<int> axis;
  int64_t total = 0;
  for (int slot = begin; slot < end; ++slot) {
    const PartialShape& input = context.input(slot);
    if (!input.has_rank()) {
      total = kUnknownDim;
      continue;
    }
    if (!wanted || wanted->size() != 1) {
      common = PartialShape::of_rank(input.rank());
      continue;
    }
    MR_ASSIGN(axis, resolve_axis((*wanted)[0], input.rank(), "ConcatOp : the axis"));
    std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
    const int64_t width = std::exchange(dims[*axis], kUnknownDim);
    total = width == kUnknownDim || total == kUnknownDim ? kUnknownDim : total + width;
    MR_ASSIGN(const PartialShape others, PartialShape::create(dims));
    MR_ASSIGN(common, common.merge(others));
  }
  if (axis && common.has_rank()) {
    std::vector<int64_t> dims(common.dims().begin(), common.dims().end());
    dims[*axis] = total;
    MR_ASSIGN(common, PartialShape::create(dims));
  }
  context.set_output(0, std::move(common));
  return {};
}

Result<Tensor> concat_v2(KernelContext& context) {
  const int n = context.num_inputs() - 1;
  return concat(context, n, 0, n);
}
Result<Tensor> concat_v1(KernelContext& context) {
  return concat(context, 0, 1, context.num_inputs());
}
Status infer_concat_v2(InferContext& context) {
  const int n = context.num_inputs() - 1;
  return infer_concat(context, n, 0, n);
}
Status infer_concat_v1(InferContext& context) {
  return infer_concat(context, 0, 1, context.num_inputs());
}

// Vectors one after the other. Of an input of which nothing is known not even the number is.
std::optional<KnownElements> elements_of_concat(const InferContext& context) {
  KnownElements all;
  for (int slot = 0; slot + 1 < context.num_inputs(); ++slot) {
    const PartialShape& shape = context.input(slot);
    if (!shape.has_rank() || shape.rank() != 1 || shape.dim(0) > kMaxRank) return std::nullopt;
    const auto known = context.elements(slot);
    if (!known && shape.dim(0) == kUnknownDim) return std::nullopt;
    const KnownElements part = known ? *known : KnownElements(static_cast<size_t>(shape.dim(0)));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// --- Pack and Unpack ---

Result<Tensor> pack(KernelContext& context, int64_t wanted) {
  const Shape& each = context.input(0).shape();
  MR_ASSIGN(const int axis, resolve_axis(wanted, each.rank() + 1, "Pack's axis"));
  for (int slot = 1; slot < context.num_inputs(); ++slot) {
    if (context.input(slot).shape() == each) continue;
    return invalid("Shapes of all inputs must match: values[0].shape = ", each.to_string(),
                   " != values[", slot, "].shape = ", context.input(slot).shape().to_string());
  }
  std::vector<int64_t> dims(each.dims().begin(), each.dims().end());
  dims.insert(dims.begin() + axis, context.num_inputs());
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  const int64_t width = product(each.dims().subspan(axis));
  CancelProbe probe(context);
  Columns columns{product(each.dims().first(axis)), 0, width, width * context.num_inputs()};
  for (int slot = 0; slot < context.num_inputs(); ++slot, columns.begin += width)
    MR_TRY(columns.put(context.input(slot), output, probe));
  return output;
}

Status unpack(KernelContext& context, int64_t wanted) {
  const Tensor& value = context.input(0);
  MR_ASSIGN(const int axis, resolve_axis(wanted, value.shape().rank(), "Unpack's axis"));
  if (value.shape().dim(axis) != context.num_outputs()) {
    return invalid("Input shape axis ", axis, " must equal ", context.num_outputs(), ", got shape ",
                   value.shape().to_string());
  }
  std::vector<int64_t> dims(value.shape().dims().begin(), value.shape().dims().end());
  dims.erase(dims.begin() + axis);
  MR_ASSIGN(const Shape each, Shape::create(dims));
  const int64_t width = product(each.dims().subspan(axis));
  CancelProbe probe(context);
  Columns columns{product(each.dims().first(axis)), 0, width, width * context.num_outputs()};
  for (int slot = 0; slot < context.num_outputs(); ++slot, columns.begin += width) {
    MR_ASSIGN(Tensor output, context.allocate(slot, each));
    MR_TRY(columns.take(value, output, probe));
    context.set_output(slot, std::move(output));
  }
  return {};
}

// Scalars become a vector.
std::optional<KnownElements> elements_of_pack(const InferContext& context) {
  if (context.num_inputs() > kMaxRank) return std::nullopt;
  KnownElements all;
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    const auto known = context.elements(slot);
    all.push_back(known && known->size() == 1 ? known->front() : std::nullopt);
  }
  return all;
}

Status infer_pack(InferContext& context) {
  MR_ASSIGN(const int64_t wanted, context.attrs().integer("axis"));
  PartialShape each;
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    MR_ASSIGN(each, each.merge(context.input(slot)));
  }
  if (!each.has_rank()) return {};
  MR_ASSIGN(const int axis, resolve_axis(wanted, each.rank() + 1, "Pack's axis"));
  std::vector<int64_t> dims(each.dims().begin(), each.dims().end());
  dims.insert(dims.begin() + axis, context.num_inputs());
  return context.set_output(0, PartialShape::create(dims));
}

Status infer_unpack(InferContext& context) {
  MR_ASSIGN(const int64_t wanted, context.attrs().integer("axis"));
  const PartialShape& value = context.input(0);
  if (!value.has_rank()) return {};
  MR_ASSIGN(const int axis, resolve_axis(wanted, value.rank(), "Unpack's axis"));
  if (value.dim(axis) != kUnknownDim && value.dim(axis) != context.num_outputs()) {
    return invalid("Unpack: axis ", axis, " of shape ", value.to_string(), " is not ",
                   context.num_outputs());
  }
  std::vector<int64_t> dims(value.dims().begin(), value.dims().end());
  dims.erase(dims.begin() + axis);
  for (int slot = 0; slot < context.num_outputs(); ++slot) {
    MR_TRY(context.set_output(slot, PartialShape::create(dims)));
  }
  return {};
}

// --- Split ---

// Cuts `value` along `axis` into pieces of the given sizes, which add up to its dim.
Status cut(KernelContext& context, const Tensor& value, int axis, std::span<const int64_t> sizes) {
  const Shape& shape = value.shape();
  const int64_t inner = product(shape.dims().subspan(axis + 1));
  CancelProbe probe(context);
  Columns columns{product(shape.dims().first(axis)), 0, 0, shape.dim(axis) * inner};
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  for (int slot = 0; slot < context.num_outputs(); ++slot) {
    dims[axis] = sizes[slot];
    MR_ASSIGN(const Shape piece, Shape::create(dims));
    MR_ASSIGN(Tensor output, context.allocate(slot, piece));
    columns.width = sizes[slot] * inner;
    MR_TRY(columns.take(value, output, probe));
    columns.begin += columns.width;
    context.set_output(slot, std::move(output));
  }
  return {};
}

Result<int> read_split_axis(const Tensor& tensor, int rank) {
  if (tensor.num_elements() != 1) {
    return invalid("split_dim_tensor must have exactly one element, but has shape ",
                   tensor.shape().to_string());
  }
  MR_ASSIGN(const int64_t wanted, read_integer(tensor, "split_dim"));
  return resolve_axis(wanted, rank, "split_dim");
}

Status split(KernelContext& context) {
  const Tensor& value = context.input(1);
  MR_ASSIGN(const int axis, read_split_axis(context.input(0), value.shape().rank()));
  const int64_t dim = value.shape().dim(axis);
  if (dim % context.num_outputs() != 0) {
    return invalid(
        "Number of ways to split should evenly divide the split dimension, but got "
        "split_dim ",
        axis, " (size = ", dim, ") and num_split ", context.num_outputs());
  }
  const std::vector<int64_t> sizes(context.num_outputs(), dim / context.num_outputs());
  return cut(context, value, axis, sizes);
}

// Works out a size of -1; the sizes must add up to `dim`.
Status complete_sizes(std::vector<int64_t>& sizes, int64_t dim) {
  int64_t* open = nullptr;
  int64_t rest = dim;
  for (int64_t& size : sizes) {
    if (size == -1 && open == nullptr) {
      open = &size;
    } else if (size < 0 || size > rest) {
      return invalid("Split size ", size, " does not fit: ", dim, " must be cut into ",
                     sizes.size(), " pieces that add up to it, of which one may be -1");
    } else {
      rest -= size;
    }
  }
  if (open != nullptr) {
    *open = rest;
  } else if (rest != 0) {
    return invalid(
        "Determined shape must either match input shape along split_dim exactly: the "
        "sizes add up to ",
        dim - rest, ", not ", dim);
  }
  return {};
}

Status split_v(KernelContext& context) {
  const Tensor& value = context.input(0);
  MR_ASSIGN(std::vector<int64_t> sizes, read_integers(context.input(1), "size_splits"));
  MR_ASSIGN(const int axis, read_split_axis(context.input(2), value.shape().rank()));
  if (sizes.size() != static_cast<size_t>(context.num_outputs())) {
    return invalid("size_splits has ", sizes.size(), " sizes; num_split is ",
                   context.num_outputs());
  }
  MR_TRY(complete_sizes(sizes, value.shape().dim(axis)));
  return cut(context, value, axis, sizes);
}

// Each output has the shape of `value` but for the axis, which has the size that is known, if any.
Status infer_pieces(InferContext& context, const PartialShape& value, int axis_slot,
                    const std::vector<int64_t>& sizes) {
  if (!value.has_rank()) return {};
  MR_ASSIGN(const auto wanted, constant_integers(context, axis_slot, "split_dim"));
  for (int slot = 0; slot < context.num_outputs(); ++slot) {
    PartialShape piece = PartialShape::of_rank(value.rank());
    if (wanted && wanted->size() == 1) {
      MR_ASSIGN(const int axis, resolve_axis((*wanted)[0], value.rank(), "split_dim"));
      std::vector<int64_t> dims(value.dims().begin(), value.dims().end());
      const bool divides = dims[axis] != kUnknownDim && sizes.empty();
      dims[axis] = divides         ? dims[axis] / context.num_outputs()
                   : sizes.empty() ? kUnknownDim
                                   : std::max(sizes[slot], kUnknownDim);
      MR_ASSIGN(piece, PartialShape::create(dims));
    }
    context.set_output(slot, std::move(piece));
  }
  return {};
}

Status infer_split(InferContext& context) { return infer_pieces(context, context.input(1), 0, {}); }

Status infer_split_v(InferContext& context) {
  MR_ASSIGN(auto sizes, constant_integers(context, 1, "size_splits"));
  const size_t n = static_cast<size_t>(context.num_outputs());
  if (sizes && sizes->size() != n)
    return invalid("size_splits has ", sizes->size(), " sizes; num_split is ", n);
  return infer_pieces(context, context.input(0), 2,
                      sizes ? *sizes : std::vector<int64_t>(n, kUnknownDim));
}

Status register_splits(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Unpack",
      .doc = "The slices of value along axis, without that axis.",
      .signature = "value: T -> output: num*T | num: int >= 0, T: type, axis: int = 0",
      .infer = infer_unpack,
      .cpu = kernel_with(unpack, integer("axis")),
      .grad = grad::unpack,
      .examples = {"[[1 2] [3 4]] -> [1 2], [3 4] | num = 2",
                   "[[1 2] [3 4]] -> [1 3], [2 4] | num = 2, axis = -1"},
  }));
  MR_TRY(ops.add({
      .name = "Split",
      .doc = "value cut along split_dim into num_split pieces of one size.",
      .signature =
          "split_dim: int32, value: T -> output: num_split*T | num_split: int >= 1, T: type",
      .infer = infer_split,
      .cpu = kernel(split),
      .grad = grad::split,
      .examples = {"1, [[1 2] [3 4]] -> [[1] [3]], [[2] [4]] | num_split = 2"},
  }));
  return ops.add({
      .name = "SplitV",
      .doc = "value cut along split_dim into pieces of the given sizes; one of them may be -1.",
      .signature = "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split*T"
                   " | num_split: int >= 1, T: type, Tlen: {int8, int32, int64} = int64",
      .infer = infer_split_v,
      .cpu = kernel(split_v),
      .grad = grad::split_v,
      .examples = {"[1 2 3 4], [1 -1], 0 -> [1], [2 3 4] | num_split = 2"},
  });
}

}  // namespace

Status register_joins(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "ConcatV2",
      .doc = "The values one after another along axis.",
      .signature = "values: N*T, axis: Tidx -> output: T | N: int >= 2, T: type, "
                   "Tidx: {int32, int64} = int32",
      .infer = infer_concat_v2,
      .cpu = kernel(concat_v2),
      .grad = grad::concat_v2,
      .elements = elements_of_concat,
      .examples = {"[[1 2]], [[3 4] [5 6]], 0 -> [[1 2] [3 4] [5 6]]",
                   "[[1] [2]], [[3 4] [5 6]], -1 -> [[1 3 4] [2 5 6]]"},
  }));
  MR_TRY(ops.add({
      .name = "Concat",
      .doc = "The values one after another along concat_dim.",
      .signature = "concat_dim: int32, values: N*T -> output: T | N: int >= 2, T: type",
      .infer = infer_concat_v1,
      .cpu = kernel(concat_v1),
      .grad = grad::concat,
      .examples = {"0, [1 2], [3] -> [1 2 3]"},
  }));
  MR_TRY(ops.add({
      .name = "Pack",
      .doc = "The values, which have one shape, stacked along a new axis.",
      .signature = "values: N*T -> output: T | N: int >= 1, T: type, axis: int = 0",
      .infer = infer_pack,
      .cpu = kernel_with(pack, integer("axis")),
      .grad = grad::pack,
      .elements = elements_of_pack,
      .examples = {"[1 2], [3 4] -> [[1 2] [3 4]]", "[1 2], [3 4] -> [[1 3] [2 4]] | axis = 1"},
  }));
  return register_splits(ops);
}

}  // namespace millrace
