// Part of families.h: register_lstm_cells.
#include <array>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/recurrent/cell_math.h"
#include "millrace/ops/recurrent/families.h"
#include "millrace/ops/recurrent/lstm_step.h"

namespace millrace {
namespace {

struct BoundLstmCell {
  Result<LstmOptions> read(const KernelSpec& spec) const {
    return read_lstm_options(spec, GateOrder::icfo);
  }
};

// x, cs_prev and h_prev, which both ops begin with.
struct CellInputs {
  LstmSizes sizes;
  Tensor x, cs_prev, h_prev;
  LstmWeights weights;

  static Result<CellInputs> read(KernelContext& context, const LstmOptions& options) {
    CellInputs made;
    MR_ASSIGN(made.x, float_input(context, 0, "x_tensor", 2));
    MR_ASSIGN(made.cs_prev, float_input(context, 1, "cs_prev_tensor", 2));
    MR_ASSIGN(made.h_prev, float_input(context, 2, "h_prev_tensor", 2));
    const Shape &x = made.x.shape(), &cs = made.cs_prev.shape();
    made.sizes = {x.dim(0), x.dim(1), cs.dim(1)};
    MR_TRY(check_dim(made.cs_prev, "cs_prev", 0, made.sizes.batch, "batch_size"));
    MR_TRY(check_dim(made.h_prev, "h_prev", 0, made.sizes.batch, "batch_size"));
    MR_TRY(check_dim(made.h_prev, "h_prev", 1, made.sizes.cell, "cell_size"));
    if (cs.num_elements() == 0)
      return invalid("cs_prev_tensor is empty, has shape: ", cs.to_string());
    MR_ASSIGN(made.weights, read_lstm_weights(context, 3, made.sizes, options));
    return made;
  }
};

Status lstm_cell(KernelContext& context, const LstmOptions& options) {
  MR_ASSIGN(const CellInputs in, CellInputs::read(context, options));
  MR_ASSIGN(const Tensor both, side_by_side(floats_of(in.x), in.sizes.input, floats_of(in.h_prev),
                                            in.sizes.cell, in.sizes.batch));
  MR_ASSIGN(Tensor gates, product(context, both, in.weights.w));
  std::array<Tensor, 7> made;
  for (Tensor& state : made) {
    MR_ASSIGN(state, Tensor::allocate(DType::f32, in.cs_prev.shape()));
  }
  lstm_forward(in.sizes, options, in.weights, gates, floats_of(in.cs_prev),
               {floats_in(made[0]), floats_in(made[1]), floats_in(made[2]), floats_in(made[3]),
                floats_in(made[4]), floats_in(made[5]), floats_in(made[6])});
  for (int slot = 0; slot < 7; ++slot)
    MR_TRY(set_narrowed(context, slot, made[static_cast<size_t>(slot)]));
  return {};
}

Status lstm_cell_grad(KernelContext& context, const LstmOptions& options) {
  MR_ASSIGN(const CellInputs in, CellInputs::read(context, options));
  static constexpr std::array<std::string_view, 8> kNames = {
      "i", "cs", "f", "o", "ci", "co", "cs_grad_tensor", "h_grad_tensor"};
  std::array<Tensor, 8> given;
  for (size_t k = 0; k < given.size(); ++k) {
    MR_ASSIGN(given[k], float_input(context, 8 + static_cast<int>(k), kNames[k], 2));
    MR_TRY(check_dim(given[k], kNames[k], 0, in.sizes.batch, "batch_size"));
    MR_TRY(check_dim(given[k], kNames[k], 1, in.sizes.cell, "cell_size"));
  }
  MR_ASSIGN(Tensor cs_prev_grad, Tensor::allocate(DType::f32, in.cs_prev.shape()));
  MR_ASSIGN(Tensor gates, Tensor::allocate(DType::f32, {in.sizes.batch, 4 * in.sizes.cell}));
  MR_ASSIGN(Tensor wci, Tensor::zeros(DType::f32, in.weights.wci.shape()));
  MR_ASSIGN(Tensor wcf, Tensor::zeros(DType::f32, in.weights.wcf.shape()));
  MR_ASSIGN(Tensor wco, Tensor::zeros(DType::f32, in.weights.wco.shape()));
  lstm_backward(in.sizes, options, in.weights,
                {floats_of(given[0]), floats_of(given[1]), floats_of(given[2]), floats_of(given[3]),
                 floats_of(given[4]), floats_of(given[5])},
                floats_of(in.cs_prev), floats_of(given[6]), floats_of(given[7]), floats_in(gates),
                floats_in(cs_prev_grad), {floats_in(wci), floats_in(wcf), floats_in(wco)});
  MR_TRY(set_narrowed(context, 0, cs_prev_grad));
  MR_TRY(set_narrowed(context, 1, gates));
  MR_TRY(set_narrowed(context, 2, wci));
  MR_TRY(set_narrowed(context, 3, wcf));
  return set_narrowed(context, 4, wco);
}

Status infer_lstm_cell(InferContext& context) {
  MR_ASSIGN(const PartialShape x, context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape cs, context.input_of_rank(1, 2));
  MR_ASSIGN(const PartialShape state,
            PartialShape::create(std::array{known_dim(x, 0), known_dim(cs, 1)}));
  for (int slot = 0; slot < 7; ++slot) context.set_output(slot, state);
  return {};
}

Status infer_lstm_cell_grad(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape cs, context.input_of_rank(1, 2));
  context.set_output(0, cs);
  const int64_t cell = known_dim(cs, 1);
  const bool is_known = cell >= 0 && cell < int64_t{1} << 60;
  MR_TRY(context.set_output(
      1, PartialShape::create(std::array{known_dim(cs, 0), is_known ? 4 * cell : kUnknownDim})));
  for (int slot = 2; slot < 5; ++slot) {
    MR_ASSIGN(const PartialShape peephole, context.input_of_rank(slot + 2, 1));
    context.set_output(slot, peephole);
  }
  return {};
}

// What comes by cs and h; the other outputs are there for the gradient alone, and have none.
Status lstm_cell_gradient(GradContext& g) {
  MR_ASSIGN(const bool has_peepholes, g.attrs().boolean("use_peephole"));
  std::vector<Endpoint> inputs;
  for (int slot = 0; slot < 8; ++slot) inputs.push_back(g.input(slot));
  for (int slot = 0; slot < 6; ++slot) inputs.push_back(g.output(slot));
  inputs.push_back(g.grad(1));
  inputs.push_back(g.grad(6));
  const Endpoint made = g.add("LSTMBlockCellGrad", inputs, {{"use_peephole", has_peepholes}});
  const Endpoint gates{made.node, 1};
  const auto [x, h, w] = grad::of_product(g, g.input(0), g.input(2), g.input(3), gates);
  g.set_input_grad(0, x);
  g.set_input_grad(1, made);
  g.set_input_grad(2, h);
  g.set_input_grad(3, w);
  for (int slot = 2; slot < 5; ++slot) g.set_input_grad(slot + 2, Endpoint{made.node, slot});
  g.set_input_grad(7, g.add("BiasAddGrad", {gates}));
  return {};
}

}  // namespace

