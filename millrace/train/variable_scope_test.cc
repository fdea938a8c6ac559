#include "millrace/train/variable_scope.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "millrace/train/layers.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::Model;

std::vector<std::string> variable_names(const Model& model) {
  std::vector<std::string> names;
  for (const Variable& each : model.root.collections().global_variables) names.push_back(each.name);
  return names;
}

TEST_CASE("variables and their nodes have TensorFlow's names") {
  Model model;
  const Variable w = model.root.enter("head").get_variable("w", {2, 3});
  const Variable loose = model.root.in(model.root.scope().named("nodes")).variable("step", 0);
  REQUIRE(model.status() == "OK");
  CHECK(w.name == "head/w");
  CHECK(w.reference.name() == "head/w:0");
  CHECK(w.value.name() == "head/w/read:0");
  CHECK(w.initializer.name() == "head/w/Assign");
  CHECK(w.initial_value.name().starts_with("head/w/Initializer/"));
  CHECK(loose.name == "nodes/step");
  CHECK(loose.initial_value.name() == "nodes/step/initial_value:0");
}

TEST_CASE("layers count their names as tf.layers does, in each scope for itself") {
  Model model;
  const Output x = model.placeholder(DType::f32, {-1, 4});
  const VariableScope tower = model.root.enter("tower");
  layers::dense(model.root, x, 2);
  layers::dense(model.root, x, 2, {.use_bias = false});
  layers::dense(tower, x, 2);
  layers::dense(model.root, x, 2, {.use_bias = false, .name = "last"});
  REQUIRE(model.status() == "OK");
  CHECK(variable_names(model) == std::vector<std::string>{"dense/kernel", "dense/bias",
                                                          "dense_1/kernel", "tower/dense/kernel",
                                                          "tower/dense/bias", "last/kernel"});
}

TEST_CASE("a scope that reuses finds what an earlier one of its name has made") {
  Model model;
  const Output x = model.placeholder(DType::f32, {-1, 4});
  for (const Reuse reuse : {Reuse::inherited, Reuse::all, Reuse::automatic})
    layers::dense(model.root.enter("model", reuse), x, 2);
  REQUIRE(model.status() == "OK");
  CHECK(variable_names(model) ==
        std::vector<std::string>{"model/dense/kernel", "model/dense/bias"});
}

TEST_CASE("what is there, is not there, or is another is said by name") {
  SUBCASE("twice") {
    Model model;
    model.root.get_variable("w", {2});
    CHECK_FALSE(model.root.get_variable("w", {2}).has_value());
    CHECK(model.status().find("variable 'w': it is there already") != std::string::npos);
  }
  SUBCASE("never") {
    Model model;
    CHECK_FALSE(model.root.enter("a", Reuse::all).get_variable("w", {2}).has_value());
    CHECK(model.status().starts_with("NOT_FOUND: variable 'a/w': the scope has Reuse::all"));
  }
  SUBCASE("of another shape") {
    Model model;
    const VariableScope again = model.root.enter("a", Reuse::automatic);
    again.get_variable("w", {2});
    CHECK_FALSE(again.get_variable("w", {3}).has_value());
    CHECK(model.status().find("is there as float[2] and can't be shared as float[3]") !=
          std::string::npos);
  }
  SUBCASE("without a known shape") {
    Model model;
    CHECK_FALSE(model.root.variable("w", model.placeholder(DType::f32, {-1})).has_value());
    CHECK(model.status().find("variable 'w': the initial value has shape [?]") !=
          std::string::npos);
  }
}

TEST_CASE("initial values are there after the initializer, and are as they were asked for") {
  Model model;
  const Variable zeros = model.root.get_variable("i", {2}, {.dtype = DType::i64});
  const Variable filled =
      model.root.get_variable("f", {2, 2}, {.initializer = initializers::constant(0.5)});
  const Variable given = model.root.get_variable(
      "v", {2}, {.initializer = initializers::value(Tensor::vector<float>({1, 2}))});
  const Variable uniform =
      model.root.get_variable("u", {100, 50}, {.initializer = initializers::glorot_uniform(1)});
  CHECK(model
            .run(report_uninitialized_variables(model.root,
                                                model.root.collections().global_variables))
            .num_elements() == 4);
  model.initialize();
  CHECK(model.run(zeros).to_string() == "int64[2] 0 0");
  CHECK(model.run(filled).to_string() == "float[2,2] 0.5 0.5 0.5 0.5");
  CHECK(model.run(given).to_string() == "float[2] 1 2");
  const Tensor drawn = model.run(uniform);
  const float limit = 0.2F;  // sqrt(6 / (100 + 50))
  float largest = 0;
  for (const float each : drawn.flat<float>()) largest = std::max(largest, std::abs(each));
  CHECK(largest <= limit);
  CHECK(largest > 0.99F * limit);
  // No variable is left without a value.
  CHECK(model
            .run(report_uninitialized_variables(model.root,
                                                model.root.collections().global_variables))
            .num_elements() == 0);
}

TEST_CASE("a seed draws the same numbers in each graph") {
  const auto drawn = [](const Initializer& initializer) {
    Model model;
    const Variable w = model.root.get_variable("w", {3, 2}, {.initializer = initializer});
    model.initialize();
    return model.run(w).to_string();
  };
  for (const auto& make : {initializers::glorot_uniform, initializers::he_normal}) {
    CHECK(drawn(make(7)) == drawn(make(7)));
    CHECK(drawn(make(7)) != drawn(make(8)));
  }
}

TEST_CASE("a table in parts has its rows once, and its slices in checkpoints") {
  Model model;
  const PartitionedVariable table = model.root.get_partitioned("table", {5, 2}, 2);
  REQUIRE(model.status() == "OK");
  REQUIRE(table.parts.size() == 2);
  CHECK(table.parts[0].name == "table/part_0");
  CHECK(table.parts[0].slice == "5 2 0,3:0,2");
  CHECK(table.parts[1].slice == "5 2 3,2:0,2");
  CHECK(table.parts[1].saved_name == "table");
  model.root.get_partitioned("few", {1, 2}, 2);
  CHECK(model.status().find("can't be spread over 2 parts") != std::string::npos);
}

TEST_CASE("the global step is made once, at the root, whatever asks for it") {
  Model model;
  const Variable step = model.root.enter("deep").global_step();
  CHECK(model.root.global_step().name == "global_step");
  CHECK(step.name == "global_step");
  CHECK(step.dtype() == DType::i64);
  CHECK(model.root.collections().trainable_variables.empty());
}

}  // namespace
}  // namespace millrace
