#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/step_graph.h"
#include "millrace/plan/testing/text_case.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::TextCase;

std::string run_cut_step(const TextCase& text_case) {
  const Graph graph = graph_of(testing::with_full_names(text_case.input));
  StepSignature signature{.feeds = text_case.list("feeds"),
                          .fetches = text_case.list("fetches"),
                          .targets = text_case.list("targets")};
  for (const std::string& connection : text_case.list("connections")) {
    const size_t arrow = connection.find("->");
    signature.connections.push_back({connection.substr(0, arrow), connection.substr(arrow + 2)});
  }
  const auto step = cut_step(graph, testing::devices_of(text_case), signature);
  if (!step.ok()) return step.status().to_string();
  CHECK(validate(step->graph).ok());
  std::string text;
  for (const Node& node : step->graph.nodes()) {
    const bool is_transfer = node.op->role == Role::send || node.op->role == Role::receive;
    if (is_transfer && *node.attr_view().boolean("client_terminated")) {
      // The attributes of transfers are long and say what the key says.
      str_append(&text, node.name, " = ", node.op->name, "(");
      for (const Endpoint& input : node.inputs)
        str_append(&text, endpoint_name(step->graph, input));
      str_append(&text, ") -> ", node.device(), "\n");
    } else {
      str_append(&text, to_text(step->graph, node), "\n");
    }
  }
  for (const ClientTransfer& feed : step->feeds) {
    str_append(&text, "feed ", feed.index, ": ", feed.node, " ", feed.key, "\n");
  }
  for (const ClientTransfer& fetch : step->fetches) {
    str_append(&text, "fetch ", fetch.index, ": ", fetch.node, " ", fetch.key, "\n");
  }
  return testing::with_short_names(text);
}

TEST_CASE("a step is cut out of the session's graph") {
  testing::run_text_cases("cut_step.txt", run_cut_step);
}

TEST_CASE("transfers carry all that their keys are made of") {
  const TextCase one_worker{
      .title = "", .command = "", .options = {{"devices", "worker"}}, .input = ""};
  const Graph graph = graph_of(testing::with_full_names("a = Const(1.5) -> worker:0\n"));
  const auto step = cut_step(graph, testing::devices_of(one_worker),
                             {.feeds = {}, .fetches = {"a"}, .targets = {}});
  REQUIRE(step.ok());
  CHECK(testing::with_short_names(to_text(step->graph, step->graph[1])) ==
        "_send_a_0 = _Send(a, client_terminated=true, recv_device=\"worker:0\", "
        "send_device=\"worker:0\", send_device_incarnation=1, tensor_name=\"a:0\") -> worker:0");
}

}  // namespace
}  // namespace millrace
