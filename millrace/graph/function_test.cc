#include "millrace/graph/function.h"

#include "doctest/doctest.h"

#include "millrace/graph/import.h"
#include "millrace/graph/testing/test_ops.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::test_ops;

// The body of `call` in a library given as text.
Result<FunctionBody> body_of(std::string_view library, FunctionRef call) {
  const Graph graph = graph_of(library);
  return instantiate(*graph.functions(), call, test_ops());
}

std::string why_not(std::string_view library, FunctionRef call = {"f", {}}) {
  const auto body = body_of(library, std::move(call));
  return body.ok() ? "ok" : body.status().to_string();
}

constexpr char kTwice[] =
    "function twice \"x: T -> y: T | T: type\" {\n"
    "  sum = Add(x, x, T=$T)\n"
    "  note = NoOp() ^sum ^x @ /job:ps\n"
    "  return y = sum:z:0 ^note\n"
    "}\n";

TEST_CASE("a body is the definition with the attributes of the call") {
  const auto body = body_of(kTwice, {"twice", {{"T", DType::i32}}});
  REQUIRE_MESSAGE(body.ok(), body.status().to_string());
  CHECK(to_text(body->graph) ==
        "x = Placeholder(dtype=int32, shape=?)\n"
        "sum = Add(x, x)\n"
        "note = NoOp() ^sum ^x @ /job:ps\n");
  CHECK(body->num_args == 1);
  CHECK(body->returns == std::vector<Endpoint>{{1, 0}});
  CHECK(body->control_returns == std::vector<NodeId>{2});
}

TEST_CASE("lists are named as a whole or one by one") {
  const auto body = body_of(
      "function f \"xs: M*float -> first: float, parts: N*float | N: int, M: int\" {\n"
      "  c = Const(1.0)  s = Split(c:output:0, T=float, num=2)\n"
      "  p = Pack(xs, T=float, N=2)  q = Pack(s:output, xs:1, T=float, N=3)\n"
      "  return first = q:output:0, parts = s:output\n"
      "}\n",
      {"f", {{"N", 2}, {"M", 2}}});
  REQUIRE_MESSAGE(body.ok(), body.status().to_string());
  CHECK(body->num_args == 2);
  CHECK(to_text(body->graph, body->graph[4]) == "p = Pack(xs.0, xs.1)");
  CHECK(to_text(body->graph, body->graph[5]) == "q = Pack(s, s:1, xs.1)");
  CHECK(body->returns == std::vector<Endpoint>{{5, 0}, {3, 0}, {3, 1}});
}

TEST_CASE("a body may name a node before it is defined, and call other functions") {
  const auto body = body_of(str_cat(kTwice,
                                    "function f \"x: float -> y: float\" {\n"
                                    "  b = Identity(a:y:0, T=float)\n"
                                    "  a = twice(x, T=float)\n"
                                    "  return y = b:output:0\n"
                                    "}\n"),
                            {"f", {}});
  REQUIRE_MESSAGE(body.ok(), body.status().to_string());
  CHECK(to_text(body->graph, body->graph[2]) ==
        "a = PartitionedCall(x, Tout={float}, f=twice(T=float))");
  CHECK(body->graph[1].inputs[0] == Endpoint{2, 0});
}

TEST_CASE("what is wrong in a function is said with its name") {
  CHECK(why_not(kTwice, {"thrice", {}}) ==
        "NOT_FOUND: Function thrice is not defined: the graph came with 1 functions");
  CHECK(why_not(kTwice, {"twice", {}}) ==
        "INVALID_ARGUMENT: function 'twice': attribute 'T' (type) of op twice is missing");
  const auto body = [](std::string_view statements) {
    return why_not(str_cat("function f \"x: float -> y: float\" {", statements, "}"));
  };
  CHECK(body("return y = x") == "ok");
  CHECK(body("") == "INVALID_ARGUMENT: function 'f': output 'y' is not returned");
  CHECK(body("return y = z:z:0") ==
        "INVALID_ARGUMENT: function 'f': output 'y', which is 'z:z:0': there is no such node or "
        "argument");
  CHECK(body("c = Const(1) return y = c:output:0") ==
        "INVALID_ARGUMENT: function 'f': output 0 is float by the signature, but int32 is returned "
        "from 'c'");
  CHECK(body("c = Const(1.0) return y = c:value:0") ==
        "INVALID_ARGUMENT: function 'f': output 'y', which is 'c:value:0': the node has no output "
        "argument 'value'");
  CHECK(body("c = Const(1.0) return y = c:output:1") ==
        "INVALID_ARGUMENT: function 'f': output 'y', which is 'c:output:1': there are 1 tensors to "
        "choose from");
  CHECK(body("c = Identity(c:output:0, T=float) return y = x") ==
        "INVALID_ARGUMENT: function 'f': Graph is invalid, contains a cycle that is no while loop: "
        "c -> c");
  CHECK(body("x = NoOp() return y = x") ==
        "INVALID_ARGUMENT: function 'f': node 'x': 'x' is defined twice");
  CHECK(body("c = Oops() return y = x") ==
        "NOT_FOUND: function 'f': node 'c': Op type not registered 'Oops'");
  CHECK(body("c = Identity(x, T=int32) return y = x") ==
        "INVALID_ARGUMENT: function 'f': Input 0 of node c was passed float from x:0 incompatible "
        "with expected int32.");
  CHECK(body("c = Identity(x, x, T=float) return y = x") ==
        "INVALID_ARGUMENT: function 'f': Node 'c' (Identity) takes 1 inputs (float), but has 2");
  CHECK(body("c = NoOp() ^d return y = x") ==
        "INVALID_ARGUMENT: function 'f': node 'c': there is no 'd'");
  CHECK(body("return y = x ^x") ==
        "INVALID_ARGUMENT: function 'f': control output 'x' is 'x', which is no node");
  CHECK(body("c = Identity(x, T=$T) return y = x") ==
        "INVALID_ARGUMENT: function 'f': node 'c': attribute 'T': the function has no attribute "
        "'T'");
}

