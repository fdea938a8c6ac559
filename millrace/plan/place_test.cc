#include "millrace/plan/place.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/plan/testing/text_case.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::TextCase;

TEST_CASE("placement follows TensorFlow's rules") {
  testing::run_text_cases("place.txt", [](const TextCase& text_case) {
    Graph graph = graph_of(text_case.input);
    const PlaceOptions options{.allow_soft_placement = text_case.has("soft")};
    const Status status = place(graph, testing::devices_of(text_case), options);
    if (!status.ok()) return status.to_string();
    std::string text;
    for (const Node& node : graph.nodes()) str_append(&text, node.name, " -> ", node.device, "\n");
    return text;
  });
}

TEST_CASE("a placement that fails leaves no device behind") {
  Graph graph = graph_of("a = Const(1)  b = Const(2) @ /job:nowhere");
  const TextCase one_worker{
      .title = "", .command = "", .options = {{"devices", "worker"}}, .input = ""};
  CHECK(!place(graph, testing::devices_of(one_worker), {}).ok());
  CHECK(graph[0].device.empty());
}

}  // namespace
}  // namespace millrace
