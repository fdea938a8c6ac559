// Part of families.h: register_broadcasts.
#include <algorithm>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/indices.h"

namespace millrace {
namespace {

using Dims = std::vector<int64_t>;

struct ShapePair {
  Dims a, b;                  // of one rank: the shorter one has ones in front
  bool are_the_same = false;  // as they were given

  static Result<ShapePair> read(KernelContext& context) {
    for (int slot = 0; slot < 2; ++slot) {
      if (context.input(slot).shape().rank() == 1) continue;
      return invalid("In[", slot, "] must be a vector.", context.input(slot).shape().to_string());
    }
    ShapePair pair;
    MR_ASSIGN(pair.a, read_integers(context.input(0), "s0"));
    MR_ASSIGN(pair.b, read_integers(context.input(1), "s1"));
    pair.are_the_same = pair.a == pair.b;
    const Dims a = pair.a, b = pair.b;
    const size_t rank = std::max(a.size(), b.size());
    pair.a.insert(pair.a.begin(), rank - a.size(), 1);
    pair.b.insert(pair.b.begin(), rank - b.size(), 1);
    for (size_t axis = 0; axis < rank; ++axis) {
      if (pair.a[axis] == pair.b[axis] || pair.a[axis] == 1 || pair.b[axis] == 1) continue;
      return invalid("Incompatible shapes: ", index_text(a), " vs. ", index_text(b));
    }
    return pair;
  }
};

Status set_vector(KernelContext& context, int slot, const Dims& values) {
  MR_ASSIGN(Tensor made, integer_tensor(context.output_dtype(slot),
                                        {static_cast<int64_t>(values.size())}, values));
  context.set_output(slot, std::move(made));
  return {};
}

Status broadcast_shape(KernelContext& context) {
  MR_ASSIGN(const ShapePair pair, ShapePair::read(context));
  Dims result = pair.a;
  for (size_t axis = 0; axis < result.size(); ++axis) {
    if (result[axis] == 1) result[axis] = pair.b[axis];
  }
  return set_vector(context, 0, result);
}

Status summed_axes(KernelContext& context) {
  MR_ASSIGN(const ShapePair pair, ShapePair::read(context));
  Dims of_a, of_b;
  for (size_t axis = 0; axis < pair.a.size() && !pair.are_the_same; ++axis) {
    if (pair.a[axis] == 1) of_a.push_back(static_cast<int64_t>(axis));
    if (pair.b[axis] == 1) of_b.push_back(static_cast<int64_t>(axis));
  }
  MR_TRY(set_vector(context, 0, of_a));
  return set_vector(context, 1, of_b);
}

// "[2 3]", as ConcatOffset's messages have it.
std::string spaced(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) str_append(&text, i == 0 ? "" : " ", dims[i]);
  return text + "]";
}

// Input 0 is the axis, each other input the shape of a piece.
Status piece_offsets(KernelContext& context) {
  MR_ASSIGN(const int64_t wanted, read_integer(context.input(0), "concat_dim"));
  int64_t offset = 0;
  Dims first;
  for (int slot = 1; slot < context.num_inputs(); ++slot) {
    if (context.input(slot).shape().rank() != 1) {
      return invalid("input ", slot, " should be a vector, but got shape ",
                     context.input(slot).shape().to_string());
    }
    MR_ASSIGN(const Dims dims, read_integers(context.input(slot), "shape"));
    if (slot == 1) first = dims;
    const int rank = static_cast<int>(first.size());
    if (wanted < -rank || wanted >= rank) {
      return invalid("Concat dim is out of range: ", wanted, " vs. ", rank,
                     ", which is the rank of the pieces");
    }
    const int axis = static_cast<int>(wanted < 0 ? wanted + rank : wanted);
    if (dims.size() != first.size()) {
      return invalid("input ", slot, " should contain ", rank,
                     " elements, as input 1 does, but got ", spaced(dims));
    }
    for (int i = 0; i < rank; ++i) {
      if (i == axis || dims[i] == first[i]) continue;
      return invalid("All dimensions except ", axis, " must match. Input ", slot - 1, " has shape ",
                     spaced(dims), " and doesn't match input 0 with shape ", spaced(first), ".");
    }
    Dims begin(first.size(), 0);
    begin[axis] = offset;
    MR_TRY(set_vector(context, slot - 1, begin));
    if (__builtin_add_overflow(offset, dims[axis], &offset))
      return invalid("the sum of the pieces' dimensions ", axis, " does not fit int64");
  }
  return {};
}

Status infer_vectors(InferContext& context) {
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    context.set_output(slot, PartialShape::of_rank(1));
  return {};
}

Status infer_offsets(InferContext& context) {
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    context.set_output(slot, context.input(slot + 1));
  return {};
}

}  // namespace

Status register_broadcasts(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "BroadcastArgs",
      .doc = "The shape that two shapes broadcast to.",
      .signature = "s0: T, s1: T -> r0: T | T: {int32, int64} = int32",
      .infer = infer_vectors,
      .cpu = kernel(broadcast_shape),
      .not_differentiable = "its result is a shape or an index",
      .cost = Cost::cheap,
      .examples = {"[2 1], [3] -> [2 3]", "[0], [1] -> [0]"},
  }));
  MR_TRY(ops.add({
      .name = "BroadcastGradientArgs",
      .doc =
          "The axes along which the gradient of a broadcast result is summed for each of the two "
          "that were broadcast.",
      .signature = "s0: T, s1: T -> r0: T, r1: T | T: {int32, int64} = int32",
      .infer = infer_vectors,
      .cpu = kernel(summed_axes),
      .not_differentiable = "its result is a shape or an index",
      .cost = Cost::cheap,
      .examples = {"[2 1 3], [1 3] -> [1], [0 1]", "[2 1], [2 1] -> [], []", "[1], [] -> [0], [0]"},
  }));
  return ops.add({
      .name = "ConcatOffset",
      .doc = "Where each of the pieces of the given shapes begins in their concatenation.",
      .signature = "concat_dim: int32, shape: N*shape_type -> offset: N*shape_type | N: int >= 2, "
                   "shape_type: {int32, int64} = int32",
      .infer = infer_offsets,
      .cpu = kernel(piece_offsets),
      .not_differentiable = "its result is a shape or an index",
      .cost = Cost::cheap,
      .examples = {"1, [2 3], [2 4] -> [0 0], [0 3] | N = 2",
                   "-1, [2], [3], [4] -> [0], [2], [5] | N = 3"},
  });
}

}  // namespace millrace
