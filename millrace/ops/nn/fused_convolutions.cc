// Part of families.h: register_fused_convolutions.
#include "millrace/op/bind.h"
#include "millrace/ops/loops/fused_tail.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/nn/convolution_shape.h"
#include "millrace/ops/nn/families.h"

namespace millrace {
namespace {

class FusedConvolution final : public Kernel {
 public:
  FusedConvolution(Windows windows, FusedTail tail) : windows_(std::move(windows)), tail_(tail) {}

  Status run(KernelContext& context) override {
    const CancelProbe probe(context);
    MR_ASSIGN(const ConvolutionShape shape,
              convolution_of(windows_, Filter::ordinary, context.input(0).shape(),
                             context.input(1).shape()));
    std::vector<Tensor> inputs;
    for (int slot = 0; slot < context.num_inputs(); ++slot) {
      MR_ASSIGN(inputs.emplace_back(), widened(context.input(slot), probe));
    }
    MR_ASSIGN(inputs[0], channels_last(windows_, inputs[0], context));
    MR_ASSIGN(const Shape rows,
              rows_shape(windows_, shape.batch, shape.slides, Side::out, shape.outputs));
    MR_ASSIGN(Tensor made, Tensor::allocate(inputs[0].dtype(), rows));
    MR_ASSIGN(const ReadyTail tail, tail_.with(rows, std::span(inputs).subspan(2)));
    MR_TRY(convolver_.run(context, shape, {inputs[0], inputs[1], made},
                          [&](int64_t first, int64_t count) { tail.change(made, first, count); }));
    MR_ASSIGN(made, narrowed(made, context.output_dtype(0), probe));
    return context.set_output(0, in_format(windows_, made, context));
  }

 private:
  const Windows windows_;
  const FusedTail tail_;
  Convolver convolver_{onednn::Direction::forward};
};

Result<std::unique_ptr<Kernel>> fused_convolution(const KernelSpec& spec) {
  MR_ASSIGN(const std::string filter, spec.attrs.string("filter_format"));
  if (filter != "HWIO")
    return unimplemented("_FusedConv2D: filter format ", filter, "; here is HWIO");
  for (const ArgType& input : spec.inputs) {
    if (input.dtype == spec.inputs[0].dtype) continue;
    return unimplemented("_FusedConv2D of ", dtype_name(spec.inputs[0].dtype), " has an input of ",
                         dtype_name(input.dtype), "; all must be of one type");
  }
  MR_ASSIGN(Windows windows, Windows::of(spec.attrs));
  MR_ASSIGN(const FusedTail tail, FusedTail::of(spec.attrs));
  return std::unique_ptr<Kernel>(std::make_unique<FusedConvolution>(std::move(windows), tail));
}

}  // namespace

Status register_fused_convolutions(OpRegistry& ops) {
  const std::string example =
      "[[[[1] [2]] [[3] [4]]]], [[[[1 -2]]]], [1 2] -> [[[[2 0] [3 0]] [[4 0] [5 0]]]] | TArgs = "
      "{float}, num_args = 1, num_host_args = 0, strides = {1, 1, 1, 1}, padding = 'VALID', "
      "fused_ops = {'BiasAdd', "
      "'Relu'}, T = float";
  return ops.add({
      .name = "_FusedConv2D",
      .doc = "Conv2D, then a bias or a batch normalisation by given means and variances, and maybe "
             "an activation: what TensorFlow's master writes instead of the nodes one after the "
             "other.",
      .signature =
          "input: T, filter: T, args: TArgs, host_args: num_host_args*float -> output: T | "
          "T: {half, float, double}, TArgs: list(type) >= 1, num_args: int >= 0, "
          "num_host_args: int >= 0 = 0, strides: list(int), padding: {'SAME', 'VALID', "
          "'EXPLICIT'}, explicit_paddings: list(int) = {}, data_format: {'NHWC', 'NCHW', "
          "'NCHW_VECT_C'} = 'NHWC', filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO', "
          "dilations: list(int) = {1, 1, 1, 1}, use_cudnn_on_gpu: bool = true, fused_ops: "
          "list(string) = {}, epsilon: float = 0.0001, leakyrelu_alpha: float = 0.2",
      .infer = infer_convolution(Filter::ordinary),
      .cpu = fused_convolution,
      .not_differentiable = "it is written where gradients have been made already",
      .cost = Cost::heavy,
      .examples = {example},
  });
}

}  // namespace millrace
