// Part of gradients.h: of sums and of what else folds axes.
#include <algorithm>
#include <limits>

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

// x / norm; where the norm is 0, so is every x of it.
Status euclidean_norm(GradContext& g) {
  const Endpoint shape = kept_shape(g);
  const Endpoint norm = with_kept_axes(g, g.output(0), shape);
  const Endpoint arriving = with_kept_axes(g, g.grad(), shape);
  const Endpoint share = g.add("DivNoNan", {g.input(0), norm});
  g.set_input_grad(0, g.add("Mul", {share, arriving}));
  return {};
}

// The product of all others: of those before and of those behind, along one axis that all folded
// axes are put together as. None is divided by, so that zeros do no harm.
Status prod(GradContext& g) {
  const Endpoint dims = g.shape_node(g.input(0));
  const Endpoint rank = g.add("Size", {dims});
  const Endpoint zero = g.scalar(DType::i32, 0), one = g.scalar(DType::i32, 1);
  // The order of the axes: those that stay, then those that are folded.
  const Endpoint is_folded = folded_axes(g, rank);
  const Endpoint all = g.add("Range", {zero, rank, one});
  const Endpoint keys = g.add("AddV2", {g.add("Mul", {is_folded, rank}), all});
  const Endpoint negative = g.add("Neg", {keys});
  const Endpoint sorted = g.add("TopKV2", {negative, rank});
  const Endpoint order{sorted.node, 1};
  const Endpoint turned = g.add("Transpose", {g.input(0), order});
  const Endpoint turned_shape = g.shape_node(turned);
  const Endpoint folded_dims =
      g.add("SelectV2", {g.add("Greater", {is_folded, zero}), dims, g.add("OnesLike", {dims})});
  const Endpoint folded = g.add("Prod", {folded_dims, zero});
  const Endpoint kept_dims =
      g.add("SelectV2", {g.add("Greater", {is_folded, zero}), g.add("OnesLike", {dims}), dims});
  const Endpoint kept = g.add("Prod", {kept_dims, zero});
  const Endpoint matrix =
      g.add("Reshape", {turned, g.add("Pack", {kept, folded}, {{"axis", int64_t{0}}})});
  const Endpoint before =
      g.add("Cumprod", {matrix, one}, {{"exclusive", true}, {"reverse", false}});
  const Endpoint behind = g.add("Cumprod", {matrix, one}, {{"exclusive", true}, {"reverse", true}});
  const Endpoint others = g.add("Reshape", {g.add("Mul", {before, behind}), turned_shape});
  const Endpoint back = g.add("Transpose", {others, g.add("InvertPermutation", {order})});
  MR_ASSIGN(const Endpoint arriving, spread(g));
  const Endpoint made = g.add("Mul", {arriving, conjugate(g, back)});
  g.set_input_grad(0, g.add("Reshape", {made, dims}));
  return {};
}

Status cumsum(GradContext& g) {
  MR_ASSIGN(const bool exclusive, g.attrs().boolean("exclusive"));
  MR_ASSIGN(const bool reverse, g.attrs().boolean("reverse"));
  g.set_input_grad(0, g.add("Cumsum", {g.grad(), g.input(1)},
                            {{"exclusive", exclusive}, {"reverse", !reverse}}));
  return {};
}

namespace {

// A scan of the same kind as this one, but the other way round.
Endpoint scanned_back(GradContext& g, std::string_view op, Endpoint x) {
  const auto flag = [&](const char* name) { return g.attrs().boolean(name).value(); };
  return g.add(op, {x, g.input(1)},
               {{"exclusive", flag("exclusive")}, {"reverse", !flag("reverse")}});
}

}  // namespace

// As in TensorFlow, products are divided by the element: where that is 0, they say nothing and the
// gradient is 0.
Status cumprod(GradContext& g) {
  // Complex numbers are taken as they are, as there.
  const Endpoint products = g.add("Mul", {g.grad(), g.output(0)});
  const Endpoint sums = scanned_back(g, "Cumsum", products);
  g.set_input_grad(0, g.add("DivNoNan", {sums, g.input(0)}));
  return {};
}

// The share of an element in each later result: exp(x - result), summed in logarithms for what is
// positive of what arrives, and for what is negative.
Status cumulative_logsumexp(GradContext& g) {
  const Endpoint x = g.input(0), made = g.output(0), arriving = g.grad();
  const Endpoint zero = g.scalar(g.dtype(x), 0);
  const Endpoint none = g.scalar(g.dtype(x), -std::numeric_limits<double>::infinity());
  const auto side = [&](Endpoint sized) {
    const Endpoint has = g.add("Greater", {sized, zero});
    const Endpoint logs = g.add("SelectV2", {has, g.add("Log", {sized}), none});
    const Endpoint sums = scanned_back(g, "CumulativeLogsumexp", g.add("Sub", {logs, made}));
    return g.add("Exp", {g.add("AddV2", {sums, x})});
  };
  g.set_input_grad(0, g.add("Sub", {side(arriving), side(g.add("Neg", {arriving}))}));
  return {};
}

}  // namespace millrace::grad
