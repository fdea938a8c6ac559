#include "millrace/plan/infer_shapes.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/plan/testing/text_case.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::TextCase;

TEST_CASE("shapes are known as far as they can be") {
  testing::run_text_cases("shapes.txt", [](const TextCase& text_case) {
    const Graph graph = graph_of(text_case.input);
    ShapeTable shapes;
    if (const Status status = extend_shapes(graph, shapes); !status.ok()) return status.to_string();
    std::string text;
    for (const Node& node : graph.nodes()) {
      str_append(&text, node.name, ":");
      for (const PartialShape& shape : shapes.of(node.id))
        str_append(&text, " ", shape.to_string());
      text += '\n';
    }
    return text;
  });
}

TEST_CASE("a graph that grows is not gone through again") {
  Graph graph = graph_of("x = Placeholder(dtype=float, shape=[2,3])");
  ShapeTable table;
  REQUIRE(extend_shapes(graph, table).ok());
  REQUIRE(graph.add({.name = "y", .op = "Add", .inputs = {{0, 0}, {0, 0}}}).ok());
  REQUIRE(extend_shapes(graph, table).ok());
  CHECK(table.of(Endpoint{1, 0}) == PartialShape{2, 3});

  REQUIRE(graph.add({.name = "z", .op = "MatMul", .inputs = {{0, 0}, {1, 0}}}).ok());
  CHECK(!extend_shapes(graph, table).ok());
  CHECK(table.size() == 2);
  graph.truncate(2);
  CHECK(extend_shapes(graph, table).ok());
}

}  // namespace
}  // namespace millrace
