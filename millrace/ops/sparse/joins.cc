// Part of families.h: register_sparse_joins.
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

// --- SparseConcat ---

Result<std::vector<SparseInput>> read_all_sparse(KernelContext& context) {
  const int number = context.num_inputs() / 3;
  std::vector<SparseInput> all;
  for (int i = 0; i < number; ++i) {
    MR_ASSIGN(SparseInput in, read_sparse(context.input(i), context.input(number + i),
                                          context.input(2 * number + i), Places::anywhere));
    all.push_back(std::move(in));
  }
  return all;
}

// The dims of the whole: those of the first, but along `axis` the sum.
Result<std::vector<int64_t>> joined_dims(std::span<const SparseInput> all, size_t axis) {
  std::vector<int64_t> dims = all[0].dims;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].rank != dims.size()) {
      return invalid("Ranks of all input tensors must match: expected ", dims.size(), " but got ",
                     all[i].rank, " at position ", i);
    }
    for (size_t j = 0; j < dims.size(); ++j) {
      if (j == axis) {
        if (__builtin_add_overflow(dims[j], all[i].dims[j], &dims[j])) {
          return invalid("the sizes along dimension ", j,
                         " add up to more than 2^63 - 1 at position ", i);
        }
      } else if (dims[j] != all[i].dims[j]) {
        return invalid("Input shapes must match: expected ", dims[j], " for dimension ", j,
                       " but got ", all[i].dims[j], " at position ", i);
      }
    }
  }
  return dims;
}

Status concat_sparse(KernelContext& context, int64_t concat_dim) {
  MR_ASSIGN(const std::vector<SparseInput> all, read_all_sparse(context));
  const auto rank = static_cast<int64_t>(all[0].rank);
  const int64_t axis = concat_dim < 0 ? concat_dim + rank : concat_dim;
  if (axis < 0 || axis >= rank) {
    return invalid("Concat dimension must be in range [", -rank, ", ", rank, "), got ", concat_dim);
  }
  MR_ASSIGN(const std::vector<int64_t> dims, joined_dims(all, static_cast<size_t>(axis)));
  int64_t number = 0;
  for (const SparseInput& in : all) number += in.number;
  MR_ASSIGN(Tensor places, Tensor::allocate(DType::i64, {number, rank}));
  MR_ASSIGN(Tensor values, Tensor::allocate(all[0].values.dtype(), {number}));
  const auto size = static_cast<int64_t>(dtype_size(values.dtype()));
  int64_t* to = places.mutable_flat<int64_t>().data();
  int64_t at = 0;
  uint64_t before = 0;  // of the axis, in the inputs that came before
  for (const SparseInput& in : all) {
    copy_elements(values.dtype(), in.values.data(),
                  static_cast<char*>(values.mutable_data()) + at * size, in.number);
    std::ranges::copy(in.indices.flat<int64_t>(), to);
    // Places outside of the shape may be any number: they wrap around.
    for (int64_t i = 0; i < in.number; ++i, to += rank)
      to[axis] = static_cast<int64_t>(static_cast<uint64_t>(to[axis]) + before);
    at += in.number;
    before += static_cast<uint64_t>(in.dims[static_cast<size_t>(axis)]);
  }
  if (!is_row_major(places)) {
    const std::vector<int64_t> order = row_major_order(places);
    MR_ASSIGN(places, picked_rows(places, order));
    MR_ASSIGN(values, picked_rows(values, order));
  }
  context.set_output(0, std::move(places));
  context.set_output(1, std::move(values));
  context.set_output(2, Tensor::vector<int64_t>(dims));
  return {};
}

Status infer_concat_sparse(InferContext& context) {
  const int number = context.num_inputs() / 3;
  int64_t elements = 0, rank = kUnknownDim;
  for (int i = 0; i < number; ++i) {
    MR_ASSIGN(const PartialShape indices, context.input_of_rank(i, 2));
    MR_TRY(context.input_of_rank(number + i, 1));
    MR_ASSIGN(const PartialShape shape, context.input_of_rank(2 * number + i, 1));
    const int64_t here = indices.has_rank() ? indices.dim(0) : kUnknownDim;
    const bool are_known = here >= 0 && elements >= 0;
    if (!are_known || __builtin_add_overflow(elements, here, &elements)) elements = kUnknownDim;
    if (indices.has_rank() && indices.dim(1) != kUnknownDim) rank = indices.dim(1);
    if (shape.has_rank() && shape.dim(0) != kUnknownDim) rank = shape.dim(0);
  }
  return set_sparse(context, elements, rank);
}

// --- SparseSplit ---

// The parts of an axis: the first ones have one more where they can't be alike.
struct AxisParts {
  int64_t size = 0, longer = 0;

