// Which steps of a client's graph may be made again, and which may not.
#include "millrace/session/retry_graph.h"

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/session/runtime.h"

namespace millrace {
namespace {

struct AgainGraph {
  AgainGraph& add(std::string name, std::string op, std::vector<std::string> inputs = {},
                  decltype(wire::NodeDef::attrs) attrs = {}) {
    def.nodes.push_back({.name = std::move(name),
                         .op = std::move(op),
                         .device = {},
                         .inputs = std::move(inputs),
                         .attrs = std::move(attrs)});
    return *this;
  }
  // Of the step that runs the node, with these feeds.
  std::string again(const std::string& target, std::vector<std::string> feeds = {}) const {
    RetryGraph graph(*standard_ops());
    graph.extend(def);
    const RetryGraph::StepKind kind = graph.kind_of({std::move(feeds), {}, {target}});
    if (kind.again == RetryGraph::Again::never) return "never: " + kind.why_never;
    return kind.again == RetryGraph::Again::as_it_is ? "as it is" : "under a name";
  }
  wire::GraphDef def;
};

TEST_CASE("a step that updates is made again under its name, and one that only reads as it is") {
  AgainGraph graph;
  graph.add("v", "VarHandleOp").add("one", "RandomUniform", {"shape"});
  graph.add("read", "ReadVariableOp", {"v"}).add("add", "AssignAddVariableOp", {"v", "one"});
  graph.add("lease", "Placeholder").add("own", "StepLease", {"lease"});
  graph.add("under_own", "NoOp", {"^own", "^add"});
  CHECK(graph.again("read") == "as it is");
  CHECK(graph.again("add") == "under a name");
  CHECK(graph.again("under_own") == "as it is");
}

TEST_CASE("a step that takes what can't be given back is never made again, unless that is fed") {
  AgainGraph graph;
  graph.add("queue", "FIFOQueueV2").add("take", "QueueDequeueV2", {"queue"});
  graph.add("v", "VariableV2").add("add", "AssignAdd", {"v", "take"});
  graph.add("put", "QueueEnqueueV2", {"queue", "v"});
  graph.add("call", "PyFunc", {"v"}).add("next", "IteratorGetNext", {"v"});
  CHECK(graph.again("add") == "never: 'take' (QueueDequeueV2) changes what can't be changed once");
  CHECK(graph.again("add", {"take:0"}) == "under a name");
  CHECK(graph.again("put") == "under a name");
  CHECK(graph.again("call").starts_with("never: 'call' (PyFunc)"));
  CHECK(graph.again("next").starts_with("never: 'next' (IteratorGetNext)"));
}

TEST_CASE("updates inside of loops and of datasets are never made again; those of functions are") {
  AgainGraph graph;
  graph.def.functions.resize(1);
  graph.def.functions[0].name = "Adds";
  graph.def.functions[0].nodes = {
      {.name = "a", .op = "AssignAddVariableOp", .device = {}, .inputs = {}, .attrs = {}}};
  const FunctionRef adds{"Adds", {}};
  graph.add("v", "VariableV2").add("enter", "RefEnter", {"v"});
  graph.add("inside", "AssignAdd", {"enter", "v"}).add("exit", "Exit", {"inside"});
  graph.add("outside", "AssignAdd", {"v", "other_exit"}).add("other_exit", "Exit", {"enter"});
  graph.add("call", "StatefulPartitionedCall", {}, {{"f", adds}}).add("direct", "Adds");
  graph.add("loop", "While", {}, {{"body", adds}}).add("map", "MapDataset", {}, {{"f", adds}});
  graph.add("unknown", "StatefulPartitionedCall", {}, {{"f", FunctionRef{"Nobody", {}}}});
  graph.add("call_inside", "StatefulPartitionedCall", {"enter"}, {{"f", adds}});
  graph.add("call_exit", "Exit", {"call_inside"}).add("direct_inside", "Adds", {"enter"});
  graph.add("direct_exit", "Exit", {"direct_inside"});
  CHECK(graph.again("outside") == "under a name");
  CHECK(graph.again("exit").starts_with("never: it updates from inside of a loop"));
  CHECK(graph.again("call") == "under a name");
  CHECK(graph.again("direct") == "under a name");
  for (const char* exit : {"call_exit", "direct_exit"})
    CHECK(graph.again(exit).starts_with("never: it updates from inside of a loop"));
  CHECK(graph.again("loop").starts_with("never: 'a' (AssignAddVariableOp) updates from inside"));
  CHECK(graph.again("map").starts_with("never: 'a' (AssignAddVariableOp) updates from inside"));
  CHECK(graph.again("unknown").starts_with("never: 'unknown' (StatefulPartitionedCall) calls"));
}

}  // namespace
}  // namespace millrace
