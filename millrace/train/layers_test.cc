#include "millrace/train/layers.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "millrace/api/ops/math.h"
#include "millrace/train/losses.h"
#include "millrace/train/optimizers.h"
#include "millrace/train/reductions.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::check_near;
using testing::Model;

// Zeros after `values`.
Tensor matrix(Shape shape, std::initializer_list<float> values) {
  Tensor made = Tensor::allocate(DType::f32, shape).value();
  std::ranges::fill(made.mutable_flat<float>(), 0.0F);
  std::ranges::copy(values, made.mutable_flat<float>().begin());
  return made;
}

TEST_CASE("dense is activation(x * kernel + bias), along the last axis whatever the rank") {
  Model model;
  const auto kernel = initializers::value(matrix({2, 1}, {1, -1}));
  const auto bias = initializers::constant(0.5);
  const Output x = model.placeholder(DType::f32, {-1, 2});
  const Output deep = model.placeholder(DType::f32, {1, -1, 2});
  const Output flat = layers::dense(
      model.root, x, 1,
      {.activation = ops::relu, .kernel_initializer = kernel, .bias_initializer = bias});
  // What it makes has a size that the next layer knows.
  CHECK(layers::dense(model.root, layers::dense(model.root, deep, 3), 1).has_value());
  const Output nested =
      layers::dense(model.root, deep, 1, {.use_bias = false, .kernel_initializer = kernel});
  model.initialize();
  check_near(model.floats(flat, {{x.name(), matrix({2, 2}, {3, 1, 1, 3})}}), {2.5, 0});
  const Tensor made = model.run(nested, {{deep.name(), matrix({1, 2, 2}, {3, 1, 1, 3})}});
  CHECK(made.to_string() == "float[1,2,1] 2 -2");
}

TEST_CASE("a layer of a given name is the earlier one where the scope reuses, else it is refused") {
  Model model;
  const Output x = model.placeholder(DType::f32, {-1, 2});
  const auto head = [&](const VariableScope& scope) {
    return layers::dense(scope, x, 1, {.use_bias = false, .name = "head"});
  };
  const VariableScope shared = model.root.enter("net", Reuse::automatic);
  CHECK(head(shared).has_value());
  CHECK(head(shared).has_value());
  REQUIRE(model.root.collections().global_variables.size() == 1);
  CHECK(model.root.collections().global_variables[0].name == "net/head/kernel");
  CHECK(head(model.root.enter("net", Reuse::all)).has_value());
  CHECK_FALSE(head(model.root.enter("net", Reuse::none)).has_value());
  CHECK(model.status().find("variable 'net/head/kernel': it is there already") !=
        std::string::npos);
}

TEST_CASE("a dense layer of what has no known size names itself") {
  Model model;
  CHECK_FALSE(layers::dense(model.root.enter("net"), model.placeholder(DType::f32, {4, -1}), 2)
                  .has_value());
  CHECK(model.status().find("net/dense: inputs have shape [4,?]") != std::string::npos);
}

TEST_CASE("what is no value is said, by the layer that it was given to") {
  const auto said = [](auto use) {
    Model model;
    use(model);
    return model.status();
  };
  CHECK(said([](Model& m) { layers::dense(m.root, {}, 1); }) ==
        "INVALID_ARGUMENT: dense: x is no value of a graph");
  CHECK(said([](Model& m) { layers::flatten(m.root.enter("net"), {}); }) ==
        "INVALID_ARGUMENT: net/flatten: x is no value of a graph");
  CHECK(said([](Model& m) {
          layers::max_pooling2d(m.root, {}, {2, 2});
        }).find("images is") != std::string::npos);
  CHECK(said([](Model& m) { losses::mean_squared_error(m.root, {}, {}); }) ==
        "INVALID_ARGUMENT: mean_squared_error: labels is no value of a graph");
  CHECK(said([](Model& m) {
          embedding_lookup(m.root, PartitionedVariable{.name = "t"}, constant(m.root, {1}));
        }) == "INVALID_ARGUMENT: embedding_lookup: the table 't' has no parts");
}

TEST_CASE("convolutions and pools move windows over images") {
  Model model;
  const Output images = model.placeholder(DType::f32, {-1, 2, 2, 1});
  const auto ones = initializers::ones();
  const Output valid = layers::conv2d(model.root, images, 1, {2, 2}, {.kernel_initializer = ones});
  const Output same =
      layers::conv2d(model.root, images, 1, {2, 2},
                     {.padding = Padding::same, .use_bias = false, .kernel_initializer = ones});
  const Output largest = layers::max_pooling2d(model.root, images, {2, 2});
  const Output average =
      layers::average_pooling2d(model.root, images, {2, 1}, {.strides = {{1, 1}}});
  model.initialize();
  const Session::Feeds feeds = {{images.name(), matrix({1, 2, 2, 1}, {1, 2, 3, 4})}};
  check_near(model.floats(valid, feeds), {10});
  check_near(model.floats(same, feeds), {10, 6, 7, 4});
  check_near(model.floats(largest, feeds), {4});
  check_near(model.floats(average, feeds), {2, 3});
  CHECK(model.root.collections().global_variables[0].name == "conv2d/kernel");
  CHECK(model.root.collections().global_variables[0].shape == Shape{2, 2, 1, 1});
}