  int64_t begin(int64_t part) const { return part * size + std::min(part, longer); }
  int64_t length(int64_t part) const { return size + (part < longer ? 1 : 0); }
  int64_t part_of(int64_t index) const {
    if (longer == 0) return index / size;  // which one more could run over
    const int64_t in_longer = longer * (size + 1);
    return index < in_longer ? index / (size + 1) : longer + (index - in_longer) / size;
  }
};

Status split_sparse(KernelContext& context, int64_t num_split) {
  const Tensor& split_dim = context.input(0);
  if (!split_dim.shape().is_scalar()) {
    return invalid("Input axis should be a scalar but received shape ",
                   split_dim.shape().to_string());
  }
  MR_ASSIGN(const SparseInput in, read_sparse(context, 1, Places::inside));
  const auto rank = static_cast<int64_t>(in.rank);
  const int64_t said = split_dim.item<int64_t>();
  const int64_t axis = said < 0 ? said + rank : said;
  if (axis < 0 || axis >= rank) {
    return invalid("Input axis should be in range [", -rank, ", ", rank, "), got ", said);
  }
  const int64_t length = in.dims[static_cast<size_t>(axis)];
  if (num_split < 1 || num_split > length) {
    return invalid("Input num_split should be between 1 and the splitting dimension size (", length,
                   "), got ", num_split);
  }
  const AxisParts parts{length / num_split, length % num_split};
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(num_split));
  CancelProbe probe(context);
  for (int64_t i = 0; i < in.number; ++i) {
    const int64_t part = parts.part_of(in.place(i)[static_cast<size_t>(axis)]);
    rows[static_cast<size_t>(part)].push_back(i);
    if (!probe.go_on(1)) return probe.status();
  }
  for (int64_t part = 0; part < num_split; ++part) {
    const auto& mine = rows[static_cast<size_t>(part)];
    const auto slot = static_cast<int>(part), number = static_cast<int>(num_split);
    MR_ASSIGN(Tensor places, picked_rows(in.indices, mine));
    int64_t* index = places.mutable_flat<int64_t>().data();
    for (size_t i = 0; i < mine.size(); ++i, index += rank) index[axis] -= parts.begin(part);
    context.set_output(slot, std::move(places));
    MR_TRY(context.set_output(number + slot, picked_rows(in.values, mine)));
    std::vector<int64_t> dims = in.dims;
    dims[static_cast<size_t>(axis)] = parts.length(part);
    context.set_output(2 * number + slot, Tensor::vector<int64_t>(dims));
  }
  return {};
}

Status infer_split_sparse(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 0).with("axis should be a scalar"));
  MR_TRY(infer_sparse(context, 1));
  const int64_t rank = sparse_rank(context, 1);
  const int number = context.num_outputs() / 3;
  for (int i = 0; i < number; ++i) {
    context.set_output(i, PartialShape{kUnknownDim, rank});
    context.set_output(number + i, PartialShape::of_rank(1));
    context.set_output(2 * number + i, PartialShape{rank});
  }
  return {};
}

}  // namespace

Status register_sparse_joins(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "SparseConcat",
      .doc = "Sparse tensors one behind the other along an axis, in row-major order.",
      .signature = "indices: N*int64, values: N*T, shapes: N*int64 -> output_indices: int64, "
                   "output_values: T, output_shape: int64 | concat_dim: int, N: int >= 2, T: type",
      .infer = infer_concat_sparse,
      .cpu = kernel_with(concat_sparse, integer("concat_dim")),
      .not_differentiable = "as in TensorFlow, nothing flows back: its outputs do not tell which "
                            "input an element came from",
      .examples = {"[[0 2] [1 0]], [[0 1] [1 1]], [1 0], [0 1], [2 3], [2 2] -> "
                   "[[0 2] [0 4] [1 0] [1 4]], [1 0 0 1], [2 5] | concat_dim = 1, N = 2"},
  }));
  return ops.add({
      .name = "SparseSplit",
      .doc = "Parts of a sparse tensor along an axis; the first ones are longer by one where they "
             "can't be alike.",
      .signature = "split_dim: int64, indices: int64, values: T, shape: int64 -> "
                   "output_indices: num_split*int64, output_values: num_split*T, "
                   "output_shape: num_split*int64 | num_split: int >= 1, T: type",
      .infer = infer_split_sparse,
      .cpu = kernel_with(split_sparse, integer("num_split")),
      .not_differentiable = "TensorFlow has no gradient for it either",
      .examples = {"1, [[0 1] [1 0] [1 2]], [1 0 1], [2 3] -> [[0 1] [1 0]], [[1 0]], [1 0], [1], "
                   "[2 2], [2 1] | num_split = 2"},
  });
}

}  // namespace millrace
