// Part of gradients.h: of convolutions and poolings, and of normalisation among neighbours.
#include "millrace/ops/nn/gradients.h"

namespace millrace::grad {
namespace {

// How windows go, as the forward op says it: what its gradients say as well.
Attrs windows_of(GradContext& g) {
  Attrs copied;
  for (const char* name : {"strides", "padding", "explicit_paddings", "data_format", "dilations",
                           "use_cudnn_on_gpu", "ksize", "include_batch_in_index", "rates"}) {
    if (const AttrValue* value = g.attrs().find(name)) copied.set(name, *value);
  }
  return copied;
}

// The three directions of a convolution: the gradients of each are the two others.
struct Names {
  const char *forward, *by_images, *by_filter;
};
constexpr Names kOrdinary = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
constexpr Names kVolumes = {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"};
constexpr Names kDepthwise = {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                              "DepthwiseConv2dNativeBackpropFilter"};

Status of_forward(GradContext& g, const Names& names) {
  const Attrs attrs = windows_of(g);
  const Endpoint images = g.input(0), filter = g.input(1), arriving = g.grad();
  if (g.is_needed(0))
    g.set_input_grad(0, g.add(names.by_images, {g.shape_node(images), filter, arriving}, attrs));
  if (g.is_needed(1))
    g.set_input_grad(1, g.add(names.by_filter, {images, g.shape_node(filter), arriving}, attrs));
  return {};
}

Status of_by_images(GradContext& g, const Names& names) {
  const Attrs attrs = windows_of(g);
  const Endpoint filter = g.input(1), outputs = g.input(2), arriving = g.grad();
  if (g.is_needed(1))
    g.set_input_grad(1, g.add(names.by_filter, {arriving, g.shape_node(filter), outputs}, attrs));
  if (g.is_needed(2)) g.set_input_grad(2, g.add(names.forward, {arriving, filter}, attrs));
  return {};
}

Status of_by_filter(GradContext& g, const Names& names) {
  const Attrs attrs = windows_of(g);
  const Endpoint images = g.input(0), outputs = g.input(2), arriving = g.grad();
  if (g.is_needed(0))
    g.set_input_grad(0, g.add(names.by_images, {g.shape_node(images), arriving, outputs}, attrs));
  if (g.is_needed(2)) g.set_input_grad(2, g.add(names.forward, {images, arriving}, attrs));
  return {};
}

// Zeros for inputs that decide only which element a window chose.
void set_unmoved(GradContext& g, std::initializer_list<int> slots) {
  for (const int slot : slots) {
    if (g.is_needed(slot)) g.set_input_grad(slot, g.add("ZerosLike", {g.input(slot)}));
  }
}

// Of what takes (input, output, moved), and maybe sizes after them: what moves goes through `op`.
Status of_chosen(GradContext& g, const char* op) {
  const Attrs attrs = windows_of(g);
  if (g.is_needed(2)) {
    std::vector<Endpoint> inputs = {g.input(0), g.input(1), g.grad()};
    for (int slot = 3; slot < g.num_inputs(); ++slot) inputs.push_back(g.input(slot));
    g.set_input_grad(2, g.add(op, inputs, attrs));
  }
  set_unmoved(g, {0, 1});
  return {};
}

}  // namespace

Status convolution(GradContext& g) { return of_forward(g, kOrdinary); }
Status convolution_by_images(GradContext& g) { return of_by_images(g, kOrdinary); }
Status convolution_by_filter(GradContext& g) { return of_by_filter(g, kOrdinary); }
Status volume_convolution(GradContext& g) { return of_forward(g, kVolumes); }
Status volume_convolution_by_images(GradContext& g) { return of_by_images(g, kVolumes); }
Status volume_convolution_by_filter(GradContext& g) { return of_by_filter(g, kVolumes); }
Status depthwise(GradContext& g) { return of_forward(g, kDepthwise); }
Status depthwise_by_images(GradContext& g) { return of_by_images(g, kDepthwise); }
Status depthwise_by_filter(GradContext& g) { return of_by_filter(g, kDepthwise); }

Status max_pool(GradContext& g) {
  const Attrs attrs = windows_of(g);
  std::vector<Endpoint> inputs = {g.input(0), g.output(0), g.grad()};
  for (int slot = 1; slot < g.num_inputs(); ++slot) inputs.push_back(g.input(slot));
  g.set_input_grad(0, g.add(g.num_inputs() > 1 ? "MaxPoolGradV2" : "MaxPoolGrad", inputs, attrs));
  return {};
}

Status max_pool_grad(GradContext& g) {
  const AttrValue* padding = g.attrs().find("padding");
  if (padding != nullptr && padding->to_string().find("EXPLICIT") != std::string::npos) {
    return unimplemented("MaxPoolGrad has no gradient with explicit paddings; pad its input");
  }
  return of_chosen(g, g.num_inputs() > 3 ? "MaxPoolGradGradV2" : "MaxPoolGradGrad");
}
Status max_pool_grad_grad(GradContext& g) {
  return of_chosen(g, g.num_inputs() > 3 ? "MaxPoolGradV2" : "MaxPoolGrad");
}

Status volume_max_pool(GradContext& g) {
  const Attrs attrs = windows_of(g);
  g.set_input_grad(0, g.add("MaxPool3DGrad", {g.input(0), g.output(0), g.grad()}, attrs));
  return {};
}
Status volume_max_pool_grad(GradContext& g) { return of_chosen(g, "MaxPool3DGradGrad"); }
Status volume_max_pool_grad_grad(GradContext& g) {
  if (g.dtype(g.input(2)) != DType::f64) return of_chosen(g, "MaxPool3DGrad");
  // Which takes no doubles.
  const auto cast = [&](Endpoint of, DType from, DType to) {
    return g.add("Cast", {of}, {{"SrcT", from}, {"DstT", to}});
  };
  if (g.is_needed(2)) {
    std::vector<Endpoint> inputs = {g.input(0), g.input(1), g.grad()};
    for (Endpoint& input : inputs) input = cast(input, DType::f64, DType::f32);
    const Endpoint made = g.add("MaxPool3DGrad", inputs, windows_of(g));
    g.set_input_grad(2, cast(made, DType::f32, DType::f64));
  }
  set_unmoved(g, {0, 1});
  return {};
}

Status max_pool_with_argmax(GradContext& g) {
  const Attrs attrs = windows_of(g);
  g.set_input_grad(0, g.add("MaxPoolGradWithArgmax", {g.input(0), g.grad(), g.output(1)}, attrs));
  return {};
}

namespace {

Status by_argmax(GradContext& g, const char* op) {
  const Attrs attrs = windows_of(g);
  if (g.is_needed(1)) g.set_input_grad(1, g.add(op, {g.input(0), g.grad(), g.input(2)}, attrs));
  set_unmoved(g, {0});
  return {};
}

}  // namespace

Status max_pool_grad_with_argmax(GradContext& g) {
  return by_argmax(g, "MaxPoolGradGradWithArgmax");
}
Status max_pool_grad_grad_with_argmax(GradContext& g) {
  return by_argmax(g, "MaxPoolGradWithArgmax");
}

Status average_pool(GradContext& g) {
  const Attrs attrs = windows_of(g);
  g.set_input_grad(0, g.add("AvgPoolGrad", {g.shape_node(g.input(0)), g.grad()}, attrs));
  return {};
}

Status average_pool_grad(GradContext& g) {
  const Attrs attrs = windows_of(g);
  if (g.is_needed(1)) g.set_input_grad(1, g.add("AvgPool", {g.grad()}, attrs));
  return {};
}

Status volume_average_pool(GradContext& g) {
  const Attrs attrs = windows_of(g);
  g.set_input_grad(0, g.add("AvgPool3DGrad", {g.shape_node(g.input(0)), g.grad()}, attrs));
  return {};
}

Status volume_average_pool_grad(GradContext& g) {
  const Attrs attrs = windows_of(g);
  if (g.is_needed(1)) g.set_input_grad(1, g.add("AvgPool3D", {g.grad()}, attrs));
  return {};
}

Status local_response(GradContext& g) {
  Attrs attrs;
  for (const char* name : {"depth_radius", "bias", "alpha", "beta"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  g.set_input_grad(0, g.add("LRNGrad", {g.grad(), g.input(0), g.output(0)}, attrs));
  return {};
}

Status dilation(GradContext& g) {
  const Attrs attrs = windows_of(g);
  const std::initializer_list<Endpoint> inputs = {g.input(0), g.input(1), g.grad()};
  if (g.is_needed(0)) g.set_input_grad(0, g.add("Dilation2DBackpropInput", inputs, attrs));
  if (g.is_needed(1)) g.set_input_grad(1, g.add("Dilation2DBackpropFilter", inputs, attrs));
  return {};
}

Status fractional_max_pool(GradContext& g) {
  MR_ASSIGN(const bool overlapping, g.attrs().boolean("overlapping"));
  g.set_input_grad(0, g.add("FractionalMaxPoolGrad",
                            {g.input(0), g.output(0), g.grad(0), g.output(1), g.output(2)},
                            {{"overlapping", overlapping}}));
  return {};
}

Status fractional_avg_pool(GradContext& g) {
  MR_ASSIGN(const bool overlapping, g.attrs().boolean("overlapping"));
  const Endpoint dims = g.add("Shape", {g.input(0)}, {{"out_type", DType::i64}});
  g.set_input_grad(0, g.add("FractionalAvgPoolGrad", {dims, g.grad(0), g.output(1), g.output(2)},
                            {{"overlapping", overlapping}}));
  return {};
}

}  // namespace millrace::grad
