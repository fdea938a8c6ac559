#include "millrace/graph/function_of.h"

#include "doctest/doctest.h"

#include "millrace/graph/function.h"
#include "millrace/graph/testing/test_ops.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::test_ops;

// The body of a function that was written down and is read again.
std::string read_again(wire::FunctionDef def) {
  FunctionLibrary library;
  const std::string name = def.name;
  REQUIRE(add_function(library, std::move(def), test_ops()).ok());
  const auto body = instantiate(library, {name, {}}, test_ops());
  REQUIRE_MESSAGE(body.ok(), body.status().to_string());
  return to_text(body->graph);
}

constexpr char kGraph[] =
    "x = Placeholder(dtype=float, shape=?)\n"
    "note = NoOp() ^x\n"
    "s = Split(x, num=2) ^note\n"
    "p = Pack(s:1, x)\n";

TEST_CASE("a graph that is written down as a function is itself when it is read again") {
  const Graph graph = graph_of(kGraph);
  const auto def = function_of(graph, {"f", {0}, {{3, 0}, {0, 0}}, {1}});
  REQUIRE_MESSAGE(def.ok(), def.status().to_string());
  CHECK(def->inputs.size() == 1);
  CHECK(def->returns.at("result_1") == "x");
  CHECK(def->control_returns.at("note") == "note");
  CHECK(read_again(*def).find("p = Pack(s:1, x)") != std::string::npos);
}

TEST_CASE("by value a function has what its returns need, and no placeholder") {
  const Graph graph = graph_of(
      "a = Const(1.0)\nb = Const(2.0) ^a\nc = Add(b, b)\nd = Add(a, a)\n"
      "x = Placeholder(dtype=float, shape=?)\ny = Add(x, a)\n");
  const auto def = function_by_value(graph, "f", {{2, 0}});
  REQUIRE_MESSAGE(def.ok(), def.status().to_string());
  CHECK(read_again(*def) == "b = Const(2.0)\nc = Add(b, b)\n");
  CHECK(function_by_value(graph, "g", {{5, 0}}).status().message() ==
        "Cannot capture a placeholder (name:x, type:Placeholder) by value.");
}

}  // namespace
}  // namespace millrace
