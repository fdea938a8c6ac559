#include "millrace/ops/state/tensor_array_gradients.h"

namespace millrace {
namespace {

// The array of gradients that belongs to the array of input 0, and its flow.
struct GradientArray {
  Endpoint handle, flow;
};

GradientArray gradients_of_array(GradContext& g, Endpoint flow) {
  // Whoever asks for gradients says what tells them apart from those of another call.
  const Endpoint handle = g.add("TensorArrayGradV3", {g.input(0), flow});
  return {handle, {handle.node, 1}};
}

}  // namespace

Status array_read_gradient(GradContext& g) {
  if (!g.is_needed(2)) return {};
  const GradientArray array = gradients_of_array(g, g.input(2));
  g.set_input_grad(2,
                   g.add("TensorArrayWriteV3", {array.handle, g.input(1), g.grad(), array.flow}));
  return {};
}

Status array_write_gradient(GradContext& g) {
  g.set_input_grad(3, g.grad());
  if (!g.is_needed(2)) return {};
  const GradientArray array = gradients_of_array(g, g.grad());
  g.set_input_grad(2, g.add("TensorArrayReadV3", {array.handle, g.input(1), array.flow},
                            {{"dtype", g.dtype(g.input(2))}}));
  return {};
}

Status array_gather_gradient(GradContext& g) {
  if (!g.is_needed(2)) return {};
  const GradientArray array = gradients_of_array(g, g.input(2));
  g.set_input_grad(2,
                   g.add("TensorArrayScatterV3", {array.handle, g.input(1), g.grad(), array.flow}));
  return {};
}

Status array_scatter_gradient(GradContext& g) {
  g.set_input_grad(3, g.grad());
  if (!g.is_needed(2)) return {};
  const GradientArray array = gradients_of_array(g, g.grad());
  g.set_input_grad(2, g.add("TensorArrayGatherV3", {array.handle, g.input(1), array.flow},
                            {{"dtype", g.dtype(g.input(2))}}));
  return {};
}

Status array_concat_gradient(GradContext& g) {
  if (!g.is_needed(1)) return {};
  const GradientArray array = gradients_of_array(g, g.input(1));
  g.set_input_grad(1,
                   g.add("TensorArraySplitV3", {array.handle, g.grad(), g.output(1), array.flow}));
  return {};
}

Status array_split_gradient(GradContext& g) {
  g.set_input_grad(3, g.grad());
  if (!g.is_needed(1)) return {};
  const GradientArray array = gradients_of_array(g, g.grad());
  g.set_input_grad(1, g.add("TensorArrayConcatV3", {array.handle, array.flow},
                            {{"dtype", g.dtype(g.input(1))}}));
  return {};
}

Status array_grad_gradient(GradContext& g) {
  if (g.has_grad(1)) g.set_input_grad(1, g.grad(1));
  return {};
}

}  // namespace millrace
