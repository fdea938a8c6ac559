#include "millrace/plan/partition.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/testing/text_case.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::TextCase;
using testing::with_full_names;
using testing::with_short_names;

uint64_t one_for_all(std::string_view) { return 1; }

// A transfer as "tensor_name: source > destination"; other nodes in the text form.
std::string line_of(const Graph& graph, const Node& node) {
  if (node.op->role != Role::send && node.op->role != Role::receive) return to_text(graph, node);
  const auto attr = [&](const char* name) { return *node.attr_view().string(name); };
  std::string line = str_cat(node.name, " = ", node.op->name, "(");
  for (const Endpoint& input : node.inputs) line += endpoint_name(graph, input);
  str_append(&line, ") \"", attr("tensor_name"), "\" ", attr("send_device"), " > ",
             attr("recv_device"));
  for (NodeId before : node.control_inputs) str_append(&line, " ^", graph[before].name);
  return line;
}

std::string run_split(const TextCase& text_case) {
  Graph graph = graph_of(with_full_names(text_case.input));
  const bool by_task = text_case.command == "by_task";
  FreshNames names(by_task ? "_S" : "_G");
  const auto parts = by_task ? split_by_task(std::move(graph), one_for_all, names)
                             : split_by_device(std::move(graph), one_for_all, names);
  if (!parts.ok()) return with_short_names(parts.status().to_string());
  std::string text;
  for (const Partition& part : *parts) {
    str_append(&text, "[", part.location, "]\n");
    const Status status = validate(part.graph);
    CHECK_MESSAGE(status.ok(), status.to_string());
    for (const Node& node : part.graph.nodes()) str_append(&text, line_of(part.graph, node), "\n");
  }
  return with_short_names(text);
}

TEST_CASE("graphs are cut where their edges change places") {
  testing::run_text_cases("partition.txt", run_split);
}

TEST_CASE("versions go with every part") {
  Graph graph = graph_of(with_full_names("a = Const(1) -> w:0\nb = Const(1) -> w:1\n"));
  graph.set_versions({.producer = 30, .min_consumer = 12, .bad_consumers = {}});
  FreshNames names("_S");
  const auto parts = split_by_task(std::move(graph), one_for_all, names);
  REQUIRE(parts.ok());
  REQUIRE(parts->size() == 2);
  CHECK((*parts)[0].graph.versions().producer == 30);
  CHECK((*parts)[1].graph.versions().min_consumer == 12);
}

TEST_CASE("an empty graph has no parts") {
  FreshNames names("_S");
  CHECK(split_by_task(Graph(testing::test_ops()), one_for_all, names)->empty());
}

TEST_CASE("names of a client are not taken") {
  Graph graph =
      graph_of(with_full_names("a_S0 = Const(1) -> w:1\na = Identity(a_S0) -> w:0\n"
                               "b = Identity(a) -> w:1\n"));
  FreshNames names("_S");
  const auto parts = split_by_task(std::move(graph), one_for_all, names);
  REQUIRE(parts.ok());
  CHECK((*parts)[1].graph.find("a_S2") == nullptr);
  CHECK((*parts)[0].graph.find("a_S0") == nullptr);
}

TEST_CASE("a worker fills in the incarnation that a master did not know") {
  Graph graph = graph_of(
      "r = _Recv(tensor_type=float, tensor_name=\"x\", send_device=\"/job:w\", "
      "send_device_incarnation=0, recv_device=\"/job:w\") "
      "-> /job:w/replica:0/task:0/device:CPU:0");
  FreshNames names("_G");
  const auto parts = split_by_device(std::move(graph), one_for_all, names);
  REQUIRE(parts.ok());
  CHECK(*(*parts)[0].graph[0].attr_view().integer("send_device_incarnation") == 1);
}

TEST_CASE("a graph from a master is placed where it says") {
  Graph graph = graph_of("a = Const(1) @ /job:w/replica:0/task:0/cpu:0\nb = Const(1) @ /job:w");
  CHECK(take_requested_devices(graph).message() ==
        "node 'b' asks for '/job:w'; in a graph from a master every node names one device of one "
        "task");
  CHECK(graph[0].device() == "/job:w/replica:0/task:0/device:CPU:0");
}

}  // namespace
}  // namespace millrace
