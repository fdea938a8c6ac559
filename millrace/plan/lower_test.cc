#include "millrace/plan/lower.h"

#include <optional>
#include <regex>

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/testing/text_case.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::test_ops;
using testing::TextCase;

std::string nodes_text(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) str_append(&text, to_text(graph, node), "\n");
  return text;
}

std::string run_lower(const TextCase& text_case) {
  Graph graph = graph_of(text_case.input);
  REQUIRE(validate(graph).ok());
  StandIns stand_ins;
  LowerOptions options;
  std::optional<DeviceSet> devices;
  if (text_case.options.contains("devices")) {
    devices = testing::devices_of(text_case);
    options.devices = &*devices;
  }
  const Status status = lower_functions(graph, stand_ins, options);
  if (!status.ok()) return status.to_string();
  CHECK(validate(graph).ok());
  CHECK(stand_ins.size() == graph.size());
  for (const Node& node : graph.nodes()) CHECK(!calls_functions(node.op->role));
  return nodes_text(graph);
}

TEST_CASE("calls give way to what they call") {
  testing::run_text_cases("lower_call.txt", run_lower);
}
TEST_CASE("branches become switches and merges") {
  testing::run_text_cases("lower_branches.txt", run_lower);
}
TEST_CASE("a while becomes a loop") { testing::run_text_cases("lower_while.txt", run_lower); }

std::string why(std::string_view text, const LowerOptions& options = {}) {
  auto graph = parse_graph(text, test_ops());
  if (!graph.ok()) return graph.status().to_string();
  StandIns stand_ins;
  const Status status = lower_functions(*graph, stand_ins, options);
  CHECK(stand_ins.size() == (status.ok() ? graph->size() : 0));
  return status.to_string();
}

constexpr char kCalls[] =
    "function f \"x: float -> y: float\" { return y = x }"
    "function none \"->\" { c = Const(1.0) }"
    "a = Const(1.0) i = Const(1) p = Const(true) ";

TEST_CASE("a call that does not fit its function says both") {
  const auto fault = [](std::string_view node) { return why(str_cat(kCalls, node)); };
  CHECK(fault("c = PartitionedCall(a, Tout={float}, f=g)") ==
        "NOT_FOUND: Node 'c' (PartitionedCall): Function g is not defined: the graph came with 2 "
        "functions");
  CHECK(fault("c = PartitionedCall(i, Tout={float}, f=f)") ==
        "INVALID_ARGUMENT: Node 'c' (PartitionedCall): function 'f' takes (float), but is given "
        "(int32)");
  CHECK(fault("c = PartitionedCall(a, a, Tout={float}, f=f)") ==
        "INVALID_ARGUMENT: Node 'c' (PartitionedCall): function 'f' takes (float), but is given "
        "(float, float)");
  CHECK(
      fault("c = PartitionedCall(a, Tout={int32}, f=f)") ==
      "INVALID_ARGUMENT: Node 'c' (PartitionedCall): function 'f' returns (float), but (int32) is "
      "expected");
  CHECK(fault("c = If(p, a, Tout={float}, then_branch=f, else_branch=none)") ==
        "INVALID_ARGUMENT: Node 'c' (If): function 'none' takes (), but is given (float)");
  CHECK(fault("c = While(a, cond=none, body=f)") ==
        "INVALID_ARGUMENT: Node 'c' (While): function 'none' takes (), but is given (float)");
  CHECK(fault("c = While(cond=none, body=none)") ==
        "INVALID_ARGUMENT: Node 'c' (While): function 'none' is a condition: Expected a single "
        "scalar return value, got 0 tensors.");
  CHECK(fault("c = While(a, cond=f, body=f, parallel_iterations=0)") ==
        "INVALID_ARGUMENT: Node 'c' (While): parallel_iterations must be > 0, and is 0");
  CHECK(fault("c = SymbolicGradient(a, a, Tout={float}, f=f)")
            .starts_with("UNIMPLEMENTED: Node 'c' (SymbolicGradient): gradients of functions"));
}

TEST_CASE("a call by an executor that nobody has is refused") {
  const auto fault = [](std::string_view executor) {
    return why(str_cat(kCalls, "c = PartitionedCall(a, Tout={float}, f=f, executor_type=\"",
                       executor, "\")"));
  };
  CHECK(fault("DEFAULT") == "OK");
  CHECK(fault("SINGLE_THREADED_EXECUTOR") == "OK");
  CHECK(fault("GHOST") ==
        "NOT_FOUND: Node 'c' (PartitionedCall): No executor factory registered for the given "
        "executor type: GHOST; there are DEFAULT and SINGLE_THREADED_EXECUTOR");
}

constexpr char kRemote[] =
    "function f \"x: float -> y: float\" { return y = x }"
    "function g \"x: resource -> y: resource\" { return y = x }"
    "t = Placeholder(dtype=string) a = Const(1.0) v = VarHandleOp(dtype=float, shape=[]) ";

