#include "millrace/graph/import.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::test_ops;
using wire::GraphDef;
using wire::NodeDef;

NodeDef node(std::string name, std::string op, std::vector<std::string> inputs = {},
             std::vector<std::pair<std::string, AttrValue>> attrs = {}) {
  return {.name = std::move(name),
          .op = std::move(op),
          .device = "",
          .inputs = std::move(inputs),
          .attrs = std::move(attrs)};
}

NodeDef constant(std::string name, int32_t value) {
  return node(std::move(name), "Const", {},
              {{"value", Tensor::scalar(value)}, {"dtype", DType::i32}});
}

GraphDef def_of(std::vector<NodeDef> nodes) {
  GraphDef def;
  def.nodes = std::move(nodes);
  return def;
}

std::string refusal(const Result<Graph>& graph) { return graph.status().to_string(); }

TEST_CASE("nodes may come in any order and loops have back edges") {
  const auto graph = import_graph(
      def_of({node("exit", "Exit", {"switch"}, {{"T", DType::i32}}),
              node("next", "NextIteration", {"switch:1"}, {{"T", DType::i32}}),
              node("switch", "Switch", {"merge", "cond"}, {{"T", DType::i32}}),
              node("cond", "LoopCond", {"less"}),
              node("less", "Less", {"merge", "ten"}, {{"T", DType::i32}}),
              node("merge", "Merge", {"enter", "next"}, {{"T", DType::i32}, {"N", 2}}),
              node("ten", "Const", {"^merge"},
                   {{"value", Tensor::scalar(int32_t{10})}, {"dtype", DType::i32}}),
              node("enter", "Enter", {"_zero"}, {{"T", DType::i32}, {"frame_name", "f"}}),
              constant("_zero", 0)}),
      test_ops());
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  CHECK((*graph)[2].inputs[1] == Endpoint{3, 0});
  CHECK((*graph)[6].control_inputs[0] == 5);
  CHECK(topological_order(*graph).ok());
}

TEST_CASE("attributes left out have the op's default, unknown ones are kept") {
  auto matmul = node("m", "MatMul", {"x:0", "x"}, {{"T", DType::f32}, {"_class", "c"}, {"new", 3}});
  matmul.device = "/job:ps";
  const auto graph = import_graph(
      def_of({matmul, node("x", "Placeholder", {}, {{"dtype", DType::f32}})}), test_ops());
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  CHECK(*(*graph)[0].attr_view().boolean("transpose_a") == false);
  CHECK(*(*graph)[0].attrs().find("new")->as_int() == 3);
  CHECK((*graph)[0].requested_device() == "/job:ps");
}

TEST_CASE("all unknown ops are told at once, with nodes that use them") {
  CHECK(refusal(import_graph(def_of({node("a", "Ad"), node("b", "Warp"), node("c", "Ad"),
                                     node("d", "Ad"), node("e", "Ad"), node("f", "Ad")}),
                             test_ops())) ==
        "NOT_FOUND: Op type not registered 'Ad' (did you mean Add), used by 'a', 'c', 'd' and 2 "
        "more nodes; Op type not registered 'Warp', used by 'b'");
}

NodeDef placed(NodeDef node, std::string device) {
  node.device = std::move(device);
  return node;
}

std::string types_of(const Node& node) {
  std::string text;
  for (const auto* types : {&node.input_types(), &node.output_types()})
    for (const ArgType& type : *types)
      str_append(&text, types == &node.output_types() ? ">" : "<", dtype_name(type.dtype));
  return text;
}

