#include "millrace/autodiff/loop_gradient.h"

#include <doctest/doctest.h>

#include "millrace/autodiff/testing/program.h"

namespace millrace {
namespace {

using testing::Program;

// y = x * w * w ... as often as n says.
constexpr std::string_view kPower = R"(
  x = Placeholder(dtype=float, shape=[2])
  w = Placeholder(dtype=float, shape=[2])
  n = Placeholder(dtype=int32, shape=[])
  zero = Const(0)
  one = Const(1)
  i_in = Enter(zero, frame_name="loop")
  y_in = Enter(x, frame_name="loop")
  n_in = Enter(n, frame_name="loop", is_constant=true)
  w_in = Enter(w, frame_name="loop", is_constant=true)
  one_in = Enter(one, frame_name="loop", is_constant=true)
  i = Merge(i_in, i_next)
  y = Merge(y_in, y_next)
  more = Less(i, n_in)
  cond = LoopCond(more)
  i_part = Switch(i, cond)
  y_part = Switch(y, cond)
  i_step = Add(i_part:1, one_in)
  y_step = Mul(y_part:1, w_in)
  i_next = NextIteration(i_step)
  y_next = NextIteration(y_step)
  out = Exit(y_part)
)";

TEST_CASE("a loop is gone through backwards as often as it went round") {
  Program program(kPower);
  const auto gradients = program.by({"out"}, {"x", "w"});
  REQUIRE_MESSAGE(gradients.ok(), gradients.status().to_string());
  const Graph& graph = program.builder.graph();
  const auto frames = FrameTable::create(graph);
  REQUIRE_MESSAGE(frames.ok(), frames.status().to_string());
  REQUIRE(frames->frames().size() == 3);
  CHECK(frames->frames()[2].name == "gradients/loop");
  for (const Gradient& each : *gradients) {
    CHECK(graph[each.dense.node].op->name == "Exit");
    CHECK(frames->of(each.dense.node) == 2);
  }
  // The variable's and the sum by w go round, and the count: of the loop, and down to 0.
  CHECK(program.added_of("NextIteration") == 4);
  CHECK(program.added_of("LoopCond") == 1);
}

TEST_CASE("what the gradient needs of each iteration is on a stack, what never changes is not") {
  Program by_x(kPower);
  REQUIRE(by_x.by({"out"}, {"x"}).ok());
  CHECK(by_x.added_of("StackV2") == 0);  // only w is needed
  Program by_w(kPower);
  REQUIRE(by_w.by({"out"}, {"w"}).ok());
  CHECK(by_w.added_of("StackPushV2") == 1);
  CHECK(by_w.added_of("StackPopV2") == 1);
}

TEST_CASE("of a shape that is not known, the shape is kept and not the value") {
  std::string text(kPower);
  for (size_t at; (at = text.find("shape=[2]")) != std::string::npos;)
    text.replace(at, 9, "shape=?");
  Program program(text);
  const auto gradients = program.by({"out"}, {"x"});
  REQUIRE_MESSAGE(gradients.ok(), gradients.status().to_string());
  const Graph& graph = program.builder.graph();
  size_t pushes = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != "StackPushV2") continue;
    CHECK(graph[node.inputs[1].node].op->name == "Shape");
    ++pushes;
  }
  CHECK(pushes == program.added_of("StackV2"));
  CHECK(pushes == 1);  // that of w is the same in each iteration
}

TEST_CASE("by a loop variable's value inside of the loop there is no gradient") {
  Program program(kPower);
  CHECK(program.names(program.by({"out"}, {"y_step"})) ==
        "INVALID_ARGUMENT: gradients: the x 'y_step' is in the loop 'loop', in which there is "
        "another value in each iteration; use what the loop returns, or ask inside of its body");
}

TEST_CASE("a sum after a loop stands in the gradients' own scope") {
  Program program(std::string(kPower) + "  s = Add(out, x)\n");
  CHECK(program.names(program.by({"s"}, {"x"})) == "gradients/AddN");
}

TEST_CASE("a loop that no x goes through is left alone") {
  Program program(std::string(kPower) +
                  "  z = Placeholder(dtype=float, shape=[2])\n  s = Mul(out, z)\n");
  const auto gradients = program.by({"s"}, {"z"});
  REQUIRE(gradients.ok());
  CHECK(program.added_of("Enter") == 0);
}

TEST_CASE("what a value is used for as it enters, and not as a variable, is refused by name") {
  std::string text(kPower);
  text.replace(text.find("Mul(y_part:1, w_in)"), 19, "Mul(y_part:1, v_in)");
  text.insert(text.find("  i = Merge"), "  v_in = Enter(w, frame_name=\"loop\")\n");
  Program program(text);
  CHECK(program.names(program.by({"out"}, {"w"})) ==
        "UNIMPLEMENTED: the gradient of 'v_in' (op type: Enter) can't be made: it is used as it "
        "enters the loop, not as a variable");
}

}  // namespace
}  // namespace millrace
