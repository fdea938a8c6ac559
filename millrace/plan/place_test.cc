#include "millrace/plan/place.h"

#include <string>

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/plan/testing/text_case.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::TextCase;

// Adds the nodes of `whole` that `graph`, its beginning, does not have.
void grow(Graph& graph, const Graph& whole) {
  for (const Node& node : whole.nodes().subspan(graph.size())) {
    const auto id =
        graph.add({.name = std::string(node.name),
                   .op = node.op->name,
                   .inputs = {node.inputs.begin(), node.inputs.end()},
                   .control_inputs = {node.control_inputs.begin(), node.control_inputs.end()},
                   .attrs = node.attrs(),
                   .device = node.requested_device()});
    REQUIRE_MESSAGE(id.ok(), id.status().to_string());
  }
}

std::string devices_text(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) str_append(&text, node.name, " -> ", node.device(), "\n");
  return text;
}

// With "then=2" the first two nodes are placed before the others are there.
TEST_CASE("placement follows TensorFlow's rules") {
  testing::run_text_cases("place.txt", [](const TextCase& text_case) {
    Graph graph = graph_of(text_case.input);
    const PlaceOptions options{.allow_soft_placement = text_case.has("soft")};
    const DeviceSet devices = testing::devices_of(text_case);
    Placement placement;
    if (text_case.has("then")) {
      const Graph whole = graph;
      graph.truncate(static_cast<size_t>(std::stoi(text_case.options.at("then"))));
      const Status status = place(graph, placement, devices, options);
      if (!status.ok()) return status.to_string();
      grow(graph, whole);
    }
    const Status status = place(graph, placement, devices, options);
    if (!status.ok()) return status.to_string();
    return devices_text(graph);
  });
}

TEST_CASE("a placement that fails leaves no device behind") {
  Graph graph = graph_of("a = Const(1)  b = Const(2) @ /job:nowhere");
  const TextCase one_worker{
      .title = "", .command = "", .options = {{"devices", "worker"}}, .input = ""};
  Placement placement;
  CHECK(!place(graph, placement, testing::devices_of(one_worker), {}).ok());
  CHECK(graph[0].device().empty());
}

TEST_CASE("an extension that can't be placed leaves the groups as they were") {
  const TextCase two_workers{
      .title = "", .command = "", .options = {{"devices", "worker:2"}}, .input = ""};
  const DeviceSet devices = testing::devices_of(two_workers);
  Placement placement;
  Graph graph =
      graph_of("v = VarHandleOp(dtype=float, shape=[])  a = Const(1.0, _class={\"loc:@late\"})");
  REQUIRE(place(graph, placement, devices, {}).ok());
  const std::string before = devices_text(graph);
  for (int attempt = 0; attempt < 3; ++attempt) {
    // The first two join the groups of v and a, and ask them for a task; the third is impossible.
    REQUIRE(graph
                .add({.name = "j",
                      .op = "NoOp",
                      .attrs = {{"_class", std::vector<std::string>{"loc:@v", "loc:@late"}}}})
                .ok());
    REQUIRE(graph.add({.name = "late", .op = "NoOp", .device = "/job:worker/task:1"}).ok());
    REQUIRE(
        graph.add({.name = "k", .op = "NoOp", .device = str_cat("/job:none/task:", attempt)}).ok());
    CHECK(!place(graph, placement, devices, {}).ok());
    graph.truncate(2);
    CHECK(devices_text(graph) == before);
  }
  // Had v's group kept that wish, this one would contradict it.
  REQUIRE(graph
              .add({.name = "m",
                    .op = "NoOp",
                    .attrs = {{"_class", std::vector<std::string>{"loc:@v"}}},
                    .device = "/job:worker/task:0"})
              .ok());
  REQUIRE(graph.add({.name = "late", .op = "NoOp", .device = "/job:worker/task:1"}).ok());
  const Status status = place(graph, placement, devices, {});
  REQUIRE_MESSAGE(status.ok(), status.to_string());
  CHECK(devices_text(graph) == before +
                                   "m -> /job:worker/replica:0/task:0/device:CPU:0\n"
                                   "late -> /job:worker/replica:0/task:1/device:CPU:0\n");
}

TEST_CASE("a graph that grows node by node is placed as when it comes at once") {
  // But for what looks at consumers, which are not there yet: so no constants here.
  const TextCase jobs{
      .title = "", .command = "", .options = {{"devices", "worker:2,ps:2"}}, .input = ""};
  const DeviceSet devices = testing::devices_of(jobs);
  Graph whole = graph_of(
      "v = VarHandleOp(dtype=float, shape=[]) @ /job:ps/task:1\n"
      "w = VarHandleOp(dtype=float, shape=[], _class={\"loc:@v\"})\n"
      "r = ReadVariableOp(v, dtype=float)\n"
      "q = ReadVariableOp(w, dtype=float) @ /job:ps\n"
      "s = Add(r, q) @ /job:worker/task:1\n"
      "i = Identity(s)\n"
      "d = Shape(s)\n"
      "x = NoOp(_class={\"loc:@s\", \"loc:@gone\"})\n"
      "y = NoOp(_class={\"loc:@gone\"})\n");
  Graph graph = graph_of("");
  Placement placement;
  for (const Node& node : whole.nodes()) {
    Graph next = whole;
    next.truncate(node.id + 1);
    grow(graph, next);
    REQUIRE(place(graph, placement, devices, {}).ok());
  }
  Placement at_once;
  REQUIRE(place(whole, at_once, devices, {}).ok());
  CHECK(devices_text(graph) == devices_text(whole));
}

}  // namespace
}  // namespace millrace