TEST_CASE("a body can't be far larger than its definition") {
  std::string library = "function f \"-> \" { c = Const(1.0)\n";
  for (int i = 0; i < 3; ++i) str_append(&library, "s", i, " = Split(c, T=float, num=900000)\n");
  CHECK(why_not(library + "}")
            .starts_with("RESOURCE_EXHAUSTED: function 'f': node 's1': its 4 nodes"));
}

TEST_CASE("functions are written in a graph's text, and read back the same") {
  const std::string text = str_cat(kTwice,
                                   "function update \"v: resource ->\" stateful {\n"
                                   "  one = Const(1.0)\n"
                                   "  assign = AssignVariableOp(v, one:output:0, dtype=float)\n"
                                   "  return ^assign\n"
                                   "}\n"
                                   "a = Const(2)\n"
                                   "b = PartitionedCall(a, Tout={int32}, f=twice(T=int32))\n");
  CHECK(to_text(graph_of(text)) == text);
  CHECK(
      to_text(graph_of(str_cat(kTwice, "function = Const(1)"))).ends_with("function = Const(1)\n"));
}

wire::GraphDef exported(std::string_view text) { return export_graph(graph_of(text)); }

TEST_CASE("a node whose op is a function calls it") {
  wire::GraphDef def = exported(str_cat(kTwice, "a = Const(2)"));
  def.nodes.push_back({"b", "twice", "", {"a", "^a"}, {{"T", DType::i32}, {"_x", 1}}});
  const auto graph = import_graph(def, test_ops());
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  CHECK(to_text(*graph, (*graph)[1]) ==
        "b = PartitionedCall(a, Tout={int32}, _x=1, f=twice(T=int32)) ^a");
  def.nodes.back().attrs.clear();
  CHECK(import_graph(def, test_ops()).status().message() ==
        "Node 'b' (twice): attribute 'T' of op twice is missing; it is a type");
}

TEST_CASE("a graph may grow by functions, each name means one") {
  Graph graph = graph_of(str_cat(kTwice, "a = Const(1)"));
  REQUIRE(extend_graph(graph, exported(kTwice)).ok());
  REQUIRE(extend_graph(graph, exported("function g \"-> \" {}")).ok());
  CHECK(graph.functions()->size() == 2);
  const wire::GraphDef other = exported("function h \"->\" {} function twice \"-> \" {}");
  CHECK(extend_graph(graph, other).message() ==
        "Cannot add function 'twice' because a different function with the same name already "
        "exists.");
  CHECK(graph.functions()->size() == 2);
  wire::GraphDef op;
  op.functions.push_back(other.functions[0]);
  op.functions[0].name = "Add";
  CHECK(extend_graph(graph, op).message() ==
        "Cannot add function 'Add' because an op with the same name already exists.");
}

TEST_CASE("unknown ops are looked for in functions that are called, and only there") {
  const char* library =
      "function unused \"->\" { a = Sin() }"
      "function inner \"->\" { b = Cos() }"
      "function outer \"->\" { c = PartitionedCall(Tin={}, Tout={}, f=inner) d = Cos() e = Tan() }";
  wire::GraphDef def = exported(library);
  CHECK(import_graph(def, test_ops()).ok());
  def.nodes.push_back({"call", "outer", "", {}, {}});
  CHECK(import_graph(def, test_ops()).status().to_string() ==
        "NOT_FOUND: Op type not registered 'Cos', used by 'outer/d', 'inner/b'; Op type not "
        "registered 'Tan', used by 'outer/e'");
}

}  // namespace
}  // namespace millrace
