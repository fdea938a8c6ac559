// Part of families.h: register_lstm_blocks.
#include <algorithm>
#include <array>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/recurrent/cell_math.h"
#include "millrace/ops/recurrent/families.h"
#include "millrace/ops/recurrent/lstm_step.h"

namespace millrace {
namespace {

struct BoundLstmBlock {
  GateOrder order;
  Result<LstmOptions> read(const KernelSpec& spec) const { return read_lstm_options(spec, order); }
};

// The inputs that all begin with: seq_len_max, x [time, batch, input], cs_prev, h_prev, weights.
struct BlockInputs {
  int64_t time = 0, steps = 0;  // of x, and how many of them are made
  LstmSizes sizes;
  Tensor x, cs_prev, h_prev;
  LstmWeights weights;

  static Result<BlockInputs> read(KernelContext& context, const LstmOptions& options) {
    if (!context.input(0).shape().is_scalar()) {
      return invalid("`seq_len_max_tensor` must be rank 0 but is rank ",
                     context.input(0).shape().rank());
    }
    BlockInputs made;
    MR_ASSIGN(made.steps, read_integer(context.input(0), "seq_len_max"));
    MR_ASSIGN(made.x, float_input(context, 1, "x", 3));
    MR_ASSIGN(made.cs_prev, float_input(context, 2, "cs_prev", 2));
    MR_ASSIGN(made.h_prev, float_input(context, 3, "h_prev", 2));
    const Shape& x = made.x.shape();
    made.time = x.dim(0);
    made.sizes = {x.dim(1), x.dim(2), made.cs_prev.shape().dim(1)};
    MR_TRY(check_dim(made.cs_prev, "cs_prev", 0, made.sizes.batch, "batch_size"));
    MR_TRY(check_dim(made.h_prev, "h_prev", 0, made.sizes.batch, "batch_size"));
    MR_TRY(check_dim(made.h_prev, "h_prev", 1, made.sizes.cell, "cell_size"));
    MR_ASSIGN(made.weights, read_lstm_weights(context, 4, made.sizes, options));
    if (made.steps < 0 || made.steps > made.time) {
      return invalid("seq_len_max must be between 0 and ", made.time, " but is ", made.steps);
    }
    return made;
  }

  Result<Shape> states() const { return Shape::create(std::array{time, sizes.batch, sizes.cell}); }
  const float* x_at(int64_t t) const {
    return static_cast<const float*>(x.data()) + t * sizes.batch * sizes.input;
  }
};

// Step t of a tensor [time, batch, cell].
const float* step_of(const Tensor& states, int64_t t, const LstmSizes& sizes) {
  return floats_of(states) + t * sizes.state();
}
float* step_of(Tensor& states, int64_t t, const LstmSizes& sizes) {
  return static_cast<float*>(states.mutable_data()) + t * sizes.state();
}

Status lstm_block(KernelContext& context, const LstmOptions& options) {
  MR_ASSIGN(const BlockInputs in, BlockInputs::read(context, options));
  MR_ASSIGN(const Shape shape, in.states());
  std::array<Tensor, 7> made;
  for (Tensor& states : made) {
    // Steps that are not made are zeros.
    MR_ASSIGN(states, in.steps < in.time ? Tensor::zeros(DType::f32, shape)
                                         : Tensor::allocate(DType::f32, shape));
  }
  const auto at = [&](size_t which, int64_t t) { return step_of(made[which], t, in.sizes); };
  for (int64_t t = 0; t < in.steps; ++t) {
    const float* const h_prev = t == 0 ? floats_of(in.h_prev) : at(6, t - 1);
    const float* const cs_prev = t == 0 ? floats_of(in.cs_prev) : at(1, t - 1);
    MR_ASSIGN(const Tensor both,
              side_by_side(in.x_at(t), in.sizes.input, h_prev, in.sizes.cell, in.sizes.batch));
    MR_ASSIGN(Tensor gates, product(context, both, in.weights.w));
    lstm_forward(in.sizes, options, in.weights, gates, cs_prev,
                 {at(0, t), at(1, t), at(2, t), at(3, t), at(4, t), at(5, t), at(6, t)});
  }
  for (int slot = 0; slot < 7; ++slot)
    MR_TRY(set_narrowed(context, slot, made[static_cast<size_t>(slot)]));
  return {};
}

Status infer_lstm_block(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 0));
  MR_ASSIGN(const PartialShape x, context.input_of_rank(1, 3));
  MR_ASSIGN(const PartialShape cs, context.input_of_rank(2, 2));
  MR_ASSIGN(const PartialShape states,
            PartialShape::create(std::array{known_dim(x, 0), known_dim(x, 1), known_dim(cs, 1)}));
  for (int slot = 0; slot < 7; ++slot) context.set_output(slot, states);
  return {};
}

// --- the gradient ---

// Inputs behind the weights: what the steps made, and what arrives at cs and h.
enum Given : size_t { i, cs, f, o, ci, co, h, cs_grad, h_grad, kNumGiven };
using GivenStates = std::array<Tensor, kNumGiven>;

