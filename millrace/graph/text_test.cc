#include "millrace/graph/text.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::test_ops;

TEST_CASE("what is printed reads back as the same graph") {
  const char* text =
      "versions producer=2313 min_consumer=12 bad_consumer=3\n"
      "x = Placeholder(dtype=float, shape=[2,?])\n"
      "w = VariableV2(container=\"\", dtype=float, shape=[2,2], shared_name=\"\") @ "
      "/job:ps/task:0\n"
      "init = NoOp() ^w\n"
      "y = MatMul(x, w, transpose_a=true) ^init ^x @ /job:ps -> "
      "/job:ps/replica:0/task:0/device:CPU:0\n"
      "c = Const(int64 [1, 2, 3], _class={\"loc:@x\"})\n"
      "s = Split(c, num=2)\n"
      "t = Add(s:1, s) @ \"no device\"\n";
  CHECK(to_text(graph_of(text)) == text);
}

TEST_CASE("a loop is written with a reference to a later node") {
  const char* text =
      "zero = Const(0)\n"
      "enter = Enter(zero, frame_name=\"f\")\n"
      "merge = Merge(enter, next)\n"
      "ten = Const(10) ^merge\n"
      "less = Less(merge, ten)\n"
      "cond = LoopCond(less)\n"
      "switch = Switch(merge, cond)\n"
      "next = NextIteration(switch:1)\n"
      "exit = Exit(switch)\n";
  const Graph graph = graph_of(text);
  CHECK(to_text(graph) == text);
  CHECK(graph[2].inputs[1] == Endpoint{7, 0});
  CHECK(topological_order(graph).ok());
}

TEST_CASE("types that no input above decides are printed") {
  const char* text =
      "b = Identity(a, T=int32)\n"
      "a = Const(1)\n";
  CHECK(to_text(graph_of(text)) == text);
}

TEST_CASE("comments and line ends may stand anywhere") {
  const Graph graph = graph_of("# a graph\na = Const( # one\n [1,\n 2] )\nb=Identity(a)^a # end");
  CHECK(to_text(graph) == "a = Const([1, 2])\nb = Identity(a) ^a\n");
}

TEST_CASE("defaults and devices can be left out") {
  const Graph graph = graph_of(
      "a = Const(1.0) @ /job:a -> /job:a/replica:0/task:0/device:CPU:0\n"
      "b = MatMul(a, a, transpose_a=false, transpose_b=true)");
  using P = PrintOptions;
  CHECK(to_text(graph, {.defaults = P::Defaults::hidden, .devices = P::Devices::hidden}) ==
        "a = Const(1.0)\nb = MatMul(a, a, transpose_b=true)\n");
  CHECK(to_text(graph, graph[0], {.devices = P::Devices::placed}) ==
        "a = Const(1.0) -> /job:a/replica:0/task:0/device:CPU:0");
}

TEST_CASE("an error says line and column") {
  const auto why = [](std::string_view text) {
    const auto graph = parse_graph(text, test_ops());
    return graph.ok() ? std::string("ok") : graph.status().to_string();
  };
  CHECK(why("a = Const(1)\nb = Identiti(a)") ==
        "INVALID_ARGUMENT: 2:5: there is no op 'Identiti'; did you mean Identity, IdentityN");
  CHECK(why("a = Identity(b)") == "NOT_FOUND: 1:14: there is no node 'b' in the graph");
  CHECK(why("a = NoOp() ^b") == "NOT_FOUND: 1:13: there is no node 'b' in the graph");
  CHECK(why("a = Const(1)\na = Const(2)") == "INVALID_ARGUMENT: 2:1: there is a node 'a' already");
  CHECK(why("a = Const(1)\n  b = Identity(a:1)") ==
        "INVALID_ARGUMENT: 2:3: Node 'b': Connecting to invalid output 1 of source node a which "
        "has 1 outputs.");
  CHECK(why("a = Const(1") == "INVALID_ARGUMENT: 1:12: expected ',', found the end");
  CHECK(why("a Const(1)") == "INVALID_ARGUMENT: 1:3: expected '=', found 'C'");
  CHECK(why("= Const(1)") == "INVALID_ARGUMENT: 1:1: expected the name of a node");
  CHECK(why("a = Const(1)\nb = Identity(a:x)") ==
        "INVALID_ARGUMENT: 2:14: 'x' is no index of an output");
  CHECK(why("versions producer=x") == "INVALID_ARGUMENT: 1:10: expected a number");
}

TEST_CASE("a node may be called versions") {
  CHECK(to_text(graph_of("versions = NoOp()")) == "versions = NoOp()\n");
}

TEST_CASE("text that is cut off anywhere gives an error or a smaller graph") {
  const std::string text =
      "versions producer=1\nx = Placeholder(dtype=float, shape=[2,?]) @ /job:a -> /job:b\n"
      "c = Const(\"a\\n\", _class={\"loc:@x\"}, t=tensor([1, 2] as [2,1]))\ny = Add(x, x:0) ^c";
  for (size_t length = 0; length <= text.size(); ++length) {
    const auto graph = parse_graph(text.substr(0, length), test_ops());
    CHECK((!graph.ok() || graph->size() <= 3));
  }
}

}  // namespace
}  // namespace millrace
