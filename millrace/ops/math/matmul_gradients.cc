// Part of gradients.h: of products of matrices.
#include "millrace/ops/loops/broadcast_gradient.h"
#include "millrace/ops/math/gradients.h"

namespace millrace::grad {
namespace {

// The product's op, its words for turning an operand, and what else its node says.
struct Product {
  GradContext& g;
  std::string_view op, turn_a, turn_b;
  Attrs attrs = {};

  Endpoint operator()(Endpoint a, bool a_is_turned, Endpoint b, bool b_is_turned) const {
    Attrs all = attrs;
    all.set(turn_a, a_is_turned);
    all.set(turn_b, b_is_turned);
    return g.add(op, {a, b}, std::move(all));
  }
};

struct Sides {
  Endpoint by_a, by_b;
};

// c = a' b', where ' turns its operand or not: by a' it is g b'^T, by b' it is a'^T g; and by a
// turned operand that, turned.
Endpoint product_side(const Product& product, int slot, Endpoint a, bool turns_a, Endpoint b,
                      bool turns_b) {
  const Endpoint arriving = product.g.grad();
  if (slot == 0)
    return turns_a ? product(b, turns_b, arriving, true) : product(arriving, false, b, !turns_b);
  return turns_b ? product(arriving, true, a, turns_a) : product(a, !turns_a, arriving, false);
}

Sides product_sides(const Product& product, Endpoint a, bool turns_a, Endpoint b, bool turns_b) {
  Sides made;
  if (product.g.is_needed(0)) made.by_a = product_side(product, 0, a, turns_a, b, turns_b);
  if (product.g.is_needed(1)) made.by_b = product_side(product, 1, a, turns_a, b, turns_b);
  return made;
}

}  // namespace

Status matmul(GradContext& g) {
  MR_ASSIGN(const bool turns_a, g.attrs().boolean("transpose_a"));
  MR_ASSIGN(const bool turns_b, g.attrs().boolean("transpose_b"));
  const Endpoint a = conjugate(g, g.input(0)), b = conjugate(g, g.input(1));
  const Sides made =
      product_sides({g, "MatMul", "transpose_a", "transpose_b"}, a, turns_a, b, turns_b);
  if (g.is_needed(0)) g.set_input_grad(0, made.by_a);
  if (g.is_needed(1)) g.set_input_grad(1, made.by_b);
  return {};
}

// Its products are of float32, whatever its operands are.
Status mixed_matmul(GradContext& g) {
  MR_ASSIGN(const bool turns_a, g.attrs().boolean("transpose_a"));
  MR_ASSIGN(const bool turns_b, g.attrs().boolean("transpose_b"));
  const Sides made = product_sides({g, "SparseMatMul", "transpose_a", "transpose_b"}, g.input(0),
                                   turns_a, g.input(1), turns_b);
  const auto as_input = [&](Endpoint gradient, int slot) {
    const DType type = g.dtype(g.input(slot));
    return type == DType::f32 ? gradient : g.add("Cast", {gradient}, {{"DstT", type}});
  };
  if (g.is_needed(0)) g.set_input_grad(0, as_input(made.by_a, 0));
  if (g.is_needed(1)) g.set_input_grad(1, as_input(made.by_b, 1));
  return {};
}

// Adjoints conjugate already.
Status batch_matmul(GradContext& g) {
  MR_ASSIGN(const bool turns_x, g.attrs().boolean("adj_x"));
  MR_ASSIGN(const bool turns_y, g.attrs().boolean("adj_y"));
  const std::string op = g.attrs().op().name;
  const Sides made =
      product_sides({g, op, "adj_x", "adj_y"}, g.input(0), turns_x, g.input(1), turns_y);
  BroadcastGradient batches(g, g.input(0), g.input(1), 2);
  if (g.is_needed(0)) g.set_input_grad(0, batches.to_a(made.by_a));
  if (g.is_needed(1)) g.set_input_grad(1, batches.to_b(made.by_b));
  return {};
}

// Each operand's gradient is a product of the operand's own type; one of 8 bits has none.
Status batch_matmul_of_types(GradContext& g) {
  MR_ASSIGN(const bool turns_x, g.attrs().boolean("adj_x"));
  MR_ASSIGN(const bool turns_y, g.attrs().boolean("adj_y"));
  BroadcastGradient batches(g, g.input(0), g.input(1), 2);
  for (const int slot : {0, 1}) {
    const DType type = g.dtype(g.input(slot));
    if (!g.is_needed(slot) || dtype_size(type) == 1) continue;
    const Product product{g, "BatchMatMulV3", "adj_x", "adj_y", {{"Tout", type}}};
    const Endpoint made = product_side(product, slot, g.input(0), turns_x, g.input(1), turns_y);
    g.set_input_grad(slot, slot == 0 ? batches.to_a(made) : batches.to_b(made));
  }
  return {};
}

}  // namespace millrace::grad
