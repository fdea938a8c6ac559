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

TEST_CASE("a table that grows with its graph is that of the whole graph") {
  Graph graph = graph_of(
      "a = Const(1)\n"
      "b = Identity(a)\n"
      "e = Enter(b, frame_name=\"f\")\n"
      "x = Exit(e)\n"
      "y = Identity(x)\n"
      "g = Enter(y, frame_name=\"g\")\n"
      "h = Enter(g, frame_name=\"h\")\n");
  const FrameTable whole = FrameTable::create(graph).value();
  Graph grown = graph_of("");
  FrameTable table;
  for (const Node& node : graph.nodes()) {
    REQUIRE(grown
                .add({.name = std::string(node.name),
                      .op = node.op->name,
                      .inputs = {node.inputs.begin(), node.inputs.end()},
                      .attrs = node.attrs()})
                .ok());
    REQUIRE(table.extend(grown).ok());
    CHECK(table.size() == grown.size());
  }
  for (const Node& node : graph.nodes()) {
    CAPTURE(node.name);
    CHECK(table.frames()[table.of(node.id)].name == whole.frames()[whole.of(node.id)].name);
  }

  // Back to where no loop was, and to one: frames that are gone can be entered from elsewhere.
  table.truncate(5);
  CHECK(table.frames().size() == 2);
  grown.truncate(5);
  REQUIRE(
      grown.add({.name = "h", .op = "Enter", .inputs = {{4, 0}}, .attrs = {{"frame_name", "h"}}})
          .ok());
  CHECK(table.extend(grown).ok());
  table.truncate(2);
  CHECK(!table.has_loops());
}

TEST_CASE("an extension of the frames that is refused leaves the table as it was") {
  Graph graph = graph_of("a = Const(1)");
  FrameTable table;
  REQUIRE(table.extend(graph).ok());
  REQUIRE(
      graph.add({.name = "e", .op = "Enter", .inputs = {{0, 0}}, .attrs = {{"frame_name", "f"}}})
          .ok());
  REQUIRE(graph.add({.name = "b", .op = "Add", .inputs = {{1, 0}, {0, 0}}}).ok());
  CHECK(!table.extend(graph).ok());
  CHECK(table.size() == 1);
  CHECK(!table.has_loops());
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
