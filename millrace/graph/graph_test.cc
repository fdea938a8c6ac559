#include "millrace/graph/graph.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::test_ops;

std::string why(const Status& status) { return status.message(); }
template <class T>
std::string why(const Result<T>& result) {
  return result.status().message();
}

NodeId must(Result<NodeId> id) { return *std::move(id); }

TEST_CASE("type attributes that the inputs decide are filled in") {
  Graph graph = graph_of("a = Const(1.5)  b = Const(2)");
  const NodeId sum = must(graph.add({.name = "sum", .op = "Add", .inputs = {{0, 0}, {0, 0}}}));
  CHECK(*graph[sum].attrs().find("T")->as_type() == DType::f32);
  CHECK(graph[sum].output_types()[0] == ArgType{DType::f32, false});

  const NodeId pack =
      must(graph.add({.name = "p", .op = "Pack", .inputs = {{1, 0}, {1, 0}, {1, 0}}}));
  CHECK(*graph[pack].attrs().find("N")->as_int() == 3);

  const NodeId both = must(graph.add({.name = "n", .op = "IdentityN", .inputs = {{0, 0}, {1, 0}}}));
  CHECK(graph[both].num_outputs() == 2);
  CHECK(graph[both].output_types()[1].dtype == DType::i32);
}

TEST_CASE("a node that makes no sense is refused, and the graph stays as it was") {
  Graph graph = graph_of("a = Const(1.5)  b = Const(2)  v = VariableV2(dtype=float, shape=[])");
  const auto refuse = [&](Graph::NewNode node) { return graph.add(std::move(node)).status(); };

  CHECK(why(refuse({.name = "x", .op = "Ad", .inputs = {{0, 0}, {0, 0}}})) ==
        "Op type not registered 'Ad', used by node 'x'; did you mean Add");
  CHECK(why(refuse({.name = "x", .op = "Add", .inputs = {{0, 0}, {1, 0}}})) ==
        "Input 1 of node x was passed int32 from b:0 incompatible with expected float.");
  CHECK(why(refuse({.name = "x", .op = "Add", .inputs = {{0, 0}}})) ==
        "Node 'x' (Add) takes 2 inputs (float, float), but has 1");
  CHECK(why(refuse({.name = "x", .op = "Identity", .inputs = {{0, 3}}})) ==
        "Node 'x': Connecting to invalid output 3 of source node a which has 1 outputs.");
  CHECK(why(refuse({.name = "x", .op = "Assign", .inputs = {{0, 0}, {0, 0}}})) ==
        "Input 0 of node x was passed float from a:0 incompatible with expected float_ref.");
  CHECK(refuse({.name = "a", .op = "NoOp"}).code() == Code::already_exists);
  CHECK(refuse({.name = "x", .op = "Identity", .inputs = {{9, 0}}}).code() ==
        Code::invalid_argument);
  CHECK(refuse({.name = "x", .op = "Identity", .inputs = {{}}}).code() == Code::invalid_argument);
  CHECK(refuse({.name = "x y", .op = "NoOp"}).code() == Code::invalid_argument);
  CHECK(refuse({.name = "", .op = "NoOp"}).code() == Code::invalid_argument);
  CHECK(
      refuse(
          {.name = "x", .op = "MatMul", .inputs = {{0, 0}, {0, 0}}, .attrs = {{"transpose_a", 3}}})
          .code() == Code::invalid_argument);
  CHECK(graph.size() == 3);
}

TEST_CASE("a reference may be read as a value") {
  const Graph graph = graph_of(
      "v = VariableV2(dtype=float, shape=[])  c = Const(1.0)  a = Assign(v, c)  r = Identity(a)");
  CHECK(graph[2].output_types()[0] == ArgType{DType::f32, true});
  CHECK(graph[3].output_types()[0] == ArgType{DType::f32, false});
}

TEST_CASE("a copy keeps its names and devices when the original is gone") {
  auto original =
      std::make_unique<Graph>(graph_of("a = Const(1) @ /job:a/replica:0/task:0/device:CPU:0 -> "
                                       "/job:b/replica:0/task:0/device:CPU:0"));
  const Graph copy = *original;
  original.reset();
  CHECK(copy[0].requested_device() == "/job:a/replica:0/task:0/device:CPU:0");
  CHECK(copy[0].device() == "/job:b/replica:0/task:0/device:CPU:0");
  CHECK(copy.find("a") == &copy[0]);
  CHECK(copy[0].name == "a");
}

