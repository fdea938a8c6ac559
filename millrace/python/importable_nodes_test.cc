#include "millrace/python/importable_nodes.h"

#include <doctest/doctest.h>

#include "millrace/graph/import.h"
#include "millrace/graph/testing/test_ops.h"
#include "millrace/op/infer.h"

namespace millrace::python {
namespace {

struct ImportedOps {
  OpRegistry registry;
  ImportedOps() {
    for (OpDef op : {
             OpDef{.name = "Placeholder",
            .doc = "",
            .signature = "-> output: dtype | dtype: type, shape: shape = ?"},
             OpDef{.name = "VariableV2",
             .doc = "",
             .signature = "-> ref: ref(dtype) | shape: shape, dtype: type"},
             OpDef{.name = "Neg", .doc = "", .signature = "x: T -> y: T | T: type"},
             OpDef{.name = "Assign",
             .doc = "",
             .signature = "ref: ref(T), value: T -> output_ref: ref(T) | T: type"},
             OpDef{.name = "Merge",
             .doc = "",
             .signature = "inputs: N*T -> output: T, value_index: int32 | T: type, N: int >= 1",
             .role = Role::merge},
             OpDef{.name = "NextIteration",
             .doc = "",
             .signature = "data: T -> output: T | T: type",
             .role = Role::next_iteration},
         }) {
      REQUIRE(registry.add(std::move(op)).ok());
    }
  }
};

wire::NodeDef node(std::string name, std::string op, std::vector<std::string> inputs) {
  wire::NodeDef made{.name = std::move(name), .op = std::move(op), .inputs = std::move(inputs)};
  made.attrs = {{made.op == "Placeholder" ? "dtype" : "T", DType::f32}};
  if (made.op == "Merge") made.attrs.emplace_back("N", static_cast<int64_t>(made.inputs.size()));
  return made;
}

std::string names(const Result<std::vector<wire::NodeDef>>& nodes) {
  REQUIRE(nodes.ok());
  std::string text;
  for (const wire::NodeDef& each : *nodes) text += (text.empty() ? "" : " ") + each.name;
  return text;
}

TEST_CASE("nodes come after what they read, and in their own order where that is so already") {
  ImportedOps ops;
  const auto x = node("x", "Placeholder", {}), y = node("y", "Neg", {"x"});
  const auto z = node("z", "Neg", {"x", "^y"});
  CHECK(names(importable_nodes({.nodes = {z, y, x}}, {}, ops.registry)) == "x y z");
  CHECK(names(importable_nodes({.nodes = {x, y, z}}, {}, ops.registry)) == "x y z");
}

TEST_CASE("what comes round a loop may come later") {
  ImportedOps ops;
  const wire::GraphDef def{.nodes = {node("x", "Placeholder", {}), node("m", "Merge", {"x", "n"}),
                                     node("n", "NextIteration", {"m"})}};
  CHECK(names(importable_nodes(def, {}, ops.registry)) == "x m n");
}

TEST_CASE("a cycle that is no loop is refused, though it goes through a merge") {
  ImportedOps ops;
  const wire::GraphDef def{.nodes = {node("x", "Placeholder", {}), node("m", "Merge", {"x", "y"}),
                                     node("y", "Neg", {"m"})}};
  const Status status = importable_nodes(def, {}, ops.registry).status();
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().find("contains a cycle that is no while loop") != std::string::npos);
}

TEST_CASE("a mapped input need not be there, keeps its name, and has its type checked") {
  ImportedOps ops;
  const wire::GraphDef def{.nodes = {node("y", "Neg", {"gone:2"})}};
  const MappedInput fits{"gone:2", "other", {DType::f32}}, wrong{"gone:2", "other", {DType::i32}};
  const auto nodes = importable_nodes(def, {{fits}}, ops.registry);
  CHECK(names(nodes) == "y");
  CHECK(nodes->front().inputs == std::vector<std::string>{"gone:2"});
  CHECK(importable_nodes(def, {{wrong}}, ops.registry).status().message() ==
        "Input 0 of node y was passed int32 from other:0 incompatible with expected "
        "float.");
  CHECK(!importable_nodes(def, {}, ops.registry).ok());
}

TEST_CASE("a mapped input may be a reference") {
  ImportedOps ops;
  const wire::GraphDef def{
      .nodes = {node("x", "Placeholder", {}), node("a", "Assign", {"v", "x"})}};
  const MappedInput reference{"v", "other", {DType::f32, true}}, value{"v", "other", {DType::f32}};
  CHECK(names(importable_nodes(def, {{reference}}, ops.registry)) == "x a");
  CHECK(!importable_nodes(def, {{value}}, ops.registry).ok());
}

TEST_CASE("a node may have the name that a stand-in would have") {
  ImportedOps ops;
  const wire::GraphDef def{.nodes = {node("other", "Neg", {"gone"})}};
  const MappedInput gone{"gone", "other", {DType::f32}};
  CHECK(names(importable_nodes(def, {{gone}}, ops.registry)) == "other");
}

TEST_CASE("mapping what is not there is refused; what nobody reads is fine") {
  ImportedOps ops;
  const wire::GraphDef def{.nodes = {node("x", "Placeholder", {})}};
  const MappedInput x{"x:0", "other", {DType::f32}}, gone{"gone", "other", {DType::f32}},
      far{"x:1", "other", {DType::f32}};
  CHECK(importable_nodes(def, {{x}}, ops.registry).ok());
  for (const MappedInput& each : {gone, far}) {
    CHECK(importable_nodes(def, {{each}}, ops.registry).status().message() ==
          "Attempted to map inputs that were not found in graph_def: [" + each.name + "]");
  }
}

wire::GraphDef with_a_call() {
  return export_graph(testing::graph_of(R"(
    function twice "x: T -> y: T | T: type" {
      sum = Add(x, x, T=$T)
      return y = sum:z:0
    }
    a = Const(1.0)
    b = twice(a)
    c = Identity(b)
  )"));
}

TEST_CASE("the bodies of functions take the place of calls, which keep their names") {
  const auto nodes = importable_nodes(with_a_call(), {}, testing::test_ops());
  REQUIRE(nodes.ok());
  CHECK(names(nodes) == "a b/call/_3/sum b c");
  CHECK((*nodes)[1].op == "Add");
  CHECK((*nodes)[2].op == "IdentityN");
  CHECK((*nodes)[3].inputs == std::vector<std::string>{"b/call/_3/sum"});
}

TEST_CASE("the bodies of functions read what is mapped") {
  const MappedInput a{"a", "other", {DType::f32}};
  const auto nodes = importable_nodes(with_a_call(), {{a}}, testing::test_ops());
  REQUIRE(nodes.ok());
  CHECK(names(nodes) == "a b/call/_4/sum b c");
  CHECK((*nodes)[1].inputs == std::vector<std::string>{"a", "a"});
}

TEST_CASE("a call that does not fit its function is refused with both names") {
  wire::GraphDef def = with_a_call();
  def.functions.front().returns.clear();
  const Status status = importable_nodes(def, {}, testing::test_ops()).status();
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().find("twice") != std::string::npos);
}

}  // namespace
}  // namespace millrace::python
