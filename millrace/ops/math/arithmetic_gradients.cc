// Part of gradients.h: of functions of two tensors that broadcast, and of choosing between them.
#include "millrace/ops/loops/broadcast_gradient.h"
#include "millrace/ops/math/gradients.h"

namespace millrace::grad {
namespace {

// The gradients by x and y in the shape of z; only what is needed is asked for.
template <class ByX, class ByY>
Status both(GradContext& g, ByX by_x, ByY by_y) {
  BroadcastGradient shapes(g, g.input(0), g.input(1));
  if (g.is_needed(0)) g.set_input_grad(0, shapes.to_a(by_x()));
  if (g.is_needed(1)) g.set_input_grad(1, shapes.to_b(by_y()));
  return {};
}

// x where the condition is true, else 0; all of the shape of z but the condition's scalar 0.
Endpoint passing(GradContext& g, Endpoint condition, Endpoint x) {
  return g.add("SelectV2", {condition, x, g.scalar(g.dtype(x), 0)});
}
Endpoint blocking(GradContext& g, Endpoint condition, Endpoint x) {
  return g.add("SelectV2", {condition, g.scalar(g.dtype(x), 0), x});
}

Status quotient(GradContext& g, std::string_view divide) {
  return both(
      g,
      [&] {
        return g.add(divide, {g.grad(), conjugate(g, g.input(1))});
      },
      [&] {
        // -(z / y), since x / y is there already.
        const Endpoint slope = g.add("Neg", {g.add(divide, {g.output(0), g.input(1)})});
        return g.add("Mul", {g.grad(), conjugate(g, slope)});
      });
}

// x - divide(x, y) * y, where the quotient is constant but for jumps.
Status remainder(GradContext& g, std::string_view divide) {
  return both(
      g, [&] { return g.grad(); },
      [&] {
        const Endpoint quotient = g.add(divide, {g.input(0), g.input(1)});
        return g.add("Mul", {g.grad(), g.add("Neg", {quotient})});
      });
}

Status larger_side(GradContext& g, std::string_view compare) {
  const Endpoint is_x = g.add(compare, {g.input(0), g.input(1)});
  return both(
      g, [&] { return passing(g, is_x, g.grad()); }, [&] { return blocking(g, is_x, g.grad()); });
}

}  // namespace

Status add(GradContext& g) {
  return both(
      g, [&] { return g.grad(); }, [&] { return g.grad(); });
}
Status sub(GradContext& g) {
  return both(
      g, [&] { return g.grad(); }, [&] { return g.add("Neg", {g.grad()}); });
}
Status mul(GradContext& g) {
  return both(
      g,
      [&] {
        return g.add("Mul", {g.grad(), conjugate(g, g.input(1))});
      },
      [&] {
        return g.add("Mul", {conjugate(g, g.input(0)), g.grad()});
      });
}
Status div(GradContext& g) { return quotient(g, "RealDiv"); }
Status div_no_nan(GradContext& g) { return quotient(g, "DivNoNan"); }
Status floor_mod(GradContext& g) { return remainder(g, "FloorDiv"); }
Status truncate_mod(GradContext& g) { return remainder(g, "TruncateDiv"); }
Status squared_difference(GradContext& g) {
  const Endpoint two = g.scalar(g.dtype(g.input(0)), 2);
  const Endpoint difference = g.add("Sub", {g.input(0), g.input(1)});
  const Endpoint by_x = g.add("Mul", {g.add("Mul", {two, g.grad()}), difference});
  return both(
      g, [&] { return by_x; }, [&] { return g.add("Neg", {by_x}); });
}
// Where both are equal x has it, as in TensorFlow.
Status maximum(GradContext& g) { return larger_side(g, "GreaterEqual"); }
Status minimum(GradContext& g) { return larger_side(g, "LessEqual"); }

Status pow(GradContext& g) {
  const Endpoint x = g.input(0), y = g.input(1);
  const DType dtype = g.dtype(x);
  return both(
      g,
      [&] {
        const Endpoint lower = g.add("Sub", {y, g.scalar(dtype, 1)});
        const Endpoint slope = g.add("Mul", {y, g.add("Pow", {x, lower})});
        return g.add("Mul", {g.grad(), conjugate(g, slope)});
      },
      [&] {
        // Where x has no logarithm, 0 stands for the slope; and the logarithm is not taken, since
        // NaN times 0 would be NaN.
        const Endpoint zero = g.scalar(dtype, 0);
        const Endpoint is_good = g.add(is_complex(dtype) ? "NotEqual" : "Greater", {x, zero});
        const Endpoint safe = g.add("SelectV2", {is_good, x, g.scalar(dtype, 1)});
        const Endpoint log = g.add("SelectV2", {is_good, g.add("Log", {safe}), zero});
        const Endpoint slope = g.add("Mul", {g.output(0), log});
        return g.add("Mul", {g.grad(), conjugate(g, slope)});
      });
}

// Its inputs are (y, x).
Status atan2(GradContext& g) {
  const Endpoint y = g.input(0), x = g.input(1);
  const Endpoint norm = g.add("AddV2", {g.add("Square", {x}), g.add("Square", {y})});
  const Endpoint scaled = g.add("RealDiv", {g.grad(), norm});
  return both(
      g,
      [&] {
        return g.add("Mul", {x, scaled});
      },
      [&] {
        return g.add("Neg", {g.add("Mul", {y, scaled})});
      });
}

Status add_n(GradContext& g) {
  const std::optional<IndexedSlices> slices = g.sparse_grad();
  for (int slot = 0; slot < g.num_inputs(); ++slot) {
    if (slices) {
      g.set_input_grad(slot, *slices);
    } else {
      g.set_input_grad(slot, g.grad());
    }
  }
  return {};
}

Status select(GradContext& g) {
  const Endpoint condition = g.input(0), arriving = g.grad();
  const Endpoint zeros = g.add("ZerosLike", {arriving});
  if (g.is_needed(1)) g.set_input_grad(1, g.add("Select", {condition, arriving, zeros}));
  if (g.is_needed(2)) g.set_input_grad(2, g.add("Select", {condition, zeros, arriving}));
  return {};
}

Status select_v2(GradContext& g) {
  for (const int slot : {1, 2}) {
    if (!g.is_needed(slot)) continue;
    const Endpoint chosen =
        slot == 1 ? passing(g, g.input(0), g.grad()) : blocking(g, g.input(0), g.grad());
    g.set_input_grad(slot, BroadcastGradient(g, g.input(slot), g.output(0)).to_a(chosen));
  }
  return {};
}

}  // namespace millrace::grad
