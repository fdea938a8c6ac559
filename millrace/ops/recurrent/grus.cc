// Part of families.h: register_gru_cells.
#include <algorithm>
#include <array>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/recurrent/cell_math.h"
#include "millrace/ops/recurrent/families.h"

namespace millrace {
namespace {

// r and u are sigmoids of [x, h_prev] w_ru + b_ru, c the tangent of [x, r h_prev] w_c + b_c; h is
// u h_prev + (1 - u) c.
struct GruInputs {
  int64_t batch = 0, input = 0, cell = 0;
  Tensor x, h_prev, w_ru, w_c, b_ru, b_c;

  static Result<GruInputs> read(KernelContext& context) {
    GruInputs made;
    MR_ASSIGN(made.x, float_input(context, 0, "x", 2));
    MR_ASSIGN(made.h_prev, float_input(context, 1, "h_prev", 2));
    made.batch = made.x.shape().dim(0);
    made.input = made.x.shape().dim(1);
    made.cell = made.h_prev.shape().dim(1);
    MR_TRY(check_dim(made.h_prev, "h_prev", 0, made.batch, "batch_size"));
    MR_ASSIGN(made.w_ru, float_input(context, 2, "w_ru", 2));
    MR_TRY(check_dim(made.w_ru, "w_ru", 0, made.input + made.cell, "input_size + cell_size"));
    if (made.w_ru.shape().dim(1) % 2 != 0 || made.w_ru.shape().dim(1) / 2 != made.cell) {
      return invalid("w_ru.dim_size(1) != cell_size * 2: ", made.w_ru.shape().dim(1), " vs. 2 * ",
                     made.cell);
    }
    MR_ASSIGN(made.w_c, float_input(context, 3, "w_c", 2));
    MR_TRY(check_dim(made.w_c, "w_c", 0, made.input + made.cell, "input_size + cell_size"));
    MR_TRY(check_dim(made.w_c, "w_c", 1, made.cell, "cell_size"));
    MR_ASSIGN(made.b_ru, float_input(context, 4, "b_ru", 1));
    MR_TRY(check_dim(made.b_ru, "b_ru", 0, made.w_ru.shape().dim(1), "cell_size * 2"));
    MR_ASSIGN(made.b_c, float_input(context, 5, "b_c", 1));
    MR_TRY(check_dim(made.b_c, "b_c", 0, made.cell, "cell_size"));
    return made;
  }