TEST_CASE("an unknown op that is for another task has the types that the graph tells of it") {
  const NodeDef x = node("x", "Placeholder", {}, {{"dtype", DType::f32}});
  const auto warp = [](std::vector<std::string> inputs,
                       std::vector<std::pair<std::string, AttrValue>> attrs = {}) {
    return placed(node("w", "Warp", std::move(inputs), std::move(attrs)), "/job:ps/task:1");
  };
  const auto types = [&](const GraphDef& def) -> std::string {
    const auto graph = import_graph(def, test_ops(), Foreign::taken);
    if (!graph.ok()) return graph.status().to_string();
    CHECK((*graph)[1].op->is_foreign);
    CHECK((*graph)[1].attrs().find("power") != nullptr);
    return types_of((*graph)[1]);
  };
  const std::pair<std::string, AttrValue> power("power", 3);
  // By those who read it, which may be many, of outputs of several types.
  CHECK(
      types(def_of({x, warp({"x", "x"}, {power}), node("y", "Identity", {"w"}, {{"T", DType::i32}}),
                    node("z", "Identity", {"w:2"}, {{"T", DType::f64}}),
                    node("v", "Add", {"w:1", "x"}, {{"T", DType::f32}})})) ==
      "<float<float>int32>float>double");
  // By its attributes where nobody reads it, or one that isn't known either.
  CHECK(types(def_of({x, warp({"x"}, {power, {"T", DType::f32}})})) == "<float>float");
  CHECK(types(def_of({x, warp({}, {power, {"T", DType::f32}, {"out_type", DType::i64}})})) ==
        ">int64");
  CHECK(types(def_of({x, warp({"x"}, {power, {"kind", DType::i8}})})) == "<float>int8");
  CHECK(types(def_of({x, warp({}, {power, {"dtypes", std::vector{DType::i8, DType::f32}}})})) ==
        ">int8>float");
  CHECK(types(def_of({x, warp({"again"}, {power, {"T", DType::f32}}),
                      placed(node("again", "Warp", {"x"}, {{"T", DType::f32}}), "/job:ps")})) ==
        "<float>float");
  // It may be for its effect alone.
  CHECK(types(def_of({x, warp({"x", "^x"}, {power})})) == "<float");
}

TEST_CASE(
    "an unknown op of which too little is told, or that nobody else is asked for, is refused") {
  const NodeDef x = node("x", "Placeholder", {}, {{"dtype", DType::f32}});
  const auto refused = [](const GraphDef& def, Foreign foreign = Foreign::taken) {
    return refusal(import_graph(def, test_ops(), foreign));
  };
  const std::string plain = "NOT_FOUND: Op type not registered 'Warp', used by 'w'";
  const NodeDef warp = placed(node("w", "Warp", {"x"}, {{"T", DType::f32}}), "/job:ps");
  CHECK(refused(def_of({x, warp}), Foreign::refused) == plain);
  for (const char* device : {"", "/device:CPU:0", "/task:1", "nonsense"})
    CHECK(refused(def_of({x, placed(warp, device)})) == plain);
  // A second output, which nobody known reads.
  CHECK(refused(def_of({x, warp, placed(node("v", "Weft", {"w:1"}), "/job:ps")}))
            .starts_with(plain + ": nothing that comes with the graph tells"));
  // An input from an op that is refused itself.
  const std::string others =
      refused(def_of({x, placed(node("w", "Warp", {"u:1"}), "/job:ps"), node("u", "Weft", {"x"})}));
  CHECK(others == "NOT_FOUND: Op type not registered 'Weft', used by 'u'");
  // A number of outputs that is no number of outputs.
  CHECK(refused(def_of({x, warp, node("y", "Identity", {"w:2000000000"}, {{"T", DType::f32}})}))
            .starts_with(plain));
  // Later nodes must fit what was told.
  auto graph = import_graph(def_of({x, warp}), test_ops(), Foreign::taken);
  REQUIRE(graph.ok());
  const auto more = [&](DType dtype, std::string input) {
    return extend_graph(*graph, def_of({node("y", "Identity", {input}, {{"T", dtype}})}))
        .to_string();
  };
  CHECK(more(DType::i32, "w").find("incompatible with expected int32") != std::string::npos);
  CHECK(more(DType::f32, "w:1").find("which has 1 outputs") != std::string::npos);
  CHECK(more(DType::f32, "w") == "OK");
}