TEST_CASE("a remote call whose target is computed needs devices to choose from, and not many") {
  const std::string call = str_cat(kRemote, "c = RemoteCall(t, a, Tout={float}, f=f)");
  CHECK(why(call) ==
        "UNIMPLEMENTED: Node 'c' (RemoteCall): target is computed by 't' (Placeholder); give the "
        "device's name as a constant, as functions are placed when the graph arrives");
  const auto devices = DeviceSet::create({{.name = "/job:w/replica:0/task:0/device:CPU:0"},
                                          {.name = "/job:w/replica:0/task:0/device:GPU:0"},
                                          {.name = "/job:w/replica:0/task:0/device:CPU:1"}});
  REQUIRE(devices.ok());
  CHECK(why(call, {.devices = &*devices}) == "OK");
  CHECK(why(call, {.devices = &*devices, .max_targets = 1}) ==
        "UNIMPLEMENTED: Node 'c' (RemoteCall): target is computed by 't' (Placeholder), and the "
        "session has 2 CPUs; a step chooses among 1 at most: give the device's name as a constant");
  const std::string with_resource = str_cat(kRemote, "c = RemoteCall(t, v, Tout={resource}, f=g)");
  CHECK(why(with_resource, {.devices = &*devices})
            .starts_with("UNIMPLEMENTED: Node 'c' (RemoteCall): target is computed, and the "
                         "function takes or returns a resource"));
}

TEST_CASE("who can call functions when it runs leaves remote calls as they are") {
  using ByKernel = LowerOptions::ByKernel;
  const auto lowered = [](std::string_view target, ByKernel by_kernel) {
    Graph graph = graph_of(str_cat(kRemote, "k = Const(\"/cpu:0\") c = RemoteCall(", target,
                                   ", a, Tout={float}, f=f) ^v d = Identity(c)"));
    StandIns stand_ins;
    REQUIRE(lower_functions(graph, stand_ins, {.remote_calls = by_kernel}).ok());
    const Node& source = graph[graph.find("d")->inputs[0].node];
    CHECK((source.op->name != "_RemoteCall" || source.control_inputs.size() == 1));
    return std::string(source.op->name);
  };
  CHECK(lowered("t", ByKernel::computed) == "_RemoteCall");
  CHECK(lowered("k", ByKernel::computed) == "Identity");
  CHECK(lowered("k", ByKernel::all) == "_RemoteCall");
}

// As if each function's gradient were what arrives, twice.
Result<FunctionBody> doubled(const FunctionBody& body) {
  for (const Node& node : body.graph.nodes()) CHECK(!calls_functions(node.op->role));
  auto graph = parse_graph(
      "x = Placeholder(dtype=float) g = Placeholder(dtype=float) n = Add(g, g)", test_ops());
  MR_TRY(graph.status());
  return FunctionBody{.graph = *std::move(graph), .num_args = 2, .returns = {{2, 0}}};
}

TEST_CASE("the gradient of a function is what its body gives when differentiated") {
  auto graph = parse_graph(str_cat(kCalls,
                                   "function g \"x: float -> y: float\" {"
                                   "  c = PartitionedCall(x, Tin={float}, Tout={float}, f=f)"
                                   "  return y = c:output:0 }"
                                   "b = Const(2.0)"
                                   "c = SymbolicGradient(a, b, Tout={float}, f=g)"),
                           test_ops());
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  StandIns stand_ins;
  const Status status = lower_functions(*graph, stand_ins, {.differentiate = doubled});
  REQUIRE_MESSAGE(status.ok(), status.to_string());
  const Node& left = *graph->find("c");
  CHECK(left.op->name == "IdentityN");
  const Node& made = (*graph)[left.inputs[0].node];
  CHECK(made.op->name == "Add");
  CHECK((*graph)[made.inputs[0].node].name == "b");
}

TEST_CASE("gradients of functions that ask for their own gradients end at a limit") {
  CHECK(why("function f \"x: float -> y: float\" {"
            "  g = SymbolicGradient(x, x, Tin={float, float}, Tout={float}, f=f) return y = "
            "g:output:0 }"
            "a = Const(1.0) c = SymbolicGradient(a, a, Tout={float}, f=f)",
            {.differentiate = doubled})
            .find("gradients of functions ask for gradients of functions too deep") !=
        std::string::npos);
}

TEST_CASE("a function that calls itself is refused with the way round") {
  CHECK(
      why("function f \"->\" { g = PartitionedCall(Tin={}, Tout={}, f=g) }"
          "function g \"->\" { p = Const(true)"
          "  f = If(p:output:0, Tcond=bool, Tin={}, Tout={}, then_branch=f, else_branch=h) }"
          "function h \"->\" {}"
          "a = PartitionedCall(Tin={}, Tout={}, f=f)") ==
      "UNIMPLEMENTED: Node 'a/call/_1/g/call/_3/f' (If): function 'f' calls itself (f -> g -> f); "
      "recursive functions are not supported");
}