Status register_lstm_cells(OpRegistry& ops) {
  const std::string inputs = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T";
  const std::string given =
      "[[1 -2]], [[0.5]], [[-0.25]], [[0.1 0.2 0.3 0.4] [0.5 -0.6 0.7 -0.8] [0.9 1 -1.1 1.2]], "
      "[0.1], [0.2], [0.3], [0.1 0.2 0.3 0.4]";
  const std::string plain =
      "[[0.2640546]], [[0.5390811]], [[0.6165666]], [[0.8909032]], [[0.8740534]], [[0.4922921]]";
  MR_TRY(ops.add({
      .name = "LSTMBlockCell",
      .doc = "One step of an LSTM for a batch: its gates, its state cs before and co after tanh, "
             "and its output h.",
      .signature = inputs +
                   " -> i: T, cs: T, f: T, o: T, ci: T, co: T, h: T | forget_bias: float = 1, "
                   "cell_clip: float = 3, use_peephole: bool = false, T: {half, float}",
      .infer = infer_lstm_cell,
      .cpu = kernel_with(lstm_cell, BoundLstmCell()),
      .grad = lstm_cell_gradient,
      .cost = Cost::heavy,
      .examples = {given + " -> " + plain + ", [[0.4385846]] | T = float",
                   given + " -> [[0.273885]], [[0.5593482]], [[0.6399161]], [[0.9061753]], "
                           "[[0.8740534]], [[0.5074936]], [[0.4598783]] | use_peephole = true, "
                           "T = float",
                   given + " | T = half"},
  }));
  return ops.add({
      .name = "LSTMBlockCellGrad",
      .doc = "The gradient of LSTMBlockCell by its state and peepholes, and what arrives at the "
             "product of its weights, dicfo.",
      .signature = inputs + ", i: T, cs: T, f: T, o: T, ci: T, co: T, cs_grad: T, h_grad: T -> "
                            "cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T | "
                            "use_peephole: bool, T: {half, float}",
      .infer = infer_lstm_cell_grad,
      .cpu = kernel_with(lstm_cell_grad, BoundLstmCell()),
      .not_differentiable = "TensorFlow gives it none",
      .examples = {given + ", " + plain +
                       ", [[0.5]], [[2]] -> [[1.1406375]], "
                       "[[0.314228 0.1153002 0.2186793 0.0956964]], [0], [0], [0] | "
                       "use_peephole = false, T = float",
                   given + ", " + plain + ", [[0.5]], [[2]] | use_peephole = true, T = half"},
  });
}

}  // namespace millrace
