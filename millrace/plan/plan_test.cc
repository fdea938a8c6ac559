#include "millrace/plan/plan.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/testing/text_case.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::TextCase;

DeviceSet one_worker() {
  return DeviceSet::create({{"/job:worker/replica:0/task:0/device:CPU:0", 7}}).value();
}

std::string keys_text(const char* what, const std::vector<PlanKey>& keys) {
  std::string text;
  for (const PlanKey& key : keys) str_append(&text, what, " ", key.index, ": ", key.key, "\n");
  return text;
}

std::string run_plan(const TextCase& text_case) {
  Graph graph = graph_of(text_case.input);
  const DeviceSet devices = testing::devices_of(text_case);
  GraphTables tables;
  if (Status status = prepare_graph(graph, tables, devices, {}); !status.ok()) {
    CHECK(tables.shapes.size() == 0);
    return status.to_string();
  }
  const StepSignature signature{.feeds = text_case.list("feeds"),
                                .fetches = text_case.list("fetches"),
                                .targets = text_case.list("targets")};
  PlanOptions options;
  if (text_case.has("plain")) options.optimize = PlanOptions::Optimize::off;
  FreshNames names("_S");
  const auto plan = make_plan(graph, devices, signature, options, names);
  if (!plan.ok()) return plan.status().to_string();
  std::string text;
  for (const PartitionPlan& partition : plan->partitions) {
    CHECK(validate(partition.graph).ok());
    str_append(&text, "[", partition.task.to_string(), "]\n");
    for (const Node& node : partition.graph.nodes()) {
      str_append(&text, node.name, " = ", node.op->name);
      for (const Endpoint& input : node.inputs) {
        str_append(&text, " ", endpoint_name(partition.graph, input));
      }
      for (NodeId before : node.control_inputs)
        str_append(&text, " ^", partition.graph[before].name);
      text += '\n';
    }
    str_append(&text, keys_text("feed", partition.feeds), keys_text("fetch", partition.fetches));
  }
  return testing::with_short_names(text);
}

TEST_CASE("a step is planned from the session's graph to the parts of its tasks") {
  testing::run_text_cases("plan.txt", run_plan);
}

TEST_CASE("a graph that grows is prepared anew, and old plans stay what they were") {
  Graph graph = graph_of("a = Const(1)  b = Identity(a)");
  const DeviceSet devices = one_worker();
  GraphTables tables;
  FreshNames names("_S");
  REQUIRE(prepare_graph(graph, tables, devices, {}).ok());
  const auto plan =
      make_plan(graph, devices, {.feeds = {}, .fetches = {"b"}, .targets = {}}, {}, names);
  REQUIRE(plan.ok());
  const std::string before = to_text(plan->partitions[0].graph);

  REQUIRE(graph.add({.name = "c", .op = "Identity", .inputs = {{1, 0}}}).ok());
  REQUIRE(prepare_graph(graph, tables, devices, {}).ok());
  CHECK(tables.shapes.size() == 3);
  CHECK(make_plan(graph, devices, {.feeds = {}, .fetches = {"c"}, .targets = {}}, {}, names).ok());
  CHECK(to_text(plan->partitions[0].graph) == before);
}

TEST_CASE("an extension that does not fit leaves graph and tables as they were") {
  Graph graph = graph_of("a = Const(1)");
  GraphTables tables;
  REQUIRE(prepare_graph(graph, tables, one_worker(), {}).ok());
  REQUIRE(graph.add({.name = "b", .op = "NoOp", .device = "/job:nowhere"}).ok());
  CHECK(!prepare_graph(graph, tables, one_worker(), {}).ok());
  CHECK(tables.shapes.size() == 1);
  graph.truncate(1);
  CHECK(prepare_graph(graph, tables, one_worker(), {}).ok());
}

TEST_CASE("a feed goes into the slot that its key says, a fetch comes out of its own") {
  Graph graph =
      graph_of("x = Placeholder(dtype=float)  y = Placeholder(dtype=float)  z = Sub(x, y)");
  const DeviceSet devices = one_worker();
  GraphTables tables;
  FreshNames names("_S");
  REQUIRE(prepare_graph(graph, tables, devices, {}).ok());
  const auto plan = make_plan(
      graph, devices, {.feeds = {"y:0", "x:0"}, .fetches = {"z:0"}, .targets = {}}, {}, names);
  REQUIRE(plan.ok());
  REQUIRE(plan->partitions[0].feeds.size() == 2);
  CHECK(plan->partitions[0].feeds[0].index == 0);
  CHECK(plan->partitions[0].feeds[0].key.find(";y:0;") != std::string::npos);
  CHECK(plan->partitions[0].fetches[0].key ==
        "/job:worker/replica:0/task:0/device:CPU:0;0000000000000007;"
        "/job:worker/replica:0/task:0/device:CPU:0;z:0;0:0");
}

}  // namespace
}  // namespace millrace
