// Steps that are made under a lease, as the planner makes them, and what it refuses. Graphs are
// placed by hand: "-> files:0".
#include "millrace/plan/lease_updates.h"

#include "doctest/doctest.h"

#include "millrace/op/kernel.h"
#include "millrace/op/once_factory.h"

namespace millrace {
namespace {

KernelFactory no_kernel() {
  return kernel([](KernelContext&) -> Status { return {}; });
}

// Ops with the names and signatures of the real ones, and kernels that do nothing.
const OpRegistry& lease_ops() {
  static const OpRegistry& ops = *[] {
    auto* made = new OpRegistry();
    const auto add = [&](const char* name, const char* signature, KernelFactory cpu,
                         Role role = Role::ordinary) {
      REQUIRE(made->add({.name = name,
                         .doc = {},
                         .signature = signature,
                         .cpu = std::move(cpu),
                         .role = role,
                         .stateful = true})
                  .ok());
    };
    REQUIRE(made->add({.name = "Placeholder",
                       .doc = {},
                       .signature = "-> output: dtype | dtype: type",
                       .cpu = no_kernel(),
                       .source = Source::fed})
                .ok());
    add("Queue", "-> handle: resource", no_kernel());
    add("Variable", "-> resource: resource", no_kernel());
    add("Switch", "data: int32, pred: bool -> output_false: int32, output_true: int32", no_kernel(),
        Role::switch_);
    add("Count", "name: string -> words: int32", no_kernel());
    add("Add", "resource: resource, value: int32 ->", OnceFactory{no_kernel(), no_kernel()});
    add("QueueDequeueV2",
        "handle: resource -> components: component_types | component_types: "
        "list(type) >= 1",
        no_kernel());
    add("QueueDequeueManyV2",
        "handle: resource, n: int32 -> components: component_types | "
        "component_types: list(type) >= 1",
        no_kernel());
    add("QueueLend",
        "handle: resource, done_with: string -> components: component_types, lease: "
        "string, attempt: int32 | component_types: list(type) >= 1, seconds: float = "
        "30.0, attempts: int = 0",
        no_kernel());
    add("StepLease",
        "lease: string -> after: string | takes: bool = false, seconds: float = 30.0, "
        "attempts: int = 0",
        no_kernel());
    add("_HoldLease", "lease: string -> | held_as: string", no_kernel());
    const std::string ends =
        "tensor_name: string, send_device: string, send_device_incarnation: "
        "int, recv_device: string, client_terminated: bool = false";
    add("_Send", str_cat("tensor: T -> | T: type, ", ends).c_str(), no_kernel(), Role::send);
    add("_Recv", str_cat("-> tensor: tensor_type | tensor_type: type, ", ends).c_str(), no_kernel(),
        Role::receive);
    return made;
  }();
  return ops;
}

class LeaseGraph {
 public:
  NodeId add(std::string name, std::string_view op, std::string_view job,
             std::vector<Endpoint> inputs = {}, Attrs attrs = {}) {
    const NodeId id = graph_
                          .add({.name = std::move(name),
                                .op = op,
                                .inputs = std::move(inputs),
                                .attrs = std::move(attrs)})
                          .value();
    graph_.set_device(id, str_cat("/job:", job, "/replica:0/task:0/device:CPU:0"));
    return id;
  }
  Graph& operator*() { return graph_; }

  // The nodes of the step, a line each, then what is fed.
  std::string planned(const StepSignature& signature) {
    const DeviceSet devices = DeviceSet::create({{"/job:map/replica:0/task:0/device:CPU:0", 1},
                                                 {"/job:files/replica:0/task:0/device:CPU:0", 2},
                                                 {"/job:reduce/replica:0/task:0/device:CPU:0", 3}})
                                  .value();
    auto step = cut_step(graph_, devices, signature);
    if (!step.ok()) return step.status().to_string();
    if (Status status = lease_updates(*step, devices); !status.ok()) return status.to_string();
    std::string text;
    for (const Node& node : step->graph.nodes()) {
      str_append(&text, node.name, " = ", node.op->name);
      for (const Endpoint& input : node.inputs)
        str_append(&text, " ", endpoint_name(step->graph, input));
      for (NodeId before : node.control_inputs) str_append(&text, " ^", step->graph[before].name);
      if (const AttrValue* mark = node.attrs().find(kUnderLease))
        str_append(&text, " under ", *mark->as_string());
      const std::string_view job = node.device().substr(5, node.device().find('/', 5) - 5);
      str_append(&text, " @", job, "\n");
    }
    for (const ClientTransfer& feed : step->feeds)
      str_append(&text, "feed ", feed.index, ": ", feed.node, "\n");
    return text;
  }

