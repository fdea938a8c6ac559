#include "millrace/autodiff/scope_gradients.h"

#include <doctest/doctest.h>

#include "millrace/autodiff/testing/program.h"

namespace millrace {
namespace {

using testing::all_ops;

Output node(const Scope& scope, std::string_view op, std::vector<Output> inputs, Attrs attrs = {}) {
  return Output(scope.add(op, std::move(inputs), std::move(attrs)), 0);
}

Output placeholder(const Scope& scope, std::vector<int64_t> dims) {
  const auto shape = PartialShape::create(dims);
  REQUIRE(shape.ok());
  return node(scope, "Placeholder", {}, {{"dtype", DType::f32}, {"shape", *shape}});
}

TEST_CASE("a program of C++ asks for gradients by its outputs, and gets outputs") {
  GraphBuilder builder(all_ops());
  const Scope root = builder.root();
  const Output x = placeholder(root.with_name("x"), {2, 3});
  const Output w = placeholder(root.with_name("w"), {3, 1});
  const Output other = placeholder(root.with_name("other"), {});
  const Output y = node(root.with_name("y"), "MatMul", {x, w});
  const auto by = gradients(root.named("train").device("/cpu:1"), {y}, {w, other});
  REQUIRE_MESSAGE(builder.status().ok(), builder.status().to_string());
  REQUIRE(by.size() == 2);
  CHECK(by[0].values.name() == "train/gradients/y_grad/MatMul:0");
  CHECK_FALSE(by[0].is_slices());
  CHECK_FALSE(by[1].has_value());
  const Node* made = builder.graph().find("train/gradients/y_grad/MatMul");
  REQUIRE(made != nullptr);
  CHECK(made->requested_device().ends_with("1"));
  // The scope that was used has left nothing behind.
  CHECK(node(root, "Neg", {x}).name() == "Neg:0");
}

TEST_CASE("a gather's gradient is given as rows") {
  GraphBuilder builder(all_ops());
  const Scope root = builder.root();
  const Output w = placeholder(root.with_name("w"), {9, 2});
  const Output i =
      node(root, "Const", {}, {{"value", Tensor::vector<int32_t>({1, 2})}, {"dtype", DType::i32}});
  const auto by = gradients(root, {node(root, "Gather", {w, i})}, {w});
  REQUIRE_MESSAGE(builder.status().ok(), builder.status().to_string());
  CHECK(by[0].is_slices());
  CHECK(by[0].indices.name() == i.name());
}

TEST_CASE("what can't be done is kept in the builder, and gives nothing") {
  GraphBuilder builder(all_ops()), another(all_ops());
  const Scope root = builder.root();
  const Output x = placeholder(root.with_name("x"), {2});
  const Output foreign = placeholder(another.root(), {2});
  CHECK_FALSE(gradients(root, {x}, {foreign})[0].has_value());
  CHECK(builder.status().to_string() ==
        "INVALID_ARGUMENT: gradients: one of xs belongs to another graph");
  CHECK_FALSE(gradients(root, {x}, {x})[0].has_value());
}

}  // namespace
}  // namespace millrace