Result<GivenStates> read_given(KernelContext& context, const BlockInputs& in) {
  static constexpr std::array<std::string_view, kNumGiven> kNames = {
      "i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"};
  MR_ASSIGN(const Shape shape, in.states());
  GivenStates made;
  for (size_t k = 0; k < kNumGiven; ++k) {
    MR_ASSIGN(made[k], float_input(context, 9 + static_cast<int>(k), kNames[k], 3));
    if (made[k].shape() == shape) continue;
    return invalid(kNames[k], " must have shape ", shape.to_string(), " but has ",
                   made[k].shape().to_string());
  }
  return made;
}

// What goes back by the gates of each step, [steps * batch, 4 cell], and by x, the state before the
// first step, and the peepholes.
struct BlockGrads {
  Tensor gates, x, cs_prev, h_prev, wci, wcf, wco;

  static Result<BlockGrads> create(const BlockInputs& in) {
    BlockGrads made;
    MR_ASSIGN(const Shape gates,
              Shape::create(std::array{in.steps * in.sizes.batch, 4 * in.sizes.cell}));
    MR_ASSIGN(made.gates, Tensor::allocate(DType::f32, gates));
    MR_ASSIGN(made.x, Tensor::zeros(DType::f32, in.x.shape()));
    MR_ASSIGN(made.cs_prev, Tensor::zeros(DType::f32, in.cs_prev.shape()));
    MR_ASSIGN(made.h_prev, Tensor::zeros(DType::f32, in.h_prev.shape()));
    MR_ASSIGN(made.wci, Tensor::zeros(DType::f32, in.weights.wci.shape()));
    MR_ASSIGN(made.wcf, Tensor::zeros(DType::f32, in.weights.wcf.shape()));
    MR_ASSIGN(made.wco, Tensor::zeros(DType::f32, in.weights.wco.shape()));
    return made;
  }
};

void add(const float* what, float* to, int64_t n) {
  for (int64_t k = 0; k < n; ++k) to[k] += what[k];
}

// Back through all steps, the last one first.
Status walk_back(KernelContext& context, const LstmOptions& options, const BlockInputs& in,
                 const GivenStates& given, BlockGrads& made) {
  const LstmSizes& sizes = in.sizes;
  for (int64_t t = in.steps; t-- > 0;) {
    const auto at = [&](Given which) { return step_of(given[which], t, sizes); };
    // What comes from the step behind it, and what arrives from outside.
    add(at(cs_grad), floats_in(made.cs_prev), sizes.state());
    add(at(h_grad), floats_in(made.h_prev), sizes.state());
    const float* const cs_prev = t == 0 ? floats_of(in.cs_prev) : step_of(given[cs], t - 1, sizes);
    const int64_t row = t * sizes.batch;
    lstm_backward(sizes, options, in.weights, {at(i), at(cs), at(f), at(o), at(ci), at(co)},
                  cs_prev, floats_of(made.cs_prev), floats_of(made.h_prev),
                  floats_in(made.gates) + row * 4 * sizes.cell, floats_in(made.cs_prev),
                  {floats_in(made.wci), floats_in(made.wcf), floats_in(made.wco)});
    MR_ASSIGN(const Tensor gates, made.gates.rows(row, row + sizes.batch));
    MR_ASSIGN(const Tensor both,
              product(context, gates, in.weights.w, Side::as_is, Side::transposed));
    copy_columns(both, 0, sizes.input, floats_in(made.x) + row * sizes.input);
    copy_columns(both, sizes.input, sizes.cell, floats_in(made.h_prev));
  }
  return {};
}

// [x, h_prev] of all steps, a row each.
Result<Tensor> all_side_by_side(const BlockInputs& in, const Tensor& made_h) {
  const int64_t rows = in.steps * in.sizes.batch;
  MR_ASSIGN(Tensor before, Tensor::allocate(DType::f32, {rows, in.sizes.cell}));
  if (in.steps > 0) {
    float* const rest = std::copy_n(floats_of(in.h_prev), in.sizes.state(), floats_in(before));
    std::copy_n(floats_of(made_h), (in.steps - 1) * in.sizes.state(), rest);
  }
  return side_by_side(in.x_at(0), in.sizes.input, floats_of(before), in.sizes.cell, rows);
}

Status lstm_block_grad(KernelContext& context, const LstmOptions& options) {
  MR_ASSIGN(const BlockInputs in, BlockInputs::read(context, options));
  MR_ASSIGN(const GivenStates given, read_given(context, in));
  MR_ASSIGN(BlockGrads made, BlockGrads::create(in));
  MR_TRY(walk_back(context, options, in, given, made));
  MR_ASSIGN(const Tensor both, all_side_by_side(in, given[h]));
  MR_ASSIGN(const Tensor w, product(context, both, made.gates, Side::transposed, Side::as_is));
  MR_ASSIGN(Tensor b, Tensor::zeros(DType::f32, in.weights.b.shape()));
  add_rows(made.gates, floats_in(b));
  int slot = 0;
  for (const Tensor* each : std::initializer_list<const Tensor*>{
           &made.x, &made.cs_prev, &made.h_prev, &w, &made.wci, &made.wcf, &made.wco, &b})
    MR_TRY(set_narrowed(context, slot++, *each));
  return {};
}