  // x beside h.
  Result<Tensor> beside_x(const float* h) const {
    return side_by_side(floats_of(x), input, h, cell, batch);
  }
};

Status gru_cell(KernelContext& context) {
  MR_ASSIGN(const GruInputs in, GruInputs::read(context));
  const int64_t n = in.cell;
  MR_ASSIGN(const Tensor both, in.beside_x(floats_of(in.h_prev)));
  MR_ASSIGN(Tensor gates, product(context, both, in.w_ru));
  std::array<Tensor, 4> made;
  for (Tensor& state : made) {
    MR_ASSIGN(state, Tensor::allocate(DType::f32, in.h_prev.shape()));
  }
  float *const r = floats_in(made[0]), *const u = floats_in(made[1]);
  MR_ASSIGN(Tensor shown, Tensor::allocate(DType::f32, in.h_prev.shape()));  // r h_prev
  const float *const old = floats_of(in.h_prev), *const b_ru = floats_of(in.b_ru);
  for (int64_t row = 0; row < in.batch; ++row) {
    float* const both_gates = floats_in(gates) + row * 2 * n;
    for (int64_t k = 0; k < 2 * n; ++k) both_gates[k] += b_ru[k];
    sigmoids(both_gates, 2 * n);
    std::copy_n(both_gates, n, r + row * n);
    std::copy_n(both_gates + n, n, u + row * n);
    for (int64_t k = 0; k < n; ++k)
      floats_in(shown)[row * n + k] = old[row * n + k] * both_gates[k];
  }
  MR_ASSIGN(const Tensor beside, in.beside_x(floats_of(shown)));
  MR_ASSIGN(made[2], product(context, beside, in.w_c));
  float *const c = floats_in(made[2]), *const h = floats_in(made[3]);
  for (int64_t row = 0; row < in.batch; ++row)
    for (int64_t k = 0; k < n; ++k) c[row * n + k] += floats_of(in.b_c)[k];
  tangents(c, in.batch * n);
  for (int64_t at = 0; at < in.batch * n; ++at) h[at] = u[at] * (old[at] - c[at]) + c[at];
  for (int slot = 0; slot < 4; ++slot)
    context.set_output(slot, std::move(made[static_cast<size_t>(slot)]));
  return {};
}

Status infer_gru_cell(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape h, context.input_of_rank(1, 2));
  for (int slot = 0; slot < 4; ++slot) context.set_output(slot, h);
  return {};
}

// --- its gradient ---

Status gru_cell_grad(KernelContext& context) {
  MR_ASSIGN(const GruInputs in, GruInputs::read(context));
  static constexpr std::array<std::string_view, 4> kNames = {"r", "u", "c", "d_h"};
  std::array<Tensor, 4> given;
  for (size_t k = 0; k < given.size(); ++k) {
    MR_ASSIGN(given[k], float_input(context, 6 + static_cast<int>(k), kNames[k], 2));
    MR_TRY(check_dim(given[k], kNames[k], 0, in.batch, "batch_size"));
    MR_TRY(check_dim(given[k], kNames[k], 1, in.cell, "cell_size"));
  }
  const float *const r = floats_of(given[0]), *const u = floats_of(given[1]),
                     *const c = floats_of(given[2]), *const arriving = floats_of(given[3]),
                     *const old = floats_of(in.h_prev);
  const int64_t n = in.cell, all = in.batch * n;
  MR_ASSIGN(Tensor by_c, Tensor::allocate(DType::f32, in.h_prev.shape()));
  for (int64_t at = 0; at < all; ++at)
    floats_in(by_c)[at] = arriving[at] * (1 - u[at]) * (1 - c[at] * c[at]);
  // What goes back by c: to x, and to r h_prev.
  MR_ASSIGN(const Tensor back_c, product(context, by_c, in.w_c, Side::as_is, Side::transposed));
  MR_ASSIGN(Tensor shown, Tensor::allocate(DType::f32, in.h_prev.shape()));
  copy_columns(back_c, in.input, n, floats_in(shown));
  MR_ASSIGN(Tensor by_ru, Tensor::allocate(DType::f32, {in.batch, 2 * n}));
  for (int64_t row = 0; row < in.batch; ++row) {
    float* const to = floats_in(by_ru) + row * 2 * n;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t at = row * n + k;
      to[k] = floats_of(shown)[at] * old[at] * r[at] * (1 - r[at]);
      to[n + k] = arriving[at] * (old[at] - c[at]) * u[at] * (1 - u[at]);
    }
  }
  MR_ASSIGN(const Tensor back_ru, product(context, by_ru, in.w_ru, Side::as_is, Side::transposed));
  MR_ASSIGN(Tensor x_grad, Tensor::allocate(DType::f32, in.x.shape()));
  MR_ASSIGN(Tensor x_more, Tensor::allocate(DType::f32, in.x.shape()));
  MR_ASSIGN(Tensor h_grad, Tensor::allocate(DType::f32, in.h_prev.shape()));
  copy_columns(back_ru, 0, in.input, floats_in(x_grad));
  copy_columns(back_c, 0, in.input, floats_in(x_more));
  copy_columns(back_ru, in.input, n, floats_in(h_grad));
  for (int64_t at = 0; at < in.batch * in.input; ++at)
    floats_in(x_grad)[at] += floats_in(x_more)[at];
  for (int64_t at = 0; at < all; ++at)
    floats_in(h_grad)[at] += floats_of(shown)[at] * r[at] + arriving[at] * u[at];
  context.set_output(0, std::move(x_grad));
  context.set_output(1, std::move(h_grad));
  context.set_output(2, std::move(by_c));
  context.set_output(3, std::move(by_ru));
  return {};
}

