#include "millrace/master/cost_graph.h"

#include "doctest/doctest.h"

namespace millrace {
namespace {

wire::NodeDef node(std::string name, std::string device, std::vector<std::string> inputs = {}) {
  wire::NodeDef made;
  made.name = std::move(name);
  made.op = "Op";
  made.device = std::move(device);
  made.inputs = std::move(inputs);
  return made;
}

NodeTiming timing(std::string name, int64_t start, int64_t end,
                  std::vector<OutputTrace> outputs = {}) {
  return {.node_name = std::move(name),
          .op = "Op",
          .start_micros = start,
          .end_micros = end,
          .thread = 0,
          .outputs = std::move(outputs)};
}

TEST_CASE("a node costs what it took in all its runs, on its own device") {
  wire::GraphDef near, far;
  near.nodes = {node("a", "/d:0"), node("b", "/d:0", {"a:1", "a", "^a", "unknown"})};
  far.nodes = {node("a", "/d:1")};
  const OutputTrace output{.slot = 1, .dtype = DType::f32, .shape = {2}};
  const auto made = cost_graph_of({{"/d:0", {timing("a", 10, 12, {output}), timing("a", 20, 25)}},
                                   {"/d:1", {timing("a", 30, 31)}}},
                                  {near, far});
  REQUIRE(made.size() == 3);
  CHECK(made[0].name == "a");
  CHECK(made[0].device == "/d:0");
  CHECK(made[0].micros == 7);
  REQUIRE(made[0].outputs.size() == 2);
  CHECK(made[0].outputs[1] == output);
  CHECK(made[1].inputs == std::vector<std::pair<int32_t, int32_t>>{{0, 1}, {0, 0}});
  CHECK(made[1].control_inputs == std::vector<int32_t>{0});
  CHECK(made[1].micros == 0);
  CHECK(made[2].micros == 1);
}

TEST_CASE("an output that no op can have is no reason to believe in as many") {
  wire::GraphDef graph;
  graph.nodes = {node("a", "/d:0")};
  const auto made =
      cost_graph_of({{"/d:0", {timing("a", 0, 1, {{.slot = 1 << 30}, {.slot = -1}})}}}, {graph});
  REQUIRE(made.size() == 1);
  CHECK(made[0].outputs.empty());
}

}  // namespace
}  // namespace millrace
