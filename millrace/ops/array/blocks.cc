// Part of families.h: register_blocks.
#include <numeric>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

// A block's size and what is added before and behind (or taken away) along each spatial axis.
struct Blocks {
  std::vector<int64_t> sizes, before, behind;

  int64_t volume() const {
    int64_t all = 1;
    for (const int64_t size : sizes) all *= size;
    return all;
  }
};

// `edges` are the rows of a matrix, one after another.
Result<Blocks> read_blocks(std::vector<int64_t> sizes, std::span<const int64_t> edges, int rank,
                           std::string_view what) {
  if (edges.size() != 2 * sizes.size()) {
    return invalid(what, " should have shape [", sizes.size(), ", 2] instead of ", edges.size() / 2,
                   " rows");
  }
  if (rank < static_cast<int>(sizes.size()) + 1) {
    return invalid("input rank should be >= ", sizes.size() + 1, " instead of ", rank);
  }
  Blocks blocks{std::move(sizes), {}, {}};
  for (size_t i = 0; i < blocks.sizes.size(); ++i) {
    if (blocks.sizes[i] < 1)
      return invalid("All values in block_shape must be positive, got value, ", blocks.sizes[i],
                     " at index, ", i, ".");
    if (edges[2 * i] < 0 || edges[2 * i + 1] < 0)
      return invalid(what, " must be non-negative: ", edges[2 * i], " ", edges[2 * i + 1]);
    blocks.before.push_back(edges[2 * i]);
    blocks.behind.push_back(edges[2 * i + 1]);
  }
  int64_t volume = 1;
  for (const int64_t size : blocks.sizes) {
    if (__builtin_mul_overflow(volume, size, &volume))
      return invalid("Product of block sizes overflows int64");
  }
  return blocks;
}

Result<std::vector<int64_t>> edge_rows(const Tensor& edges, std::string_view what) {
  const Shape& shape = edges.shape();
  if (shape.rank() != 2 || shape.dim(1) != 2)
    return invalid(what, " should have shape [n, 2] instead of ", shape.to_string());
  return read_elements(edges, what);
}

// --- SpaceToBatch ---

Result<PartialShape> to_batch_shape(const PartialShape& input, const Blocks& blocks) {
  std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
  int64_t& batch = dims[0];
  if (batch != kUnknownDim && __builtin_mul_overflow(batch, blocks.volume(), &batch))
    return invalid("the batch of ", input.to_string(), " times the blocks overflows int64");
  for (size_t i = 0; i < blocks.sizes.size(); ++i) {
    int64_t& dim = dims[i + 1];
    if (dim == kUnknownDim) continue;
    if (__builtin_add_overflow(dim, blocks.before[i], &dim) ||
        __builtin_add_overflow(dim, blocks.behind[i], &dim))
      return invalid("padded axis ", i + 1, " would be longer than 2^63 - 1");
    if (dim % blocks.sizes[i] != 0) {
      return invalid("padded_shape[", i, "]=", dim, " is not divisible by block_shape[", i,
                     "]=", blocks.sizes[i]);
    }
    dim /= blocks.sizes[i];
  }
  return PartialShape::create(dims);
}

// The tensor with zeros around it.
Result<Tensor> padded(const Tensor& input, const Blocks& blocks, CancelProbe probe) {
  std::vector<int64_t> dims(input.shape().dims().begin(), input.shape().dims().end());
  for (size_t i = 0; i < blocks.sizes.size(); ++i)
    dims[i + 1] += blocks.before[i] + blocks.behind[i];
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  if (shape == input.shape()) return input;
  MR_ASSIGN(Tensor made, Tensor::zeros(input.dtype(), shape));
  const Strides from = row_major_strides(input.shape()), to = row_major_strides(shape);
  int64_t begin = 0;
  for (size_t i = 0; i < blocks.sizes.size(); ++i) begin += blocks.before[i] * to[i + 1];
  MR_TRY(copy_box(input.shape().dims(), input, {0, from}, made, {begin, to}, probe));
  return made;
}

Result<Tensor> space_to_batch(const Tensor& input, const Blocks& blocks, CancelProbe probe) {
  MR_ASSIGN(const PartialShape known, to_batch_shape(input.shape(), blocks));
  const Shape shape = *known.to_shape();
  MR_ASSIGN(const Tensor from, padded(input, blocks, probe));
  // Walked as blocks first, then the batch, then what is left of each axis.
  const Strides own = row_major_strides(from.shape());
  const size_t count = blocks.sizes.size();
  std::vector<int64_t> dims(blocks.sizes.begin(), blocks.sizes.end());
  std::vector<int64_t> strides;
  for (size_t i = 0; i < count; ++i) strides.push_back(own[i + 1]);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool is_spatial = axis >= 1 && axis <= static_cast<int>(count);
    dims.push_back(axis == 0 ? from.shape().dim(0) : shape.dim(axis));
    strides.push_back(own[axis] * (is_spatial ? blocks.sizes[static_cast<size_t>(axis) - 1] : 1));
  }
  MR_ASSIGN(const Shape box, Shape::create(dims));
  MR_ASSIGN(const Tensor made, copied_box(box, from, {0, strides}, probe));
  return made.reshaped(shape);
}