// Those of x, cs_prev, h_prev and the weights.
Status infer_lstm_block_grad(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 0));
  constexpr std::array<int, 8> kRanks = {3, 2, 2, 2, 1, 1, 1, 1};
  for (int slot = 0; slot < 8; ++slot) {
    MR_ASSIGN(const PartialShape shape,
              context.input_of_rank(slot + 1, kRanks[static_cast<size_t>(slot)]));
    context.set_output(slot, shape);
  }
  return {};
}

// What comes by cs and h; the other outputs are there for the gradient alone, and have none.
Status lstm_block_gradient(GradContext& g) {
  MR_ASSIGN(const bool has_peepholes, g.attrs().boolean("use_peephole"));
  std::vector<Endpoint> inputs;
  for (int slot = 0; slot < 9; ++slot) inputs.push_back(g.input(slot));
  for (int slot = 0; slot < 7; ++slot) inputs.push_back(g.output(slot));
  const bool is_second = g.attrs().op().name == "BlockLSTMV2";
  inputs.push_back(g.grad(1));
  inputs.push_back(g.grad(6));
  const Endpoint made = g.add(is_second ? "BlockLSTMGradV2" : "BlockLSTMGrad", inputs,
                              {{"use_peephole", has_peepholes}});
  for (int slot = 0; slot < 8; ++slot) g.set_input_grad(slot + 1, Endpoint{made.node, slot});
  return {};
}

// --- the ops ---

struct LstmBlockOp {
  std::string version, attrs, order_of_gates;
  GateOrder order;
};

Status add_lstm_block(OpRegistry& ops, const LstmBlockOp& row, std::string given,
                      std::string made) {
  const std::string inputs =
      "seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T";
  const std::string states = ", i: T, cs: T, f: T, o: T, ci: T, co: T, h: T";
  const BoundLstmBlock options{row.order};
  MR_TRY(ops.add({
      .name = "BlockLSTM" + row.version,
      .doc = "An LSTM over the first seq_len_max steps of x, each of a batch, of which the rest of "
             "the results is 0; its gates stand in the order " +
             row.order_of_gates + ".",
      .signature = str_cat(inputs, " -> ", std::string_view(states).substr(2), " | ", row.attrs,
                           ", use_peephole: bool = false, T: {half, float}"),
      .infer = infer_lstm_block,
      .cpu = kernel_with(lstm_block, options),
      .grad = lstm_block_gradient,
      .cost = Cost::heavy,
      .examples = {given + made + " | use_peephole = true, T = float", given + " | T = half"},
  }));
  const std::string state = ", [[[0.5]] [[0.2]]]";
  std::string seen;
  for (int k = 0; k < 9; ++k) seen += state;
  return ops.add({
      .name = "BlockLSTMGrad" + row.version,
      .doc = str_cat("The gradient of BlockLSTM", row.version,
                     " by its input, its first state and its weights."),
      .signature = str_cat(inputs, states,
                           ", cs_grad: T, h_grad: T -> x_grad: T, cs_prev_grad: T, h_prev_grad: T, "
                           "w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T | "
                           "use_peephole: bool, T: {half, float}"),
      .infer = infer_lstm_block_grad,
      .cpu = kernel_with(lstm_block_grad, options),
      .not_differentiable = "TensorFlow gives it none",
      .cost = Cost::heavy,
      .examples = {given + seen + " | use_peephole = true"},
  });
}

}  // namespace

Status register_lstm_blocks(OpRegistry& ops) {
  const std::string given =
      "1, [[[1 -2]] [[0.5 0.25]]], [[0.5]], [[-0.25]], "
      "[[0.1 0.2 0.3 0.4] [0.5 -0.6 0.7 -0.8] [0.9 1 -1.1 1.2]], [0.1], [0.2], [0.3], "
      "[0.1 0.2 0.3 0.4]";
  MR_TRY(add_lstm_block(
      ops, {"", "forget_bias: float = 1, cell_clip: float = 3", "i, c, f, o", GateOrder::icfo},
      given,
      " -> [[[0.273885]] [[0]]], [[[0.5593482]] [[0]]], [[[0.6399161]] [[0]]], "
      "[[[0.9061753]] [[0]]], [[[0.8740534]] [[0]]], [[[0.5074936]] [[0]]], "
      "[[[0.4598783]] [[0]]]"));
  return add_lstm_block(
      ops, {"V2", "cell_clip: float = 0", "i, f, c, o", GateOrder::ifco}, given,
      " -> [[[0.273885]] [[0]]], [[[0.27311]] [[0]]], [[[0.809998]] [[0]]], "
      "[[[0.898615]] [[0]]], [[[-0.48155]] [[0]]], [[[0.266516]] [[0]]], [[[0.239496]] [[0]]]");
}

}  // namespace millrace
