// Part of gradients.h: of sums and of what else folds axes.
#include <algorithm>

#include "millrace/ops/math/gradients.h"

namespace millrace::grad {
namespace {

// 1 for each axis that the reduction folds, 0 for the others, as nodes: what is not known is worked
// out when the step runs.
Endpoint folded_axes(GradContext& g, Endpoint rank) {
  Endpoint axes = g.input(1);
  if (g.dtype(axes) != DType::i32) axes = g.add("Cast", {axes}, {{"DstT", DType::i32}});
  axes = g.add("FloorMod", {g.add("AddV2", {axes, rank}), rank});
  const Endpoint flat = g.add("Reshape", {axes, g.vector({-1})});
  const Endpoint one = g.scalar(DType::i32, 1), zero = g.scalar(DType::i32, 0);
  return g.add("Sum", {g.add("OneHot", {flat, rank, one, zero}), zero});
}

// The shape of what the reduction would give with keep_dims.
Endpoint kept_shape(GradContext& g) {
  const Endpoint dims = g.shape_node(g.input(0));
  const Endpoint folded = folded_axes(g, g.add("Size", {dims}));
  const Endpoint others = g.add("Sub", {g.scalar(DType::i32, 1), folded});
  return g.add("AddV2", {g.add("Mul", {dims, others}), folded});
}

// `value`, of the output's shape, with the folded axes as 1.
Endpoint with_kept_axes(GradContext& g, Endpoint value, Endpoint shape) {
  return g.add("Reshape", {value, shape});
}

Result<Endpoint> spread(GradContext& g) {
  MR_ASSIGN(const bool keeps, g.attrs().boolean("keep_dims"));
  Endpoint value = g.grad();
  // A scalar is spread as it is.
  const bool is_scalar = g.shape(g.output(0)).rank() == 0;
  if (!keeps && !is_scalar) value = with_kept_axes(g, value, kept_shape(g));
  return g.add("BroadcastTo", {value, g.shape_node(g.input(0))});
}

// How many elements went into each one of the output, as a scalar of the input's type.
Endpoint folded_count(GradContext& g) {
  const DType dtype = g.dtype(g.input(0));
  const std::optional<Shape> from = g.shape(g.input(0)).to_shape();
  const std::optional<Shape> to = g.shape(g.output(0)).to_shape();
  if (from && to) {
    const int64_t count = from->num_elements() / std::max<int64_t>(to->num_elements(), 1);
    return g.scalar(dtype, static_cast<double>(count));
  }
  const Endpoint made = g.add("Maximum", {g.add("Size", {g.output(0)}), g.scalar(DType::i32, 1)});
  const Endpoint count = g.add("FloorDiv", {g.add("Size", {g.input(0)}), made});
  return g.add("Cast", {count}, {{"DstT", dtype}});
}

}  // namespace

Status sum(GradContext& g) {
  MR_ASSIGN(const Endpoint by_input, spread(g));
  g.set_input_grad(0, by_input);
  return {};
}

Status mean(GradContext& g) {
  MR_ASSIGN(const Endpoint by_input, spread(g));
  g.set_input_grad(0, g.add("RealDiv", {by_input, folded_count(g)}));
  return {};
}

// Elements that are equally large share what arrives.
Status extreme(GradContext& g) {
  const Endpoint shape = kept_shape(g);
  const Endpoint best = with_kept_axes(g, g.output(0), shape);
  const Endpoint is_best =
      g.add("Cast", {g.add("Equal", {best, g.input(0)})}, {{"DstT", g.dtype(g.input(0))}});
  const Endpoint number = with_kept_axes(g, g.add("Sum", {is_best, g.input(1)}), shape);
  const Endpoint share = g.add("RealDiv", {is_best, number});
  g.set_input_grad(0, g.add("Mul", {share, with_kept_axes(g, g.grad(), shape)}));
  return {};
}

Status l2_loss(GradContext& g) {
  g.set_input_grad(0, g.add("Mul", {g.input(0), g.grad()}));
  return {};
}

// Each row has what arrives at its segment; nothing, if it has none.
Status unsorted_segment_sum(GradContext& g) {
  const Endpoint ids = g.input(1), axis = g.scalar(DType::i32, 0);
  const Endpoint zero = g.scalar(g.dtype(ids), 0);
  const Endpoint rows = g.add("GatherV2", {g.grad(), g.add("Maximum", {ids, zero}), axis});
  Endpoint has_one = g.add("GreaterEqual", {ids, zero});
  // As many axes of 1 behind those of the ids as a row has.
  const Endpoint ranks = g.add("Sub", {g.add("Rank", {rows}), g.add("Rank", {ids})});
  const Endpoint ones =
      g.add("Fill", {g.add("Reshape", {ranks, g.vector({1})}), g.scalar(DType::i32, 1)});
  const Endpoint shape =
      g.add("ConcatV2", {g.add("Shape", {ids}), ones, axis}, {{"N", int64_t{2}}});
  has_one = g.add("Reshape", {has_one, shape});
  const Endpoint none = g.scalar(g.dtype(rows), 0);
  g.set_input_grad(0, g.add("SelectV2", {has_one, rows, none}));
  return {};
}

Status cumsum(GradContext& g) {
  MR_ASSIGN(const bool exclusive, g.attrs().boolean("exclusive"));
  MR_ASSIGN(const bool reverse, g.attrs().boolean("reverse"));
  g.set_input_grad(0, g.add("Cumsum", {g.grad(), g.input(1)},
                            {{"exclusive", exclusive}, {"reverse", !reverse}}));
  return {};
}

}  // namespace millrace::grad