// --- BatchToSpace ---

Result<PartialShape> to_space_shape(const PartialShape& input, const Blocks& blocks) {
  std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
  if (dims[0] != kUnknownDim) {
    if (dims[0] % blocks.volume() != 0) {
      return invalid("Input batch dimension (", dims[0],
                     ") is not divisible by product of block sizes (", blocks.volume(), ")");
    }
    dims[0] /= blocks.volume();
  }
  for (size_t i = 0; i < blocks.sizes.size(); ++i) {
    int64_t& dim = dims[i + 1];
    if (dim == kUnknownDim) continue;
    int64_t cropped = 0;
    if (__builtin_mul_overflow(dim, blocks.sizes[i], &dim) ||
        __builtin_add_overflow(blocks.before[i], blocks.behind[i], &cropped))
      return invalid("axis ", i + 1, " would be longer than 2^63 - 1");
    if (cropped > dim) {
      return invalid("cropped_shape[", i, "]=", dim - cropped, " must be non-negative");
    }
    dim -= cropped;
  }
  return PartialShape::create(dims);
}

Result<Tensor> batch_to_space(const Tensor& input, const Blocks& blocks, CancelProbe probe) {
  MR_ASSIGN(const PartialShape known, to_space_shape(input.shape(), blocks));
  const Shape shape = *known.to_shape();
  const size_t count = blocks.sizes.size();
  // The input as blocks, batch and axes; walked as the batch, each axis with its block, the rest.
  std::vector<int64_t> split(blocks.sizes.begin(), blocks.sizes.end());
  split.push_back(shape.dim(0));
  const std::span<const int64_t> rest = input.shape().dims().subspan(1);
  split.insert(split.end(), rest.begin(), rest.end());
  const Strides own = row_major_strides(split);
  std::vector<int64_t> dims = {shape.dim(0)}, strides = {own[count]}, whole = {shape.dim(0)};
  for (size_t i = 0; i < rest.size(); ++i) {
    dims.push_back(rest[i]);
    strides.push_back(own[count + 1 + i]);
    whole.push_back(rest[i]);
    if (i >= count) continue;
    dims.push_back(blocks.sizes[i]);
    strides.push_back(own[i]);
    whole.back() *= blocks.sizes[i];
  }
  MR_ASSIGN(const Shape box, Shape::create(dims));
  MR_ASSIGN(const Tensor boxed, copied_box(box, input, {0, strides}, probe));
  MR_ASSIGN(const Shape uncropped, Shape::create(whole));
  MR_ASSIGN(const Tensor made, boxed.reshaped(uncropped));
  if (uncropped == shape) return made;
  const Strides from = row_major_strides(uncropped);
  int64_t begin = 0;
  for (size_t i = 0; i < count; ++i) begin += blocks.before[i] * from[i + 1];
  if (shape.num_elements() == 0) begin = 0;
  return copied_box(shape, made, {begin, from}, probe);
}

// --- kernels of both forms: blocks as an input, or the same along both axes of an image ---

using Rearrange = Result<Tensor> (*)(const Tensor&, const Blocks&, CancelProbe);
using RearrangedShape = Result<PartialShape> (*)(const PartialShape&, const Blocks&);

Status check_block_shape(const Tensor& blocks) {
  if (blocks.shape().rank() == 1) return {};
  return invalid("block_shape rank should be 1 instead of ", blocks.shape().rank());
}

Result<Tensor> rearrange_nd(KernelContext& context, Rearrange rearrange, std::string_view what) {
  const Tensor& input = context.input(0);
  MR_TRY(check_block_shape(context.input(1)));
  MR_ASSIGN(std::vector<int64_t> sizes, read_integers(context.input(1), "block_shape"));
  MR_ASSIGN(const std::vector<int64_t> edges, edge_rows(context.input(2), what));
  MR_ASSIGN(const Blocks blocks, read_blocks(std::move(sizes), edges, input.shape().rank(), what));
  return rearrange(input, blocks, CancelProbe(context));
}

Result<Tensor> rearrange_image(KernelContext& context, Rearrange rearrange, std::string_view what,
                               int64_t size) {
  const Tensor& input = context.input(0);
  if (input.shape().rank() != 4)
    return invalid("Input rank should be 4, instead of ", input.shape().rank());
  MR_ASSIGN(const std::vector<int64_t> edges, edge_rows(context.input(1), what));
  MR_ASSIGN(const Blocks blocks, read_blocks({size, size}, edges, 4, what));
  return rearrange(input, blocks, CancelProbe(context));
}

