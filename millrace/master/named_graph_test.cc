// What a step needs of a graph that is known by its names only.
#include "millrace/master/named_graph.h"

#include <algorithm>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/plan/testing/whole_library.h"

namespace millrace {
namespace {

wire::NodeDef named(std::string name, std::string op, std::vector<std::string> inputs = {},
                    decltype(wire::NodeDef::attrs) attrs = {}) {
  return {.name = std::move(name),
          .op = std::move(op),
          .device = {},
          .inputs = std::move(inputs),
          .attrs = std::move(attrs)};
}

// "a b(function) c(function, not plain)", in order of names.
std::string needed(const NamedGraph& graph, const StepRequestNames& names) {
  std::vector<std::string> found;
  graph.visit(names, [&](const NamedGraph::Needed& each) {
    found.push_back(str_cat(each.name, each.is_in_function ? "(function" : "",
                            each.is_in_function && !each.is_plain ? ", not plain" : "",
                            each.is_in_function ? ")" : ""));
  });
  std::ranges::sort(found);
  std::string text;
  for (const std::string& each : found) str_append(&text, text.empty() ? "" : " ", each);
  return text;
}

TEST_CASE("a step needs what its fetches and targets lead back to, but not what is fed") {
  NamedGraph graph(testing::whole_library());
  wire::GraphDef def;
  def.nodes = {named("x", "Placeholder"), named("total", "VariableV2"),
               named("add", "AssignAdd", {"total", "x"}), named("after", "NoOp", {"^add"})};
  graph.extend(def);
  CHECK(needed(graph, {{}, {"add:0"}, {}}) == "add total x");
  CHECK(needed(graph, {{"x:0"}, {}, {"after"}}) == "add after total");
  CHECK(needed(graph, {{}, {"nowhere:0"}, {}}) == "");
}

TEST_CASE("a step needs what stands for another tensor, and not the other") {
  NamedGraph graph(testing::whole_library());
  wire::GraphDef def;
  def.nodes = {named("total", "VariableV2"),         named("x", "Placeholder"),
               named("made", "Identity", {"total"}), named("y", "Identity", {"made"}),
               named("z", "Identity", {"y"}),        named("after", "NoOp", {"^x"})};
  graph.extend(def);
  CHECK(needed(graph, {{}, {"z:0"}, {}, {{"x:0", "y:0"}}}) == "x z");
  CHECK(needed(graph, {{"x:0"}, {"z:0"}, {}, {{"x:0", "y:0"}}}) == "z");
  CHECK(needed(graph, {{}, {}, {"after"}, {{"total", "x"}}}) == "after total");
  CHECK(needed(graph, {{}, {"z"}, {}, {{"y:0", "y:0"}}}) == "made total y z");
}

TEST_CASE("what loops and datasets call is no plain part of the step; what else is called is") {
  NamedGraph graph(testing::whole_library());
  wire::GraphDef def;
  def.functions.resize(1);
  def.functions[0].name = "F";
  def.functions[0].nodes = {named("in", "NoOp")};
  const FunctionRef f{"F", {}};
  def.nodes = {named("direct", "F"), named("call", "StatefulPartitionedCall", {}, {{"f", f}}),
               named("loop", "While", {}, {{"body", f}}),
               named("map", "MapDataset", {}, {{"f", f}}), named("other", "Nobody")};
  graph.extend(def);
  CHECK(needed(graph, {{}, {}, {"direct"}}) == "direct in(function)");
  CHECK(needed(graph, {{}, {}, {"call"}}) == "call in(function)");
  CHECK(needed(graph, {{}, {}, {"loop"}}) == "in(function, not plain) loop");
  CHECK(needed(graph, {{}, {}, {"map"}}) == "in(function, not plain) map");
  CHECK(graph.knows_calls_of(*graph.find("direct")));
  CHECK_FALSE(graph.knows_calls_of(*graph.find("other")));
}

TEST_CASE(
    "what depends on a loop's inside runs in the loop, and what depends on its exit does not") {
  NamedGraph graph(testing::whole_library());
  wire::GraphDef def;
  def.nodes = {named("v", "VariableV2"), named("enter", "RefEnter", {"v"}),
               named("inside", "AssignAdd", {"enter", "enter"}), named("exit", "Exit", {"inside"}),
               named("outside", "AssignAdd", {"v", "exit"})};
  graph.extend(def);
  CHECK(graph.is_any_in_loop({"v", "inside"}));
  CHECK_FALSE(graph.is_any_in_loop({"v", "outside"}));
}

}  // namespace
}  // namespace millrace
