// Part of gradients.h: of what gives elements other places, or none.
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/broadcast_gradient.h"

namespace millrace::grad {
namespace {

Endpoint as_int32(GradContext& g, Endpoint x) {
  return g.dtype(x) == DType::i32 ? x : g.add("Cast", {x}, {{"DstT", DType::i32}});
}

// 0, step, 2 * step, and so on, below `limit`.
Endpoint steps(GradContext& g, Endpoint limit, int step) {
  return g.add("Range", {g.scalar(DType::i32, 0), limit, g.scalar(DType::i32, step)});
}

// A Shape node in the type of what is calculated with it.
Endpoint shape_as(GradContext& g, Endpoint of, DType dtype) {
  return g.add("Shape", {of}, {{"out_type", dtype}});
}

}  // namespace

Status pass(GradContext& g) {
  for (int slot = 0; slot < g.num_inputs() && slot < g.num_outputs(); ++slot) {
    if (!g.is_needed(slot) || !g.has_grad(slot)) continue;
    if (const std::optional<IndexedSlices> slices = g.sparse_grad(slot)) {
      g.set_input_grad(slot, *slices);
    } else {
      g.set_input_grad(slot, g.grad(slot));
    }
  }
  return {};
}

Status prevented(GradContext& g) {
  MR_ASSIGN(const std::string message, g.attrs().string("message"));
  return not_found("Gradient explicitly disabled. Reason: ", message);
}

Status reshaped(GradContext& g) {
  g.set_input_grad(0, g.add("Reshape", {g.grad(), g.shape_node(g.input(0))}));
  return {};
}

Status transpose(GradContext& g) {
  const Endpoint back = g.add("InvertPermutation", {g.input(1)});
  g.set_input_grad(0, g.add("Transpose", {g.grad(), back}));
  return {};
}

Status conjugate_transpose(GradContext& g) {
  const Endpoint back = g.add("InvertPermutation", {g.input(1)});
  g.set_input_grad(0, g.add("ConjugateTranspose", {g.grad(), back}));
  return {};
}

Status reverse(GradContext& g) {
  g.set_input_grad(0, g.add("ReverseV2", {g.grad(), g.input(1)}));
  return {};
}

// Each axis as two, the repetitions and the axis itself; the former are summed.
Status tile(GradContext& g) {
  const Endpoint multiples = as_int32(g, g.input(1));
  const Endpoint pairs =
      g.add("Pack", {multiples, shape_as(g, g.input(0), DType::i32)}, {{"axis", int64_t{1}}});
  const Endpoint dims = g.add("Reshape", {pairs, g.vector({-1})});
  const Endpoint axes = steps(g, g.add("Size", {dims}), 2);
  g.set_input_grad(0, g.add("Sum", {g.add("Reshape", {g.grad(), dims}), axes}));
  return {};
}

// What PadV2 puts around has no gradient, as in TensorFlow.
Status pad(GradContext& g) {
  const Endpoint paddings = g.input(1);
  const Endpoint both = g.vector({0, 0}), first = g.vector({-1, 1});
  const Endpoint before =
      g.add("Reshape", {g.add("Slice", {paddings, both, first}), g.vector({-1})});
  g.set_input_grad(0,
                   g.add("Slice", {g.grad(), before, shape_as(g, g.input(0), g.dtype(paddings))}));
  return {};
}

Status broadcast_to(GradContext& g) {
  g.set_input_grad(0, BroadcastGradient(g, g.input(0), g.output(0)).to_a(g.grad()));
  return {};
}

Status fill(GradContext& g) {
  const Endpoint axes = steps(g, g.add("Rank", {g.grad()}), 1);
  g.set_input_grad(1, g.add("Sum", {g.grad(), axes}));
  return {};
}

Status slice(GradContext& g) {
  const DType dtype = g.dtype(g.input(1));
  const Endpoint before = g.input(1);
  const Endpoint rest = g.add("Sub", {shape_as(g, g.input(0), dtype), before});
  const Endpoint after = g.add("Sub", {rest, shape_as(g, g.output(0), dtype)});
  const Endpoint paddings = g.add("Pack", {before, after}, {{"axis", int64_t{1}}});
  g.set_input_grad(0, g.add("Pad", {g.grad(), paddings}));
  return {};
}

namespace {

Attrs masks_of(const GradContext& g) {
  Attrs masks;
  for (const char* name :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    if (const AttrValue* value = g.attrs().find(name)) masks.set(name, *value);
  }
  return masks;
}

}  // namespace

Status strided_slice(GradContext& g) {
  // StridedSlice takes indices of 16 bits, its gradient does not.
  const bool is_narrow = g.dtype(g.input(1)) == DType::i16;
  const auto entry = [&](int slot) {
    return is_narrow ? as_int32(g, g.input(slot)) : g.input(slot);
  };
  const Endpoint begin = entry(1), end = entry(2), strides = entry(3);
  const Endpoint shape = shape_as(g, g.input(0), g.dtype(begin));
  g.set_input_grad(0,
                   g.add("StridedSliceGrad", {shape, begin, end, strides, g.grad()}, masks_of(g)));
  return {};
}

Status strided_slice_grad(GradContext& g) {
  g.set_input_grad(
      4, g.add("StridedSlice", {g.grad(), g.input(1), g.input(2), g.input(3)}, masks_of(g)));
  return {};
}

}  // namespace millrace::grad
