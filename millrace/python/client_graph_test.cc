#include "millrace/python/client_graph.h"

#include <limits>

#include <doctest/doctest.h>

#include "millrace/op/infer.h"

namespace millrace::python {
namespace {

// ShapeOps enough to talk about shapes.
struct ShapeOps {
  OpRegistry registry;
  ShapeOps() {
    REQUIRE(registry
                .add({.name = "Const",
                      .doc = "",
                      .signature = "-> output: dtype | value: tensor, dtype: type",
                      .infer = [](InferContext& context) -> Status {
                        MR_ASSIGN(const Tensor value, context.attrs().tensor("value"));
                        context.set_output(0, value.shape());
                        return {};
                      },
                      .source = Source::constant})
                .ok());
    REQUIRE(registry
                .add({.name = "Placeholder",
                      .doc = "",
                      .signature = "-> output: dtype | dtype: type, shape: shape = ?",
                      .infer = infer::shape_attr,
                      .source = Source::fed})
                .ok());
    REQUIRE(registry
                .add({.name = "Add",
                      .doc = "",
                      .signature = "x: T, y: T -> z: T | T: type",
                      .infer = infer::broadcast})
                .ok());
    REQUIRE(registry
                .add({.name = "AddN",
                      .doc = "",
                      .signature = "inputs: N*T -> sum: T | N: int >= 1, T: type",
                      .infer = infer::same_as_input})
                .ok());
    REQUIRE(
        registry
            .add({.name = "Split",
                  .doc = "",
                  .signature = "value: T -> output: num_split*T | num_split: int >= 1, T: type"})
            .ok());
    REQUIRE(registry
                .add({.name = "Shape",
                      .doc = "",
                      .signature = "input: T -> output: out_type | T: type, "
                                   "out_type: {int32, int64} = int32",
                      .tells = ShapeFact::dims})
                .ok());
    REQUIRE(registry
                .add({.name = "Rank",
                      .doc = "",
                      .signature = "input: T -> output: int32 | T: type",
                      .tells = ShapeFact::rank})
                .ok());
    REQUIRE(registry
                .add({.name = "Identity",
                      .doc = "",
                      .signature = "input: T -> output: T | T: type",
                      .infer = infer::same_as_input,
                      .passes_on = true})
                .ok());
  }
};

NodeId placeholder(ClientGraph& graph, const std::string& name, PartialShape shape) {
  auto id = graph.add({.name = name,
                       .op = "Placeholder",
                       .attrs = {{"dtype", DType::f32}, {"shape", std::move(shape)}}});
  REQUIRE(id.ok());
  return *id;
}

TEST_CASE("a node's shape is known as soon as it is added") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {kUnknownDim, 3});
  const NodeId y = placeholder(graph, "y", {2, 1});
  const auto z = graph.add(
      {.name = "z", .op = "Add", .inputs = {{x, 0}, {y, 0}}, .attrs = {{"T", DType::f32}}});
  REQUIRE(z.ok());
  CHECK(graph.shape({*z, 0}) == PartialShape{2, 3});
}

TEST_CASE("a node whose shapes contradict each other is refused, and leaves nothing behind") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {2});
  const NodeId y = placeholder(graph, "y", {3});
  const auto z = graph.add(
      {.name = "z", .op = "Add", .inputs = {{x, 0}, {y, 0}}, .attrs = {{"T", DType::f32}}});
  CHECK(z.status().code() == Code::invalid_argument);
  CHECK(z.status().message().starts_with("Add 'z': "));
  CHECK(graph.graph().size() == 2);
  CHECK(graph.graph().find("z") == nullptr);
}

TEST_CASE("inputs that are not there are refused") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {2});
  for (const Endpoint wrong : {Endpoint{x, 1}, Endpoint{x, -1}, Endpoint{77, 0}}) {
    const auto z = graph.add(
        {.name = "z", .op = "Add", .inputs = {{x, 0}, wrong}, .attrs = {{"T", DType::f32}}});
    CHECK(z.status().code() == Code::invalid_argument);
  }
}

