#include "millrace/graph/frames.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"

namespace millrace {
namespace {

using testing::graph_of;

// "node: frame of its inputs > its own > of its outputs" for each node.
std::string frames_of(std::string_view text) {
  const Graph graph = graph_of(text);
  const auto table = FrameTable::create(graph);
  if (!table.ok()) return table.status().message();
  std::string lines;
  for (const Node& node : graph.nodes()) {
    const auto name = [&](uint32_t frame) { return table->frames()[frame].name; };
    str_append(&lines, node.name, ": ", name(table->of_inputs(node)), ">", name(table->of(node.id)),
               ">", name(table->of_outputs(node)), "\n");
  }
  return lines;
}

TEST_CASE("a loop's nodes are in its frame, from Enter to Exit") {
  CHECK(frames_of("a = Const(1)\n"
                  "e = Enter(a, frame_name=\"f\")\n"
                  "m = Merge(e, n)\n"
                  "c = Const(true) ^m\n"
                  "l = LoopCond(c)\n"
                  "s = Switch(m, l)\n"
                  "n = NextIteration(s:1)\n"
                  "x = Exit(s)\n"
                  "y = Identity(x)\n") ==
        "a: >>\ne: >f>f\nm: f>f>f\nc: f>f>f\nl: f>f>f\ns: f>f>f\nn: f>f>f\nx: f>f>\ny: >>\n");
}

TEST_CASE("loops nest") {
  const std::string text =
      "a = Const(1)\n"
      "e = Enter(a, frame_name=\"outer\")\n"
      "i = Enter(e, frame_name=\"inner\")\n"
      "x = Exit(i)\n"
      "y = Exit(x)\n";
  CHECK(frames_of(text) ==
        "a: >>\ne: >outer>outer\ni: outer>inner>inner\nx: inner>inner>outer\ny: outer>outer>\n");
}

TEST_CASE("a graph without loops has the root frame alone") {
  const Graph graph = graph_of("a = Const(1)  b = Identity(a)");
  const auto table = FrameTable::create(graph);
  REQUIRE(table.ok());
  CHECK(!table->has_loops());
  CHECK(table->of(1) == FrameTable::kRoot);
}

TEST_CASE("inputs from two frames are refused") {
  CHECK(frames_of("a = Const(1)  e = Enter(a, frame_name=\"f\")  b = Add(e, a)") ==
        "{{node b}} has inputs from different frames. The input {{node e}} is in frame 'f'. The "
        "input {{node a}} is in frame ''.");
}

TEST_CASE("a back edge from another frame is refused") {
  CHECK(frames_of("a = Const(1)\n"
                  "e = Enter(a, frame_name=\"f\")\n"
                  "m = Merge(e, n)\n"
                  "n = NextIteration(a)\n")
            .starts_with("{{node m}} has inputs from different frames."));
}

TEST_CASE("a frame is entered from one other frame only") {
  CHECK(frames_of("a = Const(1)\n"
                  "e = Enter(a, frame_name=\"f\")\n"
                  "i = Enter(e, frame_name=\"g\")\n"
                  "j = Enter(a, frame_name=\"g\")\n") ==
        "{{node j}} enters frame 'g' from frame '', other nodes enter it from frame 'f'");
}

TEST_CASE("a frame has a name, and an exit a frame") {
  CHECK(frames_of("a = Const(1)  e = Enter(a, frame_name=\"\")") ==
        "The Enter {{node e}} must have a frame name.");
  CHECK(frames_of("a = Const(1)  x = Exit(a)") == "{{node x}} is an Exit outside of every loop");
}

}  // namespace
}  // namespace millrace