TEST_CASE("functions that call functions twice end at a limit, and so does depth") {
  std::string doubling = "function f0 \"->\" { n = NoOp() }\n";
  std::string chain = doubling;
  for (int i = 1; i <= 40; ++i) {
    const std::string call = str_cat("PartitionedCall(Tin={}, Tout={}, f=f", i - 1, ")");
    str_append(&doubling, "function f", i, " \"->\" { a = ", call, " b = ", call, " }\n");
    str_append(&chain, "function f", i, " \"->\" { a = ", call, " }\n");
  }
  const std::string_view node = "c = PartitionedCall(Tin={}, Tout={}, f=f40)";
  // More than anybody could copy, or count one by one.
  CHECK(
      why(str_cat(doubling, node)) ==
      "RESOURCE_EXHAUSTED: Node 'c' (PartitionedCall): with function bodies in the place of their "
      "calls the graph would have 3298534883326 nodes more, or still more, and be larger than the "
      "536870912 bytes that are allowed for it");
  // What is counted by name only, and what is added around bodies, ends where it is copied.
  const std::string_view few = "c = PartitionedCall(Tin={}, Tout={}, f=f9)";
  CHECK(why(str_cat(doubling, few), {.max_bytes = 1536 * sizeof(Node)})
            .find("RESOURCE_EXHAUSTED: Node 'c/call/_") == 0);
  CHECK(why(str_cat(doubling, few)) == "OK");
  CHECK(why(str_cat(chain, node)) == "OK");
  CHECK(why(str_cat(chain, node), {.max_depth = 40})
            .find("functions call functions more than 40 deep: f40 -> f39") != std::string::npos);
}

TEST_CASE("a long chain of calls that pass a value on is one edge in the end") {
  std::string text = "function f \"x: float -> y: float\" { return y = x }\n";
  constexpr int kCalls = 20'000;
  for (int i = 0; i < kCalls; ++i) {  // the last one comes first
    str_append(&text, "c", i, " = PartitionedCall(c", i + 1, ", Tin={float}, Tout={float}, f=f)\n");
  }
  str_append(&text, "c", kCalls, " = Const(1.0)\nlast = Identity(c0, T=float) ^c0\n");
  Graph graph = graph_of(text);
  StandIns stand_ins;
  REQUIRE(lower_functions(graph, stand_ins).ok());
  CHECK(to_text(graph, *graph.find("last")) ==
        str_cat("last = Identity(c", kCalls, ") ^c", kCalls));
}

TEST_CASE("a graph that grows refers to what stands for its calls") {
  Graph graph = graph_of(
      "function inc \"x: float -> y: float\" {"
      "  one = Const(1.0) sum = Add(x, one:output:0, T=float) return y = sum:z:0 }"
      "a = Const(1.0)  c = PartitionedCall(a, Tout={float}, f=inc)");
  StandIns stand_ins;
  REQUIRE(lower_functions(graph, stand_ins).ok());
  const size_t known = graph.size();
  const NodeId call = graph.find("c")->id;
  REQUIRE(
      graph.add({.name = "d", .op = "Identity", .inputs = {{call, 0}}, .control_inputs = {call}})
          .ok());
  REQUIRE(lower_functions(graph, stand_ins).ok());
  CHECK(to_text(graph, *graph.find("d")).starts_with("d = Identity(c/call/_2/sum)"));
  stand_ins.truncate(known);
  graph.truncate(known);
  CHECK(stand_ins.find(call) != nullptr);
  stand_ins.truncate(0);
  CHECK(stand_ins.find(call) == nullptr);
}

TEST_CASE("who wants an output that a conditional did not have is told how to have it") {
  Graph graph = graph_of(
      "function f \"x: float -> y: float\" { return y = x }"
      "a = Const(1.0)  p = Const(true)  c = If(p, a, Tout={float}, then_branch=f, else_branch=f)");
  constexpr std::string_view kWords =
      "INVALID_ARGUMENT: Node 'd': Connecting to invalid output 1 of source node c which has 1 "
      "outputs. Try using tf.compat.v1.experimental.output_all_intermediates(True).";
  const auto asked = [&] {
    return graph.add({.name = "d", .op = "Identity", .inputs = {{graph.find("c")->id, 1}}})
        .status()
        .to_string();
  };
  CHECK(asked() == kWords);
  StandIns stand_ins;
  REQUIRE(lower_functions(graph, stand_ins).ok());
  CHECK(asked() == kWords);
}

}  // namespace
}  // namespace millrace
