// Layers: variables that are made by their first use, and the nodes that use them, with the names
// and defaults of tf.layers: layers::dense(model, x, 64) makes "dense/kernel" and "dense/bias", the
// next one "dense_1/kernel" …
//
// What a layer takes besides its inputs is in a struct. Sizes of features must be known. A name
// given by `name` is shared with an earlier layer of that name where the scope reuses; images are
// [batch, height, width, channels]. Errors of all: INVALID_ARGUMENT, with the layer's name, for
// ranks and sizes that don't fit.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "millrace/train/variable_scope.h"

namespace millrace {

// relu, say: `ops::relu`. None for none.
using Activation = std::function<Output(const Scope&, const Input&)>;

enum class Padding : uint8_t { valid, same };
// Whether a layer that behaves differently in training is trained.
enum class Phase : uint8_t { inference, training };

namespace layers {

struct DenseOptions {
  Activation activation = nullptr;
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;
  Initializer bias_initializer = initializers::zeros();
  Regularizer kernel_regularizer = nullptr;
  bool is_trainable = true;
  std::string name = {};
};

struct Conv2DOptions {
  std::array<int64_t, 2> strides = {1, 1};
  Padding padding = Padding::valid;
  std::array<int64_t, 2> dilation_rate = {1, 1};
  Activation activation = nullptr;
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;
  Initializer bias_initializer = initializers::zeros();
  Regularizer kernel_regularizer = nullptr;
  bool is_trainable = true;
  std::string name = {};
};

struct PoolingOptions {
  std::optional<std::array<int64_t, 2>> strides = std::nullopt;  // none: those of the windows
  Padding padding = Padding::valid;
  std::string name = {};
};

struct DropoutOptions {
  double rate = 0.5;  // the share that is dropped, from 0 up to and without 1
  std::optional<int64_t> seed = std::nullopt;
  Phase phase = Phase::inference;
  std::string name = {};
};

struct BatchNormalizationOptions {
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Phase phase = Phase::inference;
  std::string name = {};
};

// activation(x * kernel + bias), the product along the last axis of x: [..., n] to [..., units].
Output dense(const VariableScope& scope, const Output& x, int64_t units,
             const DenseOptions& options = {});
// activation(filters moved over images + bias).
Output conv2d(const VariableScope& scope, const Output& images, int64_t filters,
              std::array<int64_t, 2> kernel_size, const Conv2DOptions& options = {});
// The largest, or the average, of each window.
Output max_pooling2d(const VariableScope& scope, const Output& images,
                     std::array<int64_t, 2> pool_size, const PoolingOptions& options = {});
Output average_pooling2d(const VariableScope& scope, const Output& images,
                         std::array<int64_t, 2> pool_size, const PoolingOptions& options = {});
// In training, sets a share of x to 0 and scales the rest so that the mean stays.
Output dropout(const VariableScope& scope, const Output& x, const DropoutOptions& options = {});
// gamma * (x - mean) / sqrt(variance + epsilon) + beta, along the last axis: in training those of
// the batch, else moving averages of them. In training the averages move only if the operations in
// collections().update_ops run with the step: scope.after(update_ops) around the optimizer.
Output batch_normalization(const VariableScope& scope, const Output& x,
                           const BatchNormalizationOptions& options = {});
// [batch, ...] as a matrix [batch, n].
Output flatten(const VariableScope& scope, const Output& x);

}  // namespace layers

// The rows of a table at these ids. The gradient stays rows.
Output embedding_lookup(const Scope& scope, const Variable& table, const Output& ids);
// The same from a table in parts, by runs of rows (tf.nn.embedding_lookup's strategy "div"). Only
// rows travel.
Output embedding_lookup(const Scope& scope, const PartitionedVariable& table, const Output& ids);

}  // namespace millrace
