// Part of layers.h: windows over images, and batch normalization.
#include <utility>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/math.h"
#include "millrace/api/ops/nn.h"
#include "millrace/api/ops/state.h"
#include "millrace/train/layer_parts.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

std::string op_padding(Padding padding) { return padding == Padding::same ? "SAME" : "VALID"; }

std::vector<int64_t> over_images(std::array<int64_t, 2> sizes) {
  return {1, sizes[0], sizes[1], 1};
}

bool are_images(const VariableScope& layer, const Output& images) {
  if (!is_given(layer, images, "images")) return false;
  const PartialShape shape = shape_of(images);
  if (!shape.has_rank() || shape.rank() == 4) return true;
  layer.scope().fail(invalid("inputs have shape ", shape.to_string(),
                             "; images are [batch, height, width, channels]"),
                     layer.name());
  return false;
}

// average -= (average - value) * (1 - momentum), as an update of the model.
void move_average(const VariableScope& layer, const Variable& average, const Output& value,
                  double momentum) {
  const Scope beside = layer.scope().named("AssignMovingAvg").colocated_with(average.op());
  const Output difference = ops::mul(beside, ops::sub(beside, average, value), 1.0 - momentum);
  const Output moved = ops::assign_sub(beside, average.reference, difference);
  if (moved.has_value()) layer.collections().update_ops.push_back(moved.op());
}

struct Normalization {
  Variable gamma, beta, mean, variance;
};

Normalization variables_of(const VariableScope& layer, int64_t features, DType dtype,
                           const layers::BatchNormalizationOptions& options) {
  const DType wide = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
  const auto make = [&](std::string_view name, Initializer initializer, bool is_trainable) {
    return layer.get_variable(
        name, {features},
        {.dtype = wide, .initializer = std::move(initializer), .is_trainable = is_trainable});
  };
  Normalization made;
  if (options.scale) made.gamma = make("gamma", initializers::ones(), true);
  if (options.center) made.beta = make("beta", initializers::zeros(), true);
  made.mean = make("moving_mean", initializers::zeros(), false);
  made.variance = make("moving_variance", initializers::ones(), false);
  return made;
}

// By one op. The moving variance is then that of the population.
Output fused(const VariableScope& layer, const Output& images, int64_t features,
             const Normalization& of, const layers::BatchNormalizationOptions& options) {
  const bool is_training = options.phase == Phase::training;
  const Tensor nothing = Tensor::vector<float>({});
  const auto filled = [&](double number) {
    return initializers::constant(number)(layer, {.shape = {features}});
  };
  const auto made = ops::fused_batch_norm_v3(
      layer, images, options.scale ? of.gamma.value : filled(1),
      options.center ? of.beta.value : filled(0), is_training ? Input(nothing) : of.mean,
      is_training ? Input(nothing) : of.variance,
      {.epsilon = static_cast<float>(options.epsilon), .is_training = is_training});
  if (is_training) {
    move_average(layer, of.mean, made.batch_mean, options.momentum);
    move_average(layer, of.variance, made.batch_variance, options.momentum);
  }
  return made.y;
}

// By many ops, for whatever rank and type.
Output composed(const VariableScope& layer, const Output& inputs, const Normalization& of,
                const layers::BatchNormalizationOptions& options) {
  const Scope& scope = layer;
  const DType wide = of.mean.dtype();
  const Output x = inputs.dtype() == wide ? inputs : ops::cast(scope, inputs, wide);
  Output mean = of.mean, variance = of.variance;
  if (options.phase == Phase::training) {
    std::vector<int32_t> axes;
    for (int axis = 0; axis + 1 < shape_of(inputs).rank(); ++axis) axes.push_back(axis);
    const Input all = Tensor::vector<int32_t>(axes);
    const Output kept = ops::mean(scope, x, all, {.keep_dims = true});
    // The mean's own gradient adds nothing here: deviations from it add up to 0.
    const Output deviations = ops::squared_difference(scope, x, ops::stop_gradient(scope, kept));
    mean = ops::reshape(scope, kept, {-1});
    variance = ops::mean(scope, deviations, all);
    move_average(layer, of.mean, mean, options.momentum);
    move_average(layer, of.variance, variance, options.momentum);
  }
  Output factor = ops::rsqrt(scope, ops::add_v2(scope, variance, options.epsilon));
  if (options.scale) factor = ops::mul(scope, factor, of.gamma);
  const Output moved = ops::mul(scope, mean, factor);
  const Output rest = options.center ? ops::sub(scope, of.beta, moved) : ops::neg(scope, moved);
  const Output made = ops::add_v2(scope, ops::mul(scope, x, factor), rest);
  return inputs.dtype() == wide ? made : ops::cast(scope, made, inputs.dtype());
}

}  // namespace

namespace layers {

Output conv2d(const VariableScope& scope, const Output& images, int64_t filters,
              std::array<int64_t, 2> kernel_size, const Conv2DOptions& options) {
  const VariableScope layer = enter_layer(scope, options.name, "conv2d");
  if (!are_images(layer, images)) return {};
  const auto channels = size_of_last_axis(layer, images, 4);
  if (!channels) return {};
  const auto shape =
      Shape::create(std::array<int64_t, 4>{kernel_size[0], kernel_size[1], *channels, filters});
  if (!shape.ok()) {
    layer.scope().fail(shape.status(), layer.name());
    return {};
  }
  const Variable kernel = layer.get_variable("kernel", *shape,
                                             {.dtype = images.dtype(),
                                              .initializer = options.kernel_initializer,
                                              .regularizer = options.kernel_regularizer,
                                              .is_trainable = options.is_trainable});
  if (!kernel.has_value()) return {};
  const Output moved =
      ops::conv2d(layer.scope().with_name("Conv2D"), images, kernel, over_images(options.strides),
                  op_padding(options.padding), {.dilations = over_images(options.dilation_rate)});
  return with_bias(layer, moved, filters, options.use_bias ? options.bias_initializer : nullptr,
                   options.is_trainable, options.activation);
}

Output max_pooling2d(const VariableScope& scope, const Output& images,
                     std::array<int64_t, 2> pool_size, const PoolingOptions& options) {
  const VariableScope layer = enter_layer(scope, options.name, "max_pooling2d");
  if (!are_images(layer, images)) return {};
  return ops::max_pool(layer.scope().with_name("MaxPool"), images, over_images(pool_size),
                       over_images(options.strides.value_or(pool_size)),
                       op_padding(options.padding));
}

Output average_pooling2d(const VariableScope& scope, const Output& images,
                         std::array<int64_t, 2> pool_size, const PoolingOptions& options) {
  const VariableScope layer = enter_layer(scope, options.name, "average_pooling2d");
  if (!are_images(layer, images)) return {};
  return ops::avg_pool(layer.scope().with_name("AvgPool"), images, over_images(pool_size),
                       over_images(options.strides.value_or(pool_size)),
                       op_padding(options.padding));
}

Output batch_normalization(const VariableScope& scope, const Output& x,
                           const BatchNormalizationOptions& options) {
  const VariableScope layer = enter_layer(scope, options.name, "batch_normalization");
  const auto features = size_of_last_axis(layer, x, 2);
  if (!features) return {};
  const Normalization of = variables_of(layer, *features, x.dtype(), options);
  if (!of.mean.has_value() || !of.variance.has_value()) return {};
  const bool is_fusible = shape_of(x).rank() == 4 && x.dtype() != DType::f64;
  return is_fusible ? fused(layer, x, *features, of, options) : composed(layer, x, of, options);
}

}  // namespace layers
}  // namespace millrace