Status infer_rearranged(InferContext& context, RearrangedShape shape_of, std::string_view what) {
  const bool is_image = context.num_inputs() == 2;
  std::optional<std::vector<int64_t>> sizes;
  if (is_image) {
    MR_TRY(context.input_of_rank(0, 4));
    MR_ASSIGN(const int64_t size, context.attrs().integer("block_size"));
    sizes = {size, size};
  } else {
    MR_TRY(context.input_of_rank(1, 1));
    MR_ASSIGN(sizes, constant_integers(context, 1, "block_shape"));
  }
  const PartialShape& input = context.input(0);
  const Tensor* edges = context.constant(is_image ? 1 : 2);
  if (!input.has_rank()) return {};
  if (!sizes || edges == nullptr) {
    context.set_output(0, PartialShape::of_rank(input.rank()));
    return {};
  }
  MR_ASSIGN(const std::vector<int64_t> rows, edge_rows(*edges, what));
  MR_ASSIGN(const Blocks blocks, read_blocks(*std::move(sizes), rows, input.rank(), what));
  return context.set_output(0, shape_of(input, blocks));
}

Status infer_to_batch(InferContext& context) {
  return infer_rearranged(context, to_batch_shape, "paddings");
}
Status infer_to_space(InferContext& context) {
  return infer_rearranged(context, to_space_shape, "crops");
}

}  // namespace

Status register_blocks(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "SpaceToBatchND",
      .doc = "The input, padded with zeros, with its blocks taken apart: element (i…) of each "
             "block goes to a batch of its own.",
      .signature = "input: T, block_shape: Tblock_shape, paddings: Tpaddings -> output: T | "
                   "T: type, Tblock_shape: {int32, int64} = int32, "
                   "Tpaddings: {int32, int64} = int32",
      .infer = infer_to_batch,
      .cpu = kernel_with(
          [](KernelContext& context) { return rearrange_nd(context, space_to_batch, "paddings"); }),
      .grad = grad::space_to_batch_nd,
      .examples = {"[[1 2 3 4]], [2], [[0 0]] -> [[1 3] [2 4]]",
                   "[[1 1]], [3], [[1 0]] -> [[0] [1] [1]] | T = float",
                   "[[[1 2] [3 4]]], [2 1], [[0 0] [0 0]] -> [[[1 2]] [[3 4]]]"},
  }));
  MR_TRY(ops.add({
      .name = "BatchToSpaceND",
      .doc = "The inverse of SpaceToBatchND: batches woven into blocks, then cropped.",
      .signature = "input: T, block_shape: Tblock_shape, crops: Tcrops -> output: T | T: type, "
                   "Tblock_shape: {int32, int64} = int32, Tcrops: {int32, int64} = int32",
      .infer = infer_to_space,
      .cpu = kernel_with(
          [](KernelContext& context) { return rearrange_nd(context, batch_to_space, "crops"); }),
      .grad = grad::batch_to_space_nd,
      .examples = {"[[1 3] [2 4]], [2], [[0 0]] -> [[1 2 3 4]]",
                   "[[1 3] [2 4]], [2], [[1 0]] -> [[2 3 4]]",
                   "[[1] [2]], [2], [[1 1]] | T = float"},
  }));
  MR_TRY(ops.add({
      .name = "SpaceToBatch",
      .doc = "SpaceToBatchND of images, with square blocks.",
      .signature = "input: T, paddings: Tpaddings -> output: T | T: type, "
                   "Tpaddings: {int32, int64} = int32, block_size: int >= 2",
      .infer = infer_to_batch,
      .cpu = kernel_with(
          [](KernelContext& context, int64_t size) {
            return rearrange_image(context, space_to_batch, "paddings", size);
          },
          integer("block_size")),
      .grad = grad::space_to_batch,
      .examples = {"[[[[1] [2]] [[3] [4]]]], [[0 0] [0 0]] -> [[[[1]]] [[[2]]] [[[3]]] [[[4]]]] | "
                   "block_size = 2"},
  }));
  return ops.add({
      .name = "BatchToSpace",
      .doc = "BatchToSpaceND of images, with square blocks.",
      .signature = "input: T, crops: Tidx -> output: T | T: type, block_size: int >= 2, "
                   "Tidx: {int32, int64} = int32",
      .infer = infer_to_space,
      .cpu = kernel_with(
          [](KernelContext& context, int64_t size) {
            return rearrange_image(context, batch_to_space, "crops", size);
          },
          integer("block_size")),
      .grad = grad::batch_to_space,
      .examples = {"[[[[1]]] [[[2]]] [[[3]]] [[[4]]]], [[0 0] [0 0]] -> [[[[1] [2]] [[3] [4]]]] | "
                   "block_size = 2"},
  });
}

}  // namespace millrace