TEST_CASE("dropout drops in training alone, and keeps the mean") {
  Model model;
  const Output x = constant(model.root, matrix({1000}, {}));
  const Output ones = ops::add(model.root, x, 1.0);
  const Output same = layers::dropout(model.root, ones);
  const Output dropped =
      layers::dropout(model.root, ones, {.rate = 0.25, .seed = 3, .phase = Phase::training});
  const std::vector<float> kept = model.floats(dropped);
  CHECK(model.floats(same) == std::vector<float>(1000, 1.0F));
  const auto zeros = std::ranges::count(kept, 0.0F);
  CHECK(zeros > 200);
  CHECK(zeros < 300);
  for (const float each : kept)
    if (each != 0) CHECK(each == doctest::Approx(4.0 / 3));
  CHECK_FALSE(layers::dropout(model.root, ones, {.rate = 1}).has_value());
}

TEST_CASE("batch normalization is by the batch in training, and by the averages after it") {
  for (const int rank : {2, 4}) {
    Model model;
    const Shape shape = rank == 2 ? Shape{4, 1} : Shape{4, 1, 1, 1};
    const Output x = constant(model.root, matrix(shape, {1, 2, 3, 6}));
    const Output trained = layers::batch_normalization(
        model.root.enter("net"), x, {.momentum = 0.5, .epsilon = 0, .phase = Phase::training});
    const Output used =
        layers::batch_normalization(model.root.enter("net", Reuse::all), x, {.epsilon = 0});
    REQUIRE(model.status() == "OK");
    const Collections& all = model.root.collections();
    CHECK(all.trainable_variables.size() == 2);
    CHECK(all.global_variables[3].name == "net/batch_normalization/moving_variance");
    REQUIRE(all.update_ops.size() == 2);
    model.initialize();
    const double deviation = std::sqrt(3.5);  // of the batch; its mean is 3
    check_near(model.floats(trained), {-2 / deviation, -1 / deviation, 0, 3 / deviation});
    for (const Operation& update : all.update_ops) model.perform(update);
    // The fused op moves the variance of the population.
    const double variance = 0.5 + 0.5 * (rank == 4 ? 3.5 * 4 / 3 : 3.5);
    check_near(model.floats(used), {(1 - 1.5) / std::sqrt(variance), 0.5 / std::sqrt(variance),
                                    1.5 / std::sqrt(variance), 4.5 / std::sqrt(variance)});
  }
}

TEST_CASE("flatten keeps the batch") {
  Model model;
  const Output x = model.placeholder(DType::f32, {-1, 2, 3});
  const Output open = model.placeholder(DType::f32, {2, -1, 2});
  const auto zeros = [](Shape shape) { return matrix(std::move(shape), {}); };
  CHECK(model.run(layers::flatten(model.root, x), {{x.name(), zeros({5, 2, 3})}}).shape() ==
        Shape{5, 6});
  CHECK(model.run(layers::flatten(model.root, open), {{open.name(), zeros({2, 4, 2})}}).shape() ==
        Shape{2, 8});
}

TEST_CASE("rows of a table in parts are those of the whole, and their gradients go to their part") {
  Model model;
  const PartitionedVariable table = model.root.get_partitioned("table", {5, 1}, 2);
  const Output ids = constant(model.root, Tensor::vector<int64_t>({4, 0, 2, 3, 2}));
  const Output rows = embedding_lookup(model.root, table, ids);
  CHECK(layers::flatten(model.root, rows).has_value());
  CHECK(layers::dense(model.root, rows, 1, {.is_trainable = false}).has_value());
  GradientDescentOptimizer optimizer(1.0);
  const Operation train = optimizer.minimize(model.root, reduce_sum(model.root, rows));
  REQUIRE(model.status() == "OK");
  model.initialize();
  const auto first = model.floats(table.parts[0]), second = model.floats(table.parts[1]);
  CHECK(model.floats(rows) ==
        std::vector<float>{second[1], first[0], first[2], second[0], first[2]});
  model.perform(train);
  check_near(model.floats(table.parts[0]), {first[0] - 1, first[1], first[2] - 2});
  check_near(model.floats(table.parts[1]), {second[0] - 1, second[1] - 1});
}

TEST_CASE("regularizers join the total loss") {
  Model model;
  const Output x = model.placeholder(DType::f32, {-1, 2});
  const Output y = layers::dense(model.root, x, 1,
                                 {.kernel_initializer = initializers::constant(3),
                                  .kernel_regularizer = regularizers::l2(0.5)});
  losses::mean_squared_error(model.root, constant(model.root, matrix({1, 1}, {1})), y);
  const Output total = losses::get_total_loss(model.root);
  model.initialize();
  check_near(model.floats(total, {{x.name(), matrix({1, 2}, {1, 0})}}), {4 + 9});
}

}  // namespace
}  // namespace millrace
