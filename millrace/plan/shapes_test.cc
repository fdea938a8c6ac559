// Shapes as text: graph/shapes.h with the ops of planning's tests.
#include "millrace/graph/shapes.h"

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
    if (Status status = shapes.extend(graph); !status.ok()) return status.to_string();
    std::string text;
    for (const Node& node : graph.nodes()) {
      str_append(&text, node.name, ":");
      for (int i = 0; i < node.num_outputs(); ++i)
        str_append(&text, " ", shapes.of({node.id, i}).to_string());
      text += '\n';
    }
    return text;
  });
}

}  // namespace
}  // namespace millrace