TEST_CASE("many unknown ops that read each other cost by how many they are") {
  std::vector<NodeDef> nodes = {placed(node("w", "Warp", {}, {{"T", DType::f32}}), "/job:ps")};
  NodeDef all = node("all", "Pack", {}, {{"T", DType::f32}, {"N", 20'000}});
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = str_cat("v", i);
    nodes.push_back(placed(node(name, "Warp", {"w", "w"}, {{"T", DType::f32}}), "/job:ps"));
    all.inputs.push_back(name);
  }
  nodes.push_back(std::move(all));
  const auto graph = import_graph(def_of(std::move(nodes)), test_ops(), Foreign::taken);
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  CHECK(graph->size() == 20'002);
  CHECK((*graph)[1].op == (*graph)[20'000].op);
}

TEST_CASE("an op that graph rewriting made is refused with how to switch that off") {
  CHECK(refusal(import_graph(def_of({node("a", "_FusedMatMul")}), test_ops()))
            .find("rewrite_options.disable_meta_optimizer") != std::string::npos);
  CHECK(refusal(import_graph(def_of({node("a", "FusedMatMul")}), test_ops()))
            .find("rewrite_options") == std::string::npos);
}

TEST_CASE("fifty unknown ops are all told by name") {
  std::vector<NodeDef> nodes;
  for (int i = 0; i < 50; ++i) nodes.push_back(node(str_cat("n", i), str_cat("Unknown", i)));
  const std::string text = refusal(import_graph(def_of(nodes), test_ops()));
  for (int i = 0; i < 50; ++i) {
    CHECK(text.find(str_cat("'Unknown", i, "'")) != std::string::npos);
  }
}

TEST_CASE("any number of unknown ops, of any length, makes a message that is sent whole") {
  std::vector<NodeDef> nodes;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = str_cat("_n", i, std::string(5000, 'x'));
    nodes.push_back(node(name, name));
  }
  const std::string text = refusal(import_graph(def_of(nodes), test_ops()));
  CHECK(text.size() < 3072);
  CHECK(text.find("more ops") != std::string::npos);
}

TEST_CASE("broken nodes are refused by name") {
  const auto refuse = [](std::vector<NodeDef> nodes) {
    return refusal(import_graph(def_of(std::move(nodes)), test_ops()));
  };
  CHECK(refuse({constant("a", 1), constant("a", 2)}) == "INVALID_ARGUMENT: Node 'a' is not unique");
  CHECK(refuse({node("b", "Identity", {"a"}, {{"T", DType::i32}})}) ==
        "INVALID_ARGUMENT: Node 'b': Unknown input node 'a'");
  CHECK(refuse({node("b", "NoOp", {"^a"})}) ==
        "INVALID_ARGUMENT: Node 'b': Unknown input node 'a'");
  CHECK(refuse({constant("a", 1), node("b", "Identity", {"a"}, {{"T", DType::f32}})}) ==
        "INVALID_ARGUMENT: Input 0 of node b was passed int32 from a:0 incompatible with expected "
        "float.");
  CHECK(refuse({constant("a", 1), node("b", "Identity", {"a:7"}, {{"T", DType::i32}})}) ==
        "INVALID_ARGUMENT: Node 'b': Connecting to invalid output 7 of source node a which has 1 "
        "outputs.");
  CHECK(refuse({constant("a", 1), node("b", "Identity", {}, {{"T", DType::i32}})}) ==
        "INVALID_ARGUMENT: Node 'b' (Identity) takes 1 inputs (int32), but has 0");
  CHECK(refuse({constant("a", 1), node("b", "Identity", {"^a", "a"}, {{"T", DType::i32}})})
            .find("takes 1 inputs") != std::string::npos);
  CHECK(refuse({constant("a", 1), node("b", "Identity", {"a", "^a", "a"}, {{"T", DType::i32}})}) ==
        "INVALID_ARGUMENT: Node 'b': input 'a': Control dependencies must come after regular "
        "dependencies");
  CHECK(refuse({constant("a", 1), node("b", "Identity", {"a"}, {{"T", 3}})})
            .starts_with("INVALID_ARGUMENT: Node 'b' (Identity): attribute 'T'"));
  CHECK(refuse({node("b", "Identity", {"b"})})
            .starts_with("INVALID_ARGUMENT: Node 'b' (Identity): attribute 'T'"));
  CHECK(refuse({node("a b", "NoOp")}).starts_with("INVALID_ARGUMENT: 'a b' is no name"));
  CHECK(refuse({node("", "NoOp")}) == "INVALID_ARGUMENT: a node has no name");
}

TEST_CASE("a version that we do not read is refused") {
  GraphDef def = def_of({constant("a", 1)});
  def.versions = {.producer = 99999, .min_consumer = 12, .bad_consumers = {}};
  CHECK(import_graph(def, test_ops()).ok());  // newer writers are fine
  def.versions.min_consumer = kGraphDefVersion + 1;
  CHECK(refusal(import_graph(def, test_ops()))
            .starts_with("INVALID_ARGUMENT: GraphDef min consumer version 2314 above current"));
  def.versions = {.producer = 1, .min_consumer = 0, .bad_consumers = {1, kGraphDefVersion}};
  CHECK(!import_graph(def, test_ops()).ok());
  def.versions = {.producer = -1, .min_consumer = 0, .bad_consumers = {}};
  CHECK(!import_graph(def, test_ops()).ok());
}

TEST_CASE("a few nodes can't have outputs by the million") {
  std::vector<NodeDef> nodes = {constant("a", 1)};
  for (int i = 0; i < 100; ++i) {
    nodes.push_back(node(str_cat("s", i), "Split", {"a"}, {{"T", DType::i32}, {"num", 900'000}}));
  }
  CHECK(refusal(import_graph(def_of(nodes), test_ops()))
            .starts_with("RESOURCE_EXHAUSTED: Node 's1'"));
  nodes.resize(2);
  CHECK(import_graph(def_of(nodes), test_ops()).ok());
}

TEST_CASE("an extension refers to nodes that are there") {
  Graph graph = graph_of("a = Const(1)");
  REQUIRE(extend_graph(graph, def_of({node("b", "Identity", {"a"}, {{"T", DType::i32}})})).ok());
  CHECK(to_text(graph) == "a = Const(1)\nb = Identity(a)\n");
}

TEST_CASE("an extension that fails changes nothing") {
  Graph graph = graph_of("a = Const(1)  b = Identity(a)");
  const std::string before = to_text(graph);
  CHECK(extend_graph(graph, def_of({constant("c", 1), constant("b", 2)})).message() ==
        "GraphDef argument to Extend includes node 'b', which was created by a previous call to "
        "Create or Extend in this session.");
  CHECK(!extend_graph(graph, def_of({constant("c", 1), node("d", "NoOp", {"^e"})})).ok());
  CHECK(!extend_graph(graph, def_of({constant("c", 1), node("d", "Nop")})).ok());
  CHECK(to_text(graph) == before);
  CHECK(extend_graph(graph, def_of({constant("c", 1)})).ok());
}

TEST_CASE("what is exported imports as the same graph") {
  const char* text =
      "versions producer=30 min_consumer=12\n"
      "x = Placeholder(dtype=float, shape=[2,?])\n"
      "init = NoOp() ^x\n"
      "y = MatMul(x, x, transpose_a=false) ^init @ /job:ps\n"
      "z = Identity(y)\n";
  const Graph graph = graph_of(text);
  const GraphDef def = export_graph(graph);
  CHECK(def.nodes[2].inputs == std::vector<std::string>{"x", "x", "^init"});
  CHECK(to_text(*import_graph(def, test_ops())) == text);
  const GraphDef stripped = export_graph(graph, {.defaults = ExportOptions::Defaults::stripped});
  REQUIRE(stripped.nodes[2].attrs.size() == 1);
  CHECK(stripped.nodes[2].attrs[0].first == "T");
}

TEST_CASE("a placed node is exported with the device it was placed on") {
  const Graph graph = graph_of("x = Const(1) @ /job:ps -> /job:ps/replica:0/task:0/device:CPU:0");
  CHECK(export_graph(graph).nodes[0].device == "/job:ps/replica:0/task:0/device:CPU:0");
}

TEST_CASE("a million nodes are imported") {
  constexpr int kNodes = 1'000'000;
  GraphDef def;
  def.nodes.reserve(kNodes);
  def.nodes.push_back(constant("layer/node_0", 1));
  for (int i = 1; i < kNodes; ++i) {
    def.nodes.push_back(node(str_cat("layer/node_", i), "Add",
                             {str_cat("layer/node_", i - 1), str_cat("layer/node_", i / 2)},
                             {{"T", DType::i32}}));
  }
  const auto graph = import_graph(def, test_ops());
  REQUIRE(graph.ok());
  CHECK(graph->size() == kNodes);
  CHECK((*graph)[999'999].inputs[1].node == 499'999);
}

}  // namespace
}  // namespace millrace