TEST_CASE("what is retained keeps its order, and the edges follow") {
  Graph graph =
      graph_of("a = Const(1)  b = Const(2) @ /job:x  c = Identity(b)  d = Identity(c) ^b");
  CHECK(graph.retain({false, true, true, true}) == std::vector<NodeId>{kNoNode, 0, 1, 2});
  CHECK(to_text(graph) == "b = Const(2) @ /job:x\nc = Identity(b)\nd = Identity(c) ^b\n");
  CHECK(graph.find("a") == nullptr);
  CHECK(graph.find("d")->id == 2);
  CHECK(graph.add({.name = "a", .op = "NoOp"}).ok());
}

TEST_CASE("a graph of a thousand nodes can be copied, thinned out, shortened and grown") {
  Graph graph = graph_of("");
  const auto add = [&](Graph& to) {
    const std::string name =
        str_cat("a_name_that_is_longer_than_strings_hold_in_place_", to.size());
    must(to.add({.name = name, .op = "NoOp", .control_inputs = {}}));
  };
  for (int i = 0; i < 1000; ++i) add(graph);
  Graph copy = graph;
  std::vector<bool> keep(1000);
  for (size_t i = 0; i < keep.size(); ++i) keep[i] = i % 3 == 0;
  copy.retain(keep);
  CHECK(copy.size() == 334);
  copy.truncate(300);
  for (NodeId id = 0; id < copy.size(); ++id) REQUIRE(copy[id].name == graph[3 * id].name);
  for (NodeId id = 0; id < copy.size(); ++id) REQUIRE(copy.find(copy[id].name) == &copy[id]);
  must(copy.add({.name = "last", .op = "NoOp", .control_inputs = {0, 299}}));
  CHECK(copy.nodes().size() == 301);
  CHECK(copy.find("last")->control_inputs == std::vector<NodeId>{0, 299});
  add(graph);
  CHECK(graph[1000].name.ends_with("_1000"));
}

TEST_CASE("a copy from another graph may have another name and another device") {
  Graph graph = graph_of("a = NoOp()");
  {
    const Graph other = graph_of("b = NoOp() @ /job:b -> /job:c  d = Const(1)  c = Identity(d) ^b");
    must(graph.add_copy(other[0], "x", "/job:x"));
    must(graph.add_copy(other[2]));
  }
  CHECK(graph[1].name == "x");
  CHECK(graph[1].requested_device() == "/job:x");
  CHECK(graph[1].device() == "/job:c");
  CHECK(graph[2].name == "c");
  CHECK(graph[2].inputs[0] == Endpoint{});
  CHECK(graph[2].control_inputs.empty());
}

TEST_CASE("nodes that were taken back leave no trace") {
  Graph graph = graph_of("a = Const(1) @ /job:a");
  const std::string before = to_text(graph);
  for (int i = 0; i < 100; ++i) {
    must(graph.add({.name = str_cat("n", i), .op = "NoOp", .device = str_cat("/job:b", i)}));
  }
  graph.truncate(1);
  CHECK(to_text(graph) == before);
  CHECK(graph.find("n5") == nullptr);
  CHECK(graph.find("a")->id == 0);
  CHECK(graph.add({.name = "n5", .op = "NoOp"}).ok());
}

TEST_CASE("nodes of one op with the same attributes share their kind") {
  const Graph graph = graph_of(
      "a = Const(1)  b = Const(1)  c = Const(2)  d = Identity(a)  e = Identity(c)  f = Const(true) "
      " "
      "g = Identity(f)");
  const auto kind = [&](std::string_view name) { return graph.find(name)->kind; };
  CHECK(kind("a") == kind("b"));
  CHECK(kind("a") != kind("c"));
  CHECK(kind("d") == kind("e"));
  CHECK(kind("d") != kind("g"));
  CHECK(kind("d") != kind("a"));
}

TEST_CASE("a node whose attribute changes leaves the others as they are") {
  Graph graph = graph_of("a = Const(1)  b = Identity(a)  c = Identity(a)");
  REQUIRE(graph.set_attr(1, "_class", std::vector<std::string>{"loc:@a"}).ok());
  CHECK(graph[1].attrs().find("_class") != nullptr);
  CHECK(graph[2].attrs().find("_class") == nullptr);
}

