#include "millrace/train/recurrent.h"

#include <array>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/recurrent.h"
#include "millrace/train/layer_parts.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

// [batch, steps, …] to [steps, batch, …] and back.
Output swap_batch_and_steps(const Scope& scope, const Output& x) {
  return ops::transpose(scope, x, {1, 0, 2});
}

LstmState zero_state(const Scope& scope, const Output& x, int64_t units) {
  const Output batch = ops::slice(scope, ops::shape(scope, x), {0}, {1});
  const Output sizes =
      ops::concat_v2(scope, {batch, Tensor::vector<int32_t>({static_cast<int32_t>(units)})}, 0);
  const auto zeros = [&] { return ops::fill(scope, sizes, constant(scope, 0, DType::f32)); };
  return {.memory = zeros(), .output = zeros()};
}

// The last of [steps, batch, units].
Output last_step(const Scope& scope, const Output& of_steps) {
  return ops::strided_slice(scope, of_steps, {-1}, {0}, {1}, {.shrink_axis_mask = 1});
}

}  // namespace

namespace layers {

Lstm lstm(const VariableScope& scope, const Output& x, int64_t units, const LstmOptions& options) {
  const VariableScope layer = enter_layer(scope, options.name, "rnn");
  const auto features = size_of_last_axis(layer, x, 3);
  if (!features) return {};
  if (x.dtype() != DType::f32 || shape_of(x).rank() != 3 || units <= 0) {
    layer.scope().fail(
        invalid("x is ", dtype_name(x.dtype()), shape_of(x).to_string(), " and units ", units,
                "; an LSTM takes float [batch, steps, n] and positive units"),
        layer.name());
    return {};
  }
  const VariableScope cell = layer.enter("lstm_cell");
  const Variable kernel = cell.get_variable("kernel", {*features + units, 4 * units},
                                            {.initializer = options.kernel_initializer});
  const Variable bias =
      cell.get_variable("bias", {4 * units}, {.initializer = initializers::zeros()});
  if (!kernel.has_value() || !bias.has_value()) return {};

  const Scope& inside = layer;
  Lstm made;
  made.before = options.initial_state.value_or(LstmState{});
  if (!options.initial_state) made.before = zero_state(inside, x, units);
  const Output steps = ops::strided_slice(inside, ops::shape(inside, x, {.out_type = DType::i64}),
                                          {1}, {2}, {1}, {.shrink_axis_mask = 1});
  // Not looked at without peepholes, but asked for.
  const Output no_peephole =
      ops::fill(inside, Tensor::vector<int64_t>({units}), constant(inside, 0, DType::f32));
  const auto run =
      ops::block_lstm(inside, steps, swap_batch_and_steps(inside, x), made.before.memory,
                      made.before.output, kernel, no_peephole, no_peephole, no_peephole, bias,
                      {.forget_bias = static_cast<float>(options.forget_bias), .cell_clip = -1.0F});
  const PartialShape of_x = shape_of(x);
  made.outputs = told_shape(inside, swap_batch_and_steps(inside, run.h),
                            PartialShape{of_x.dim(0), of_x.dim(1)}, std::array<int64_t, 1>{units});
  made.after = {.memory = last_step(inside, run.cs), .output = last_step(inside, run.h)};
  return made;
}

}  // namespace layers
}  // namespace millrace
