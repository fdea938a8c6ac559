// Part of families.h: register_fused_matmuls.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/fused_tail.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/multiplier.h"

namespace millrace {
namespace {

Side turned_if(bool is_turned) { return is_turned ? Side::transposed : Side::as_is; }

Status fused_matmul(KernelContext& context, bool turn_a, bool turn_b, const FusedTail& tail) {
  const CancelProbe probe(context);
  std::vector<Tensor> inputs;
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    MR_ASSIGN(inputs.emplace_back(), widened(context.input(slot), probe));
  }
  for (int slot = 0; slot < 2; ++slot) {
    if (inputs[static_cast<size_t>(slot)].shape().rank() == 2) continue;
    return invalid("In[", slot, "] is not a matrix. Instead it has shape ",
                   context.input(slot).shape().to_string());
  }
  const DType wide = wide_type(context.output_dtype(0));
  const Multiplier multiplier(turned_if(turn_a), turned_if(turn_b), product_loop_for(wide));
  MR_ASSIGN(Tensor made, multiplier.run(context, inputs[0], inputs[1]));
  MR_TRY(tail.apply(context, made, std::span(inputs).subspan(2)));
  return context.set_output(0, narrowed(made, context.output_dtype(0), probe));
}

Status infer_fused_matmul(InferContext& context) {
  MR_ASSIGN(const bool turn_a, context.attrs().boolean("transpose_a"));
  MR_ASSIGN(const bool turn_b, context.attrs().boolean("transpose_b"));
  MR_ASSIGN(const PartialShape a, context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape b, context.input_of_rank(1, 2));
  return context.set_output(0, product_shape(a, turned_if(turn_a), b, turned_if(turn_b)));
}

}  // namespace

Status register_fused_matmuls(OpRegistry& ops) {
  return ops.add({
      .name = "_FusedMatMul",
      .doc = "MatMul, then a bias and maybe an activation: what TensorFlow's master writes instead "
             "of the nodes one after the other.",
      .signature = "a: T, b: T, args: num_args*T -> product: T | transpose_a: bool = false, "
                   "transpose_b: bool = false, T: {bfloat16, half, float}, num_args: int >= 0, "
                   "fused_ops: list(string) = {}, epsilon: float = 0.0001, "
                   "leakyrelu_alpha: float = 0.2",
      .infer = infer_fused_matmul,
      .cpu = kernel_with(fused_matmul, boolean("transpose_a"), boolean("transpose_b"),
                         BoundFusedTail{}),
      .not_differentiable = "it is written where gradients have been made already",
      .cost = Cost::heavy,
      .examples = {"[[1 2] [3 4]], [[5] [6]], [-20] -> [[-3] [19]] | fused_ops = {'BiasAdd'}",
                   "[[1 2] [3 4]], [[5] [6]], [-20] -> [[0] [19]] | fused_ops = {'BiasAdd', "
                   "'Relu'}",
                   "[[1 3] [2 4]], [[5] [6]], [-20] -> [[-1.5] [19]] | transpose_a = true, "
                   "fused_ops = {'BiasAdd', 'LeakyRelu'}, leakyrelu_alpha = 0.5",
                   "[[1 2] [3 4]], [[5 6]], [-14] -> [[3] [6]] | transpose_b = true, fused_ops = "
                   "{'BiasAdd', 'Relu6'}"},
  });
}

}  // namespace millrace
