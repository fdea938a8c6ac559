// What a session that counts once sees in its client's graph.
#include "millrace/master/once_graph.h"

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/plan/testing/whole_library.h"

namespace millrace {
namespace {

class ClientGraph {
 public:
  ClientGraph& add(std::string name, std::string op, std::vector<std::string> inputs = {},
                   decltype(wire::NodeDef::attrs) attrs = {}) {
    def.nodes.push_back({.name = std::move(name),
                         .op = std::move(op),
                         .device = {},
                         .inputs = std::move(inputs),
                         .attrs = std::move(attrs)});
    return *this;
  }
  wire::GraphDef def;
};

// A queue, what takes out of it, and a total.
ClientGraph counter() {
  ClientGraph graph;
  graph.add("queue", "FIFOQueueV2").add("take", "QueueDequeueV2", {"queue"});
  graph.add("length", "StringLength", {"take"}).add("total", "VariableV2");
  graph.add("words", "Placeholder").add("add", "AssignAdd", {"total", "words"});
  graph.add("add_taken", "AssignAdd", {"total", "length"});
  graph.add("after", "NoOp", {"^add"});
  return graph;
}

std::string once_kind(const OnceGraph& graph, const StepRequestNames& names) {
  const OnceGraph::StepKind kind = graph.kind_of(names);
  std::string text =
      kind.takes ? str_cat("takes by ", kind.dequeue ? *kind.dequeue : "") : "takes nothing";
  return text + (kind.updates ? ", updates" : "");
}

TEST_CASE("what a step needs decides whether it takes and updates; what is fed is not run") {
  OnceGraph graph(testing::whole_library(), std::chrono::seconds(30));
  ClientGraph client = counter();
  graph.extend(client.def);
  CHECK(once_kind(graph, {{}, {"take:0"}, {}}) == "takes by take");
  CHECK(once_kind(graph, {{}, {"length:0"}, {}}) == "takes by take");
  CHECK(once_kind(graph, {{"take:0"}, {"length:0"}, {}}) == "takes nothing");
  CHECK(once_kind(graph, {{"words:0"}, {"add:0"}, {}}) == "takes nothing, updates");
  CHECK(once_kind(graph, {{"words:0"}, {}, {"after"}}) == "takes nothing, updates");
  CHECK(once_kind(graph, {{}, {}, {"add_taken"}}) == "takes by take, updates");
  CHECK(once_kind(graph, {{}, {"total:0"}, {}}) == "takes nothing");
  CHECK(once_kind(graph, {{}, {"nowhere:0"}, {}}) == "takes nothing");
}

TEST_CASE("a step that brings a lease of its own is the client's business") {
  OnceGraph graph(testing::whole_library(), std::chrono::seconds(30));
  ClientGraph client = counter();
  client.add("own", "StepLease", {"words"});
  graph.extend(client.def);
  CHECK(once_kind(graph, {{"words:0"}, {"own:0"}, {"add_taken"}}) == "takes nothing");
}

TEST_CASE("effects of functions are those of whoever calls them, by name or in an attribute") {
  OnceGraph graph(testing::whole_library(), std::chrono::seconds(30));
  ClientGraph client;
  client.def.functions.resize(2);
  client.def.functions[0].name = "Inner";
  client.def.functions[0].nodes = {
      {.name = "a", .op = "AssignAddVariableOp", .device = {}, .inputs = {}, .attrs = {}},
      {.name = "d", .op = "QueueDequeueV2", .device = {}, .inputs = {}, .attrs = {}}};
  client.def.functions[1].name = "Outer";
  // It calls itself, too, which must end.
  client.def.functions[1].nodes = {
      {.name = "i", .op = "Inner", .device = {}, .inputs = {}, .attrs = {}},
      {.name = "o", .op = "Outer", .device = {}, .inputs = {}, .attrs = {}}};
  client.add("direct", "Outer");
  client.add("call", "PartitionedCall", {}, {{"f", FunctionRef{"Outer", {}}}});
  client.add("other", "PartitionedCall", {}, {{"f", FunctionRef{"Nobody", {}}}});
  graph.extend(client.def);
  CHECK(once_kind(graph, {{}, {}, {"direct"}}) == "takes by , updates");
  CHECK(once_kind(graph, {{}, {}, {"call"}}) == "takes by , updates");
  CHECK(once_kind(graph, {{}, {}, {"other"}}) == "takes nothing");
}

TEST_CASE("each dequeue gets what extends and ends its leases, but not behind a gate of a loop") {
  OnceGraph graph(testing::whole_library(), std::chrono::seconds(30));
  ClientGraph client;
  client.add("queue", "FIFOQueueV2").add("take", "QueueDequeueV2", {"queue"});
  client.add("gate", "Switch", {"queue", "flag"}).add("in", "QueueDequeueV2", {"gate:1"});
  client.add("many", "QueueDequeueManyV2", {"queue", "n"});
  const size_t size = client.def.nodes.size();
  graph.extend(client.def);
  REQUIRE(client.def.nodes.size() == size + 2);
  CHECK(client.def.nodes[size].name == "_once/extend/take");
  CHECK(client.def.nodes[size].inputs == std::vector<std::string>{"queue", "_once/lease"});
  CHECK(client.def.nodes[size + 1].name == "_once/end/take");
  CHECK(once_kind(graph, {{}, {"in:0"}, {}}) == "takes by ");
}

}  // namespace
}  // namespace millrace