TEST_CASE("a wrong number of inputs is refused before the shape rule sees it") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const auto x = graph.add({.name = "x", .op = "Identity", .attrs = {{"T", DType::f32}}});
  CHECK(x.status().message() == "Node 'x' (Identity) takes 1 inputs (float), but has 0");
  for (const int64_t count : {int64_t{0}, int64_t{-7}, std::numeric_limits<int64_t>::max()}) {
    const auto sum =
        graph.add({.name = "sum", .op = "AddN", .attrs = {{"T", DType::f32}, {"N", count}}});
    CHECK(sum.status().code() == Code::invalid_argument);
  }
  CHECK(graph.graph().empty());
}

TEST_CASE("the name of a refused node is free again") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {2});
  const NodeId y = placeholder(graph, "y", {3});
  CHECK(!graph.add({.name = "z", .op = "Add", .inputs = {{x, 0}, {y, 0}}}).ok());
  const auto z = graph.add({.name = "z", .op = "Add", .inputs = {{x, 0}, {x, 0}}});
  REQUIRE(z.ok());
  CHECK(graph.shape({*z, 0}) == PartialShape{2});
}

TEST_CASE("a constant of another type than it says has no value") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const auto constant = graph.add(
      {.name = "c", .op = "Const", .attrs = {{"value", Tensor::scalar(7)}, {"dtype", DType::f32}}});
  REQUIRE(constant.ok());
  CHECK(!graph.constant({*constant, 0}));
}

TEST_CASE("outputs that a changed attribute adds have unknown shapes") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {2});
  const auto split = graph.add(
      {.name = "s", .op = "Split", .inputs = {{x, 0}}, .attrs = {{"num_split", int64_t{1}}}});
  REQUIRE(split.ok());
  REQUIRE(graph.set_attr(*split, "num_split", int64_t{9}).ok());
  CHECK(!graph.shape({*split, 8}).has_rank());
}

TEST_CASE("constants, and the shapes and ranks of what has a known one, have values") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const auto constant = graph.add(
      {.name = "c", .op = "Const", .attrs = {{"value", Tensor::scalar(7)}, {"dtype", DType::i32}}});
  CHECK(*graph.constant({*constant, 0}) == Tensor::scalar(7));

  const NodeId x = placeholder(graph, "x", {2, 3});
  const auto shape = graph.add({.name = "s",
                                .op = "Shape",
                                .inputs = {{x, 0}},
                                .attrs = {{"T", DType::f32}, {"out_type", DType::i64}}});
  CHECK(*graph.constant({*shape, 0}) == Tensor::vector<int64_t>({2, 3}));

  const NodeId unknown = placeholder(graph, "u", {kUnknownDim, 3});
  const auto open = graph.add(
      {.name = "t", .op = "Shape", .inputs = {{unknown, 0}}, .attrs = {{"T", DType::f32}}});
  CHECK(!graph.constant({*open, 0}));
  const auto rank = graph.add(
      {.name = "r", .op = "Rank", .inputs = {{unknown, 0}}, .attrs = {{"T", DType::f32}}});
  CHECK(*graph.constant({*rank, 0}) == Tensor::scalar<int32_t>(2));
  CHECK(!graph.constant({x, 0}));
}

TEST_CASE("a constant is known behind an identity, but a chain of any length is not walked") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const auto constant = graph.add(
      {.name = "c", .op = "Const", .attrs = {{"value", Tensor::scalar(7)}, {"dtype", DType::i32}}});
  NodeId last = *constant;
  for (int i = 0; i < 200000; ++i) {
    const auto next = graph.add({.name = "i" + std::to_string(i),
                                 .op = "Identity",
                                 .inputs = {{last, 0}},
                                 .attrs = {{"T", DType::i32}}});
    REQUIRE(next.ok());
    last = *next;
    if (i == 1) CHECK(*graph.constant({last, 0}) == Tensor::scalar(7));
  }
  CHECK(!graph.constant({last, 0}));
}

TEST_CASE("what the program knows of a shape is merged with what was inferred") {
  ShapeOps ops;
  ClientGraph graph(ops.registry);
  const NodeId x = placeholder(graph, "x", {kUnknownDim, 3});
  CHECK(graph.merge_shape({x, 0}, {5, kUnknownDim}).ok());
  CHECK(graph.shape({x, 0}) == PartialShape{5, 3});
  CHECK(graph.merge_shape({x, 0}, {6, 3}).code() == Code::invalid_argument);
  CHECK(graph.shape({x, 0}) == PartialShape{5, 3});
}

}  // namespace
}  // namespace millrace::python