TEST_CASE("a copy from another graph has the kind of its like here") {
  Graph graph = graph_of("a = Const(1)");
  const Graph other = graph_of("b = Const(1)");
  REQUIRE(graph[0].kind != other[0].kind);
  const NodeId copy = must(graph.add_copy(other[0]));
  CHECK(graph[copy].kind == graph[0].kind);
}

TEST_CASE("constants are alike only to the last bit") {
  Graph graph = graph_of("");
  const auto kind_of = [&](const char* name, float value) {
    const AttrValue tensor = Tensor::scalar(value);
    const NodeId id = must(graph.add(
        {.name = name, .op = "Const", .attrs = {{"dtype", DType::f32}, {"value", tensor}}}));
    return graph[id].kind;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(kind_of("a", 0.0f) != kind_of("b", -0.0f));
  CHECK(kind_of("c", nan) == kind_of("d", nan));
}

TEST_CASE("kinds that only dropped nodes had are let go") {
  Graph graph = graph_of("");
  std::vector<std::weak_ptr<const NodeKind>> kinds;
  for (int i = 0; i < 1000; ++i) {
    const AttrValue value = Tensor::scalar(i);
    const NodeId id = must(graph.add(
        {.name = "c", .op = "Const", .attrs = {{"dtype", DType::i32}, {"value", value}}}));
    kinds.push_back(graph[id].kind);
    graph.truncate(id);
  }
  CHECK(std::ranges::count_if(kinds, [](const auto& kind) { return !kind.expired(); }) < 100);
}

TEST_CASE("names that were taken back are free, and all others are found") {
  Graph graph = graph_of("");
  const auto add = [&](int i) { must(graph.add({.name = str_cat("n", i), .op = "NoOp"})); };
  for (int i = 0; i < 1000; ++i) add(i);
  // Few at a time, so that they are taken out one by one, where probes of others pass.
  for (int size = 1000; size > 400; size -= 7) {
    graph.truncate(static_cast<size_t>(size));
    CHECK(graph.find(str_cat("n", size)) == nullptr);
    for (int i = 0; i < size; ++i)
      CHECK(graph.find(str_cat("n", i)) == &graph[static_cast<NodeId>(i)]);
  }
  const int left = static_cast<int>(graph.size());
  for (int i = left; i < 1000; ++i) add(i);
  CHECK(graph.find("n999")->id == 999);
}

TEST_CASE("a device that is asked for outlasts those of nodes that were taken back") {
  Graph graph = graph_of("a = Const(1) @ /job:a");
  for (int i = 0; i < 1000; ++i) {
    must(graph.add({.name = "b", .op = "NoOp", .device = str_cat("/job:b", i)}));
    graph.truncate(1);
  }
  CHECK(graph[0].requested_device() == "/job:a");
}

TEST_CASE("the outputs of all nodes are counted") {
  Graph graph =
      graph_of("a = Const(1)  b = Identity(a)  c = NoOp()  d = Switch(a, e)  e = Const(true)");
  CHECK(graph.num_outputs() == 5);
  REQUIRE(graph.replace(1, {.name = "", .op = "NoOp"}).ok());
  CHECK(graph.num_outputs() == 4);
  graph.retain({true, true, true, false, true});
  CHECK(graph.num_outputs() == 2);
  graph.truncate(1);
  CHECK(graph.num_outputs() == 1);
}

TEST_CASE("the order and the consumers of a graph's newer nodes leave the older ones out") {
  const Graph graph = graph_of("a = Const(1)  c = Add(b, a)  b = Identity(a)  d = NoOp() ^a ^c");
  CHECK(*topological_order(graph, 1) == std::vector<NodeId>{2, 1, 3});
  const FanOut fan_out(graph, 1);
  CHECK(fan_out.of(2).size() == 1);
  CHECK(fan_out.of(2)[0].consumer == 1);
  CHECK(fan_out.of(1).size() == 1);
  CHECK(fan_out.of(3).empty());
}

TEST_CASE("an attribute can be changed only if the edges still fit") {
  Graph graph = graph_of("a = Const(1.5)  b = Identity(a)");
  CHECK(why(graph.set_attr(1, "T", DType::i32)) ==
        "Input 0 of node b was passed float from a:0 incompatible with expected int32.");
  CHECK(to_text(graph) == "a = Const(1.5)\nb = Identity(a)\n");
  CHECK(graph.set_attr(1, "_note", "x").ok());
}

TEST_CASE("a free name is found for any prefix") {
  const Graph graph = graph_of("a = NoOp()  a_1 = NoOp()");
  CHECK(graph.unique_name("a") == "a_2");
  CHECK(graph.unique_name("b") == "b");
}

TEST_CASE("fan-out lists every edge once, from the producer's side") {
  const Graph graph = graph_of("a = Const(1)  b = Add(a, a)  c = NoOp() ^a");
  const FanOut fan_out(graph);
  const auto edges = fan_out.of(0);
  REQUIRE(edges.size() == 3);
  CHECK(edges[0].consumer == 1);
  CHECK(edges[1].slot == 1);
  CHECK(edges[2].output == -1);
  CHECK(edges[2].consumer == 2);
  CHECK(fan_out.of(1).empty());
}

TEST_CASE("the topological order of an ordered graph is that of its ids") {
  const Graph graph = graph_of("a = Const(1)  z = Const(2)  b = Identity(z)  c = Identity(a)");
  CHECK(*topological_order(graph) == std::vector<NodeId>{0, 1, 2, 3});
}

TEST_CASE("inputs that come later in the text come earlier in the order") {
  const Graph graph = graph_of("c = Identity(b, T=int32)  b = Identity(a, T=int32)  a = Const(1)");
  CHECK(*topological_order(graph) == std::vector<NodeId>{2, 1, 0});
}

TEST_CASE("a cycle that is no loop is named") {
  const Graph graph = graph_of("a = Identity(c, T=int32)  b = Identity(a)  c = Identity(b)");
  CHECK(why(topological_order(graph)) ==
        "Graph is invalid, contains a cycle that is no while loop: a -> b -> c -> a");
}

TEST_CASE("a long cycle is named in part") {
  std::string text = "n0 = NoOp() ^n999\n";
  for (int i = 1; i < 1000; ++i) str_append(&text, "n", i, " = NoOp() ^n", i - 1, "\n");
  const std::string message = why(topological_order(graph_of(text)));
  CHECK(message.size() < 300);
  CHECK(message.find("more … -> n0") != std::string::npos);
}

TEST_CASE("a deep graph does not exhaust the stack") {
  Graph graph(test_ops());
  constexpr NodeId kDeep = 200'000;
  for (NodeId i = 0; i < kDeep; ++i) must(graph.add({.name = str_cat("n", i), .op = "NoOp"}));
  for (NodeId i = 0; i + 1 < kDeep; ++i) graph.add_control_input(i, i + 1);
  const auto order = topological_order(graph);
  REQUIRE(order.ok());
  CHECK(order->front() == kDeep - 1);
}

TEST_CASE("endpoints are found by the names that clients write") {
  const Graph graph = graph_of("a = Const([1, 2])  s = Split(a, num=2)");
  CHECK(*find_endpoint(graph, "s:1") == Endpoint{1, 1});
  CHECK(*find_endpoint(graph, "a") == Endpoint{0, 0});
  CHECK(find_endpoint(graph, "b:0").status().code() == Code::not_found);
  CHECK(find_endpoint(graph, "a:99999999999999").status().code() == Code::not_found);
  CHECK(why(find_endpoint(graph, "s:2")) == "'s:2': node 's' (Split) has 2 outputs");
  CHECK(endpoint_name(graph, {1, 1}) == "s:1");
}

TEST_CASE("repeated control inputs count once, however many there are") {
  Graph graph = graph_of("a = NoOp()  b = NoOp()");
  std::vector<NodeId> many(100'000, 0);
  graph.set_control_inputs(1, many);
  CHECK(graph[1].control_inputs.size() == 1);
  graph.add_control_input(1, 0);
  CHECK(graph[1].control_inputs.size() == 1);
}

TEST_CASE("the value of a constant has the type that it says") {
  const Graph graph = graph_of("a = Const(1)  b = Const(dtype=float, value=tensor(1))  c = NoOp()");
  CHECK(constant_value(graph[0])->item<int32_t>() == 1);
  CHECK(constant_value(graph[1]) == nullptr);
  CHECK(constant_value(graph[2]) == nullptr);
}

}  // namespace
}  // namespace millrace
