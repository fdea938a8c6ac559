#include "millrace/graph/shapes.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"

namespace millrace {
namespace {

using testing::graph_of;

TEST_CASE("a graph that grows is not gone through again") {
  Graph graph = graph_of("x = Placeholder(dtype=float, shape=[2,3])");
  ShapeTable table;
  REQUIRE(table.extend(graph).ok());
  // What was put there by hand stays, so the node was not asked again.
  table.replace({0, 0}, PartialShape{2, kUnknownDim});
  REQUIRE(graph.add({.name = "y", .op = "Add", .inputs = {{0, 0}, {0, 0}}}).ok());
  REQUIRE(table.extend(graph).ok());
  CHECK(table.of({1, 0}) == PartialShape{2, kUnknownDim});

  REQUIRE(graph.add({.name = "z", .op = "MatMul", .inputs = {{0, 0}, {0, 0}}}).ok());
  REQUIRE(graph
              .add({.name = "v",
                    .op = "Placeholder",
                    .attrs = {{"dtype", DType::f32}, {"shape", PartialShape{7}}}})
              .ok());
  REQUIRE(graph.add({.name = "w", .op = "Add", .inputs = {{1, 0}, {3, 0}}}).ok());
  REQUIRE(graph.add({.name = "bad", .op = "MatMul", .inputs = {{3, 0}, {1, 0}}}).ok());
  CHECK(table.extend(graph).message().find("{{node bad}}") != std::string::npos);
  CHECK(table.size() == 2);
  graph.truncate(2);
  CHECK(table.extend(graph).ok());
}

TEST_CASE("a table that grows node by node is that of the whole graph") {
  const Graph whole = graph_of(
      "x = Placeholder(dtype=float, shape=[2,?])\n"
      "y = Placeholder(dtype=float, shape=[?,3])\n"
      "z = Add(x, y)\n"
      "c = Const([1.0, 2.0])\n"
      "i = Identity(z)\n"
      "w = Placeholder(dtype=float, shape=[3,?])\n"
      "m = MatMul(i, w)\n");
  ShapeTable at_once, one_by_one;
  REQUIRE(at_once.extend(whole).ok());
  for (const Node& node : whole.nodes()) REQUIRE(one_by_one.add(whole, node.id).ok());
  for (const Node& node : whole.nodes()) {
    CAPTURE(node.name);
    CHECK(one_by_one.of({node.id, 0}) == at_once.of({node.id, 0}));
  }
  CHECK(at_once.of({2, 0}) == PartialShape{2, 3});
}

TEST_CASE("shapes of nodes that were taken back leave those of the others alone") {
  Graph graph = graph_of("x = Placeholder(dtype=float, shape=[2,3])");
  ShapeTable table;
  REQUIRE(table.extend(graph).ok());
  for (int64_t i = 0; i < 2000; ++i) {
    REQUIRE(graph
                .add({.name = "n",
                      .op = "Placeholder",
                      .attrs = {{"dtype", DType::f32}, {"shape", PartialShape{i, i}}}})
                .ok());
    REQUIRE(table.add(graph, 1).ok());
    CHECK(table.of({1, 0}) == PartialShape{i, i});
    table.truncate(1);
    graph.truncate(1);
    REQUIRE(table.of({0, 0}) == PartialShape{2, 3});
  }
}

TEST_CASE("of outputs that a node gets later nothing is known, and the others stay") {
  const Graph graph = graph_of("x = Placeholder(dtype=float, shape=[2])  y = Identity(x)");
  ShapeTable table;
  REQUIRE(table.extend(graph).ok());
  table.set_num_outputs(0, 3);
  CHECK(table.of({0, 0}) == PartialShape{2});
  CHECK(!table.of({0, 2}).has_rank());
  CHECK(table.merge({0, 2}, PartialShape{5}).ok());
  CHECK(table.of({0, 2}) == PartialShape{5});
  CHECK(table.of({1, 0}) == PartialShape{2});
}

}  // namespace
}  // namespace millrace
