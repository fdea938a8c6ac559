// Part of gradients.h: of putting tensors together, taking them apart, and picking from them.
#include "millrace/ops/array/gradients.h"

namespace millrace::grad {
namespace {

// Inputs [first, first + count) are the pieces; `axis` is along which.
Status pieces_of(GradContext& g, int first, int count, Endpoint axis) {
  std::vector<Endpoint> pieces;
  for (int i = 0; i < count; ++i) pieces.push_back(g.input(first + i));
  if (g.dtype(axis) != DType::i32) axis = g.add("Cast", {axis}, {{"DstT", DType::i32}});
  const auto number = static_cast<int64_t>(count);
  const Endpoint shapes = g.add("ShapeN", pieces, {{"N", number}});
  std::vector<Endpoint> arguments = {axis};
  for (int i = 0; i < count; ++i) arguments.push_back({shapes.node, i});
  const Endpoint offsets = g.add("ConcatOffset", arguments, {{"N", number}});
  for (int i = 0; i < count; ++i) {
    if (!g.is_needed(first + i)) continue;
    g.set_input_grad(first + i, g.add("Slice", {g.grad(), {offsets.node, i}, {shapes.node, i}}));
  }
  return {};
}

std::vector<Endpoint> all_grads(GradContext& g) {
  std::vector<Endpoint> grads;
  for (int slot = 0; slot < g.num_outputs(); ++slot) grads.push_back(g.grad(slot));
  return grads;
}

// What arrives at the pieces, one after another.
Endpoint joined(GradContext& g, Endpoint axis) {
  std::vector<Endpoint> grads = all_grads(g);
  if (grads.size() == 1) return grads.front();
  const auto number = static_cast<int64_t>(grads.size());
  grads.push_back(axis);
  return g.add("ConcatV2", grads, {{"N", number}});
}

// Rows of params, as slices of its gradient.
Status gathered_rows(GradContext& g) {
  const Endpoint params = g.input(0);
  Endpoint indices = g.input(1);
  if (g.dtype(indices) != DType::i32 && g.dtype(indices) != DType::i64)
    indices = g.add("Cast", {indices}, {{"DstT", DType::i32}});
  const Endpoint shape = g.shape_node(params);
  Endpoint values = g.grad();
  if (g.shape(indices).rank() != 1) {
    const Endpoint minus_one = g.vector({-1}), one = g.vector({1});
    const Endpoint row = g.add("StridedSlice", {shape, one, one, one}, {{"end_mask", int64_t{1}}});
    Endpoint all = minus_one;
    if (g.dtype(shape) != DType::i32) all = g.add("Cast", {all}, {{"DstT", g.dtype(shape)}});
    values = g.add("Reshape", {values, g.add("ConcatV2", {all, row, g.scalar(DType::i32, 0)},
                                             {{"N", int64_t{2}}})});
    indices = g.add("Reshape", {indices, minus_one});
  }
  g.set_input_grad(0, IndexedSlices{values, indices, shape});
  return {};
}

}  // namespace

Status concat(GradContext& g) { return pieces_of(g, 1, g.num_inputs() - 1, g.input(0)); }
Status concat_v2(GradContext& g) {
  const int count = g.num_inputs() - 1;
  return pieces_of(g, 0, count, g.input(count));
}

Status split(GradContext& g) {
  g.set_input_grad(1, joined(g, g.input(0)));
  return {};
}
Status split_v(GradContext& g) {
  g.set_input_grad(0, joined(g, g.input(2)));
  return {};
}

Status pack(GradContext& g) {
  MR_ASSIGN(const int64_t axis, g.attrs().integer("axis"));
  const int count = g.num_inputs();
  const Endpoint rows =
      g.add("Unpack", {g.grad()}, {{"num", static_cast<int64_t>(count)}, {"axis", axis}});
  for (int i = 0; i < count; ++i) g.set_input_grad(i, Endpoint{rows.node, i});
  return {};
}

Status unpack(GradContext& g) {
  MR_ASSIGN(const int64_t axis, g.attrs().integer("axis"));
  const std::vector<Endpoint> grads = all_grads(g);
  g.set_input_grad(
      0, g.add("Pack", grads, {{"N", static_cast<int64_t>(grads.size())}, {"axis", axis}}));
  return {};
}

Status gather(GradContext& g) { return gathered_rows(g); }

namespace {

// Dims [begin, end) of a shape.
Endpoint some_dims(GradContext& g, Endpoint shape, int64_t begin, int64_t end) {
  return g.add("Slice", {shape, g.vector({begin}), g.vector({end - begin})});
}

Endpoint one_after_another(GradContext& g, const std::vector<Endpoint>& vectors) {
  std::vector<Endpoint> inputs = vectors;
  inputs.push_back(g.scalar(DType::i32, 0));
  return g.add("ConcatV2", inputs, {{"N", static_cast<int64_t>(vectors.size())}});
}

// The first `batch` axes of params and indices go together: as one long axis of rows, each batch
// with rows of its own, what arrives is summed by row.
Status gathered_in_batches(GradContext& g, int64_t axis, int64_t batch) {
  const int64_t rank = g.shape(g.input(0)).rank(), index_rank = g.shape(g.input(1)).rank();
  const Endpoint zero = g.scalar(DType::i32, 0), one = g.scalar(DType::i32, 1);
  const Endpoint shape = g.add("Shape", {g.input(0)}), index_shape = g.add("Shape", {g.input(1)});
  Endpoint indices = g.input(1);
  if (g.dtype(indices) != DType::i32) indices = g.add("Cast", {indices}, {{"DstT", DType::i32}});
  // Arriving axes: batch, those between it and `axis`, those of the indices, the rest.
  const int64_t picked = index_rank - batch;
  std::vector<int64_t> front, back;
  for (int64_t i = 0; i < batch; ++i) front.push_back(i);
  for (int64_t i = 0; i < picked; ++i) front.push_back(axis + i);
  for (int64_t i = batch; i < axis; ++i) front.push_back(i);
  for (int64_t i = axis + picked; i < rank + picked - 1; ++i) front.push_back(i);
  for (int64_t i = 0; i < rank; ++i)
    back.push_back(i < batch || i > axis ? i : i == axis ? batch : i + 1);
  const Endpoint rest =
      one_after_another(g, {some_dims(g, shape, batch, axis), some_dims(g, shape, axis + 1, rank)});
  const Endpoint length = some_dims(g, shape, axis, axis + 1);
  const Endpoint batches = g.add("Prod", {some_dims(g, shape, 0, batch), zero});
  const Endpoint each = g.add("Prod", {some_dims(g, index_shape, batch, index_rank), zero});
  const Endpoint first = g.add("Mul", {g.add("Range", {zero, batches, one}), length});
  const auto pair = [&](Endpoint a, Endpoint b) {
    return g.add("Pack", {a, b}, {{"axis", int64_t{0}}});
  };
  const Endpoint ids = g.add("AddV2", {g.add("Reshape", {indices, pair(batches, each)}),
                                       g.add("Reshape", {first, pair(batches, one)})});
  const Endpoint all_ids = g.add("Reshape", {ids, g.vector({-1})});
  const Endpoint number = g.add("Reshape", {g.add("Size", {all_ids}), g.vector({1})});
  const Endpoint values = g.add("Reshape", {g.add("Transpose", {g.grad(), g.vector(front)}),
                                            one_after_another(g, {number, rest})});
  const Endpoint rows =
      g.add("Reshape", {g.add("Mul", {batches, length}), g.vector(std::span<const int64_t>())});
  const Endpoint sums = g.add("UnsortedSegmentSum", {values, all_ids, rows});
  const Endpoint whole =
      g.add("Reshape", {sums, one_after_another(g, {some_dims(g, shape, 0, batch), length, rest})});
  g.set_input_grad(0, g.add("Transpose", {whole, g.vector(back)}));
  return {};
}

}  // namespace

// Along another axis than the first, that axis is brought to the front and back.
Status gather_v2(GradContext& g) {
  MR_ASSIGN(int64_t batch_dims, g.attrs().integer("batch_dims"));
  const std::optional<Tensor> known = g.constant(g.input(2));
  const int rank = g.shape(g.input(0)).rank(), index_rank = g.shape(g.input(1)).rank();
  if (!known || known->num_elements() != 1)
    return unimplemented("a gather along an axis that is not known");
  if (batch_dims != 0 && (rank < 0 || index_rank < 0))
    return unimplemented("a gather with batch_dims ", batch_dims,
                         " of tensors whose rank is not known");
  if (batch_dims < 0) batch_dims += index_rank;
  int64_t axis =
      known->dtype() == DType::i64 ? known->flat<int64_t>()[0] : known->flat<int32_t>()[0];
  if (axis < 0 && rank >= 0) axis += rank;
  if (batch_dims > 0) return gathered_in_batches(g, axis, batch_dims);
  if (axis == 0) return gathered_rows(g);
  if (rank < 0 || index_rank < 0 || axis < 0)
    return unimplemented("a gather along axis ", axis, " of a tensor whose rank is not known");
  // Arriving axes: `axis` ones of params, those of the indices, the rest of params.
  std::vector<int64_t> front, back;
  for (int64_t i = 0; i < index_rank; ++i) front.push_back(axis + i);
  for (int64_t i = 0; i < rank + index_rank - 1; ++i)
    if (i < axis || i >= axis + index_rank) front.push_back(i);
  for (int64_t i = 0; i < rank; ++i) back.push_back(i < axis ? i + 1 : i == axis ? 0 : i);
  const Endpoint at = g.scalar(DType::i32, static_cast<double>(axis));
  const Endpoint rows =
      g.add("GatherV2", {g.add("Shape", {g.input(0)}), at, g.scalar(DType::i32, 0)});
  const Endpoint sums = g.add("UnsortedSegmentSum",
                              {g.add("Transpose", {g.grad(), g.vector(front)}), g.input(1), rows});
  g.set_input_grad(0, g.add("Transpose", {sums, g.vector(back)}));
  return {};
}

}  // namespace millrace::grad
