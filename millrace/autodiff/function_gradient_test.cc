#include "millrace/autodiff/function_gradient.h"

#include <doctest/doctest.h>

#include "millrace/autodiff/testing/program.h"

namespace millrace {
namespace {

using testing::all_ops;

FunctionBody body_of(std::string_view text, size_t num_args, std::string_view returned) {
  auto graph = parse_graph(text, all_ops());
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  const auto endpoint = find_endpoint(*graph, returned);
  REQUIRE(endpoint.ok());
  return {.graph = *std::move(graph), .num_args = num_args, .returns = {*endpoint}};
}

TEST_CASE("the gradient of a function takes what arrives after the arguments") {
  const auto made = differentiated(body_of(R"(
    x = Placeholder(dtype=float)
    n = Placeholder(dtype=int32)
    i = Placeholder(dtype=float)
    y = Tanh(x)
  )",
                                           3, "y"));
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK(made->num_args == 4);
  CHECK(made->graph[3].name == "arriving");
  REQUIRE(made->returns.size() == 3);
  const auto name = [&](size_t i) { return endpoint_name(made->graph, made->returns[i]); };
  CHECK(name(0) == "gradients/y_grad/TanhGrad");
  // Zeros by a whole number, and by what the function does not use.
  CHECK(name(1) == "by_args/ZerosLike");
  CHECK(name(2) == "by_args/ZerosLike_1");
}

TEST_CASE("loops in functions are gone through, and what has no gradient is refused by name") {
  for (const char* const merged : {"in, next", "next, in"}) {
    const auto looped = differentiated(body_of(str_cat(R"(
      x = Placeholder(dtype=float)
      in = Enter(x, frame_name="f")
      value = Merge()",
                                                       merged, R"()
      limit = Const(9.0)
      limit_in = Enter(limit, frame_name="f", is_constant=true)
      more = Less(value, limit_in)
      cond = LoopCond(more)
      part = Switch(value, cond)
      squared = Square(part:1)
      next = NextIteration(squared)
      out = Exit(part)
    )"),
                                               1, "out"));
    REQUIRE_MESSAGE(looped.ok(), looped.status().to_string());
    CHECK(looped->graph[looped->returns[0].node].op->role == Role::exit);
  }
  const auto refused = differentiated(body_of(R"(
    x = Placeholder(dtype=float)
    y = PreventGradient(x, message="by hand")
  )",
                                              1, "y"));
  CHECK(refused.status().to_string() ==
        "NOT_FOUND: gradient of 'y' (op type: PreventGradient): Gradient explicitly disabled. "
        "Reason: by hand");
}

}  // namespace
}  // namespace millrace