 private:
  Graph graph_{lease_ops()};
};

// Takes a name from a queue, counts, and adds; and an addition that has nothing to do with it.
LeaseGraph counting(bool takes) {
  LeaseGraph graph;
  const NodeId in = graph.add("lease_in", "Placeholder", "map", {}, {{"dtype", DType::string}});
  graph.add("lease", "StepLease", "map", {{in, 0}}, {{"takes", takes}});
  const NodeId queue = graph.add("queue", "Queue", "files");
  const NodeId take =
      graph.add("take", "QueueDequeueV2", "files", {{queue, 0}},
                {{"component_types", AttrValue(std::vector<DType>{DType::string})}});
  const NodeId count = graph.add("count", "Count", "map", {{take, 0}});
  const NodeId total = graph.add("total", "Variable", "reduce");
  graph.add("add", "Add", "reduce", {{total, 0}, {count, 0}});
  const NodeId one = graph.add("one", "Placeholder", "map", {}, {{"dtype", DType::i32}});
  graph.add("add_one", "Add", "reduce", {{total, 0}, {one, 0}});
  return graph;
}

TEST_CASE("a step without a lease is left as it is") {
  LeaseGraph graph = counting(true);
  CHECK(graph.planned({.feeds = {"one"}, .fetches = {}, .targets = {"add_one"}}) ==
        "_recv_one_0 = _Recv @reduce\n"
        "total = Variable @reduce\n"
        "add_one = Add total _recv_one_0 @reduce\n"
        "feed 0: _recv_one_0\n");
}

TEST_CASE("updates wait for the lease, which is fed to their task") {
  LeaseGraph graph = counting(false);
  CHECK(graph.planned(
            {.feeds = {"lease_in", "one"}, .fetches = {}, .targets = {"add_one", "lease"}}) ==
        "_recv_one_0 = _Recv @reduce\n"
        "total = Variable @reduce\n"
        "add_one = Add total _recv_one_0 ^_hold_lease_before under before @reduce\n"
        "_recv_lease_in_0.1 = _Recv @reduce\n"
        "_hold_lease_before = _HoldLease _recv_lease_in_0.1 @reduce\n"
        "feed 1: _recv_one_0\n"
        "feed 0: _recv_lease_in_0.1\n");
}

TEST_CASE("what asked for the lease stays where it is fetched, or where nothing is updated") {
  LeaseGraph graph = counting(false);
  const std::string fetched =
      graph.planned({.feeds = {"lease_in", "one"}, .fetches = {"lease:0"}, .targets = {"add_one"}});
  CHECK(fetched.find("lease = StepLease _recv_lease_in_0 @map\n") != std::string::npos);
  CHECK(graph.planned({.feeds = {"lease_in"}, .fetches = {}, .targets = {"lease"}}) ==
        "_recv_lease_in_0 = _Recv @map\n"
        "lease = StepLease _recv_lease_in_0 @map\n"
        "feed 0: _recv_lease_in_0\n");
}

TEST_CASE(
    "a dequeue under a lease that takes lends, and what depends on it is under what it took") {
  LeaseGraph graph = counting(true);
  CHECK(
      graph.planned(
          {.feeds = {"lease_in", "one"}, .fetches = {"lease:0"}, .targets = {"add", "add_one"}}) ==
      "_recv_lease_in_0 = _Recv @map\n"
      "_recv_one_0 = _Recv @reduce\n"
      "lease = StepLease take:1 @map\n"
      "queue = Queue @files\n"
      "take = QueueLend queue _recv_lease_in_0.1 ^add_one @files\n"
      "count = Count take @map\n"
      "total = Variable @reduce\n"
      "add = Add total count ^_hold_lease_after under after @reduce\n"
      "add_one = Add total _recv_one_0 ^_hold_lease_before under before @reduce\n"
      "_send_lease_0 = _Send lease @map\n"
      "_recv_lease_in_0.1 = _Recv @files\n"
      "_hold_lease_after = _HoldLease take:1 @reduce\n"
      "_recv_lease_in_0.2 = _Recv @reduce\n"
      "_hold_lease_before = _HoldLease _recv_lease_in_0.2 @reduce\n"
      "feed 0: _recv_lease_in_0\n"
      "feed 1: _recv_one_0\n"
      "feed 0: _recv_lease_in_0.1\n"
      "feed 0: _recv_lease_in_0.2\n");
}

TEST_CASE("a dequeue does not wait for updates in a branch that may not be taken") {
  LeaseGraph graph = counting(true);
  const NodeId flag = graph.add("flag", "Placeholder", "map", {}, {{"dtype", DType::boolean}});
  const NodeId one = (*graph).find("one")->id, total = (*graph).find("total")->id;
  const NodeId branch = graph.add("branch", "Switch", "reduce", {{one, 0}, {flag, 0}});
  graph.add("add_in_branch", "Add", "reduce", {{total, 0}, {branch, 1}});
  const std::string planned = graph.planned({.feeds = {"lease_in", "one", "flag"},
                                             .fetches = {"lease:0"},
                                             .targets = {"take", "add_in_branch"}});
  CHECK(planned.find("take = QueueLend queue _recv_lease_in_0.1 @files\n") != std::string::npos);
  CHECK(planned.find("add_in_branch = Add total branch:1 ^_hold_lease_before under before") !=
        std::string::npos);
}

TEST_CASE("two leases, two dequeues and a dequeue of many are refused with their names") {
  LeaseGraph graph = counting(true);
  const Attrs types{{"component_types", AttrValue(std::vector<DType>{DType::string})}};
  graph.add("other", "StepLease", "map", {{0, 0}});
  graph.add("take_too", "QueueDequeueV2", "files", {{2, 0}}, types);
  const NodeId n = graph.add("n", "Placeholder", "map", {}, {{"dtype", DType::i32}});
  graph.add("take_many", "QueueDequeueManyV2", "files", {{2, 0}, {n, 0}}, types);
  CHECK(graph.planned({.feeds = {"lease_in"}, .fetches = {"lease:0", "other:0"}, .targets = {}})
            .find("'lease' and 'other' are two leases for one step") != std::string::npos);
  CHECK(
      graph
          .planned({.feeds = {"lease_in"}, .fetches = {"lease:0"}, .targets = {"take", "take_too"}})
          .find("'take' and 'take_too' take two elements in one step") != std::string::npos);
  CHECK(
      graph.planned({.feeds = {"lease_in", "n"}, .fetches = {"lease:0"}, .targets = {"take_many"}})
          .find("'take_many' (QueueDequeueManyV2)") != std::string::npos);
}

}  // namespace
}  // namespace millrace