Status infer_gru_cell_grad(InferContext& context) {
  MR_ASSIGN(const PartialShape x, context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape h, context.input_of_rank(1, 2));
  MR_ASSIGN(const PartialShape w_ru, context.input_of_rank(2, 2));
  context.set_output(0, x);
  context.set_output(1, h);
  context.set_output(2, h);
  return context.set_output(3,
                            PartialShape::create(std::array{known_dim(x, 0), known_dim(w_ru, 1)}));
}

// What comes by h; the other outputs are there for the gradient alone, and have none.
Status gru_cell_gradient(GradContext& g) {
  std::vector<Endpoint> inputs;
  for (int slot = 0; slot < 6; ++slot) inputs.push_back(g.input(slot));
  for (int slot = 0; slot < 3; ++slot) inputs.push_back(g.output(slot));
  inputs.push_back(g.grad(3));
  const Endpoint made = g.add("GRUBlockCellGrad", inputs);
  const Endpoint by_c{made.node, 2}, by_ru{made.node, 3};
  const Endpoint x = g.input(0), h = g.input(1), axis = g.scalar(DType::i32, 1);
  const auto beside = [&](Endpoint what) {
    return g.add("ConcatV2", {x, what, axis}, {{"N", int64_t{2}}});
  };
  const auto weights = [&](Endpoint what, Endpoint arriving) {
    return g.add("MatMul", {beside(what), arriving}, {{"transpose_a", true}});
  };
  g.set_input_grad(0, made);
  g.set_input_grad(1, Endpoint{made.node, 1});
  g.set_input_grad(2, weights(h, by_ru));
  g.set_input_grad(3, weights(g.add("Mul", {h, g.output(0)}), by_c));
  g.set_input_grad(4, g.add("BiasAddGrad", {by_ru}));
  g.set_input_grad(5, g.add("BiasAddGrad", {by_c}));
  return {};
}

}  // namespace

Status register_gru_cells(OpRegistry& ops) {
  const std::string inputs = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T";
  const std::string given =
      "[[1 -2]], [[-0.25]], [[0.1 0.2] [0.3 0.4] [0.5 0.6]], [[0.7] [0.8] [0.9]], [0.1 0.2], "
      "[0.3]";
  const std::string gates = "[[0.3716838]], [[0.3658644]], [[-0.5938735]]";
  MR_TRY(ops.add({
      .name = "GRUBlockCell",
      .doc = "One step of a gated recurrent unit for a batch: what it forgets r, what it keeps u, "
             "its candidate c, and its output h.",
      .signature = inputs + " -> r: T, u: T, c: T, h: T | T: {float}",
      .infer = infer_gru_cell,
      .cpu = kernel(gru_cell),
      .grad = gru_cell_gradient,
      .cost = Cost::heavy,
      .examples = {given + " -> " + gates + ", [[-0.4680624]]"},
  }));
  return ops.add({
      .name = "GRUBlockCellGrad",
      .doc = "The gradient of GRUBlockCell by its input and state, and what arrives at the "
             "products of its weights.",
      .signature = inputs + ", r: T, u: T, c: T, d_h: T -> d_x: T, d_h_prev: T, d_c_bar: T, "
                            "d_r_bar_u_bar: T | T: {float}",
      .infer = infer_gru_cell_grad,
      .cpu = kernel(gru_cell_grad),
      .not_differentiable = "TensorFlow gives it none",
      .examples = {given + ", " + gates +
                   ", [[2]] -> [[0.6022777 0.7076596]], [[1.0805243]], [[0.82097]], "
                   "[[-0.0431382 0.1595625]]"},
  });
}

}  // namespace millrace
