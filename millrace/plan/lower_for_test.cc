// For and RemoteCall, with the op library itself: what they become are ops that it has.
#include <algorithm>

#include "doctest/doctest.h"

#include "millrace/graph/text.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/lower.h"
#include "millrace/plan/testing/whole_library.h"
#include "millrace/wire/function_def.h"
#include "millrace/wire/function_gradient.h"

namespace millrace {
namespace {

constexpr std::string_view kFunctions =
    "function body \"i: int32, x: float -> y: float\" {"
    "  f = Cast(i, SrcT=int32, DstT=float) y = Add(x, f:y:0, T=float) return y = y:z:0 }"
    "function pair \"i: int32, x: float -> y: float, z: float\" { return y = x, z = x }"
    "function twice \"x: float -> y: float\" { y = Add(x, x, T=float) return y = y:z:0 }"
    "zero = Const(0) ten = Const(10) x = Const(1.0) there = Const(\"/job:worker/task:1\") ";

struct LoweredText {
  Graph graph;
  Status status;

  explicit LoweredText(std::string_view text)
      : graph(parse_graph(str_cat(kFunctions, text), testing::whole_library()).value()) {
    StandIns stand_ins;
    status = lower_functions(graph, stand_ins);
    if (status.ok()) CHECK(validate(graph).ok());
  }

  size_t count(std::string_view op) const {
    return static_cast<size_t>(std::ranges::count_if(
        graph.nodes(), [&](const Node& node) { return node.op->name == op; }));
  }
};

TEST_CASE("For is a loop with one more variable, entered after its bounds are checked") {
  const LoweredText made("f = For(zero, ten, ten, x, body=body)");
  REQUIRE_MESSAGE(made.status.ok(), made.status.to_string());
  CHECK(made.count("For") == 0);
  CHECK(made.count("NextIteration") == 2);
  CHECK(made.count("Assert") == 2);
  for (const Node& node : made.graph.nodes()) {
    if (node.op->name != "Merge") continue;
    CHECK(made.graph[node.inputs[0].node].control_inputs.size() == 2);
  }
}

TEST_CASE("a For without anything to put through still counts") {
  const LoweredText made(
      "function none \"i: int32 ->\" {} f = For(zero, ten, ten, T={}, body=none)");
  REQUIRE_MESSAGE(made.status.ok(), made.status.to_string());
  CHECK(made.count("NextIteration") == 1);
}

TEST_CASE("a For whose body returns too much is refused in the words that clients look for") {
  const LoweredText made("f = For(zero, ten, ten, x, body=pair)");
  CHECK(made.status.to_string() ==
        "INVALID_ARGUMENT: Node 'f' (For): function 'pair' returns (float, float), but (float) is "
        "expected: For loop body returned 2 arguments. Expected: 1");
}

TEST_CASE("RemoteCall is the function's body on the device that its target names") {
  const LoweredText made("c = RemoteCall(there, x, Tout={float}, f=twice) @ /job:ps/task:0");
  REQUIRE_MESSAGE(made.status.ok(), made.status.to_string());
  const Node& sum = made.graph[made.graph.find("c")->inputs[0].node];
  CHECK(sum.op->name == "Add");
  CHECK(sum.requested_device() == "/job:worker/task:1");
}

// The function 'twice' of a graph, whose library declares another function to be its gradient.
Status lowered_with_gradient(std::string_view gradient, Graph* lowered) {
  Graph graph =
      parse_graph(
          str_cat(
              kFunctions,
              "function own \"x: float, dy: float -> dx: float\" {"
              "  y = Mul(x, dy, T=float) return dx = y:z:0 }"
              "function more \"x: float, dy: float -> a: float, b: float\" { return a = x, b = x }"
              "g = SymbolicGradient(x, x, Tin={float, float}, Tout={float}, f=twice)"),
          testing::whole_library())
          .value();
  FunctionLibrary functions = *graph.functions();
  auto twice = std::make_shared<wire::FunctionDef>(*functions.at("twice"));
  twice->attrs = {{std::string(wire::kGradientAttr), FunctionRef{std::string(gradient), {}}}};
  functions.insert_or_assign("twice", std::move(twice));
  graph.set_functions(std::make_shared<const FunctionLibrary>(std::move(functions)));
  StandIns stand_ins;
  MR_TRY(lower_functions(graph, stand_ins));
  *lowered = std::move(graph);
  return {};
}

TEST_CASE("a gradient that the library declares takes the place of the one that would be made") {
  Graph graph(testing::whole_library());
  const Status status = lowered_with_gradient("own", &graph);
  REQUIRE_MESSAGE(status.ok(), status.to_string());
  CHECK(graph[graph.find("g")->inputs[0].node].op->name == "Mul");
  CHECK(lowered_with_gradient("more", &graph)
            .message()
            .find("function 'more' is the gradient of 'twice': SymGrad expects to return 1 "
                  "gradients, one "
                  "for each argument, but get 2 instead") != std::string::npos);
}

TEST_CASE("a RemoteCall's target is known when the graph arrives, and is one name") {
  const auto why = [](std::string_view target) {
    return LoweredText(str_cat(target, " c = RemoteCall(t, x, Tout={float}, f=twice)"))
        .status.to_string();
  };
  CHECK(why("t = Placeholder(dtype=string)") ==
        "UNIMPLEMENTED: Node 'c' (RemoteCall): target is computed by 't' (Placeholder); give the "
        "device's name as a constant, as functions are placed when the graph arrives");
  CHECK(why("t = Identity(u, T=string) u = Identity(t, T=string)").find("target") !=
        std::string::npos);
  CHECK(why("t = Const(\"/job:a//\")")
            .starts_with("INVALID_ARGUMENT: Node 'c' (RemoteCall): target"));
}

}  // namespace
}  // namespace millrace
