// Random graphs on random devices: whatever planning does to a step, it computes the same.
#include <map>

#include "doctest/doctest.h"

#include "millrace/base/random.h"
#include "millrace/graph/frames.h"
#include "millrace/graph/testing/test_ops.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/control_loops.h"
#include "millrace/plan/plan.h"

namespace millrace {
namespace {

constexpr int kTasks = 3;

std::string task_text(uint64_t task) { return str_cat("/job:w/task:", task); }

DeviceSet three_tasks() {
  std::vector<DeviceSet::Entry> entries;
  for (uint64_t task = 0; task < kTasks; ++task) {
    entries.push_back({str_cat("/job:w/replica:0/task:", task, "/device:CPU:0"), task + 1,
                       task == 0 ? Locality::local_to_master : Locality::remote});
  }
  return DeviceSet::create(entries).value();
}

// What a value is made of: the sum of so many of each leaf (a constant, a feed), with Sub as minus.
using Sum = std::map<std::string, int64_t>;

Sum plus(Sum a, const Sum& b, int64_t sign) {
  for (const auto& [leaf, times] : b) {
    if ((a[leaf] += sign * times) == 0) a.erase(leaf);
  }
  return a;
}

// Computes values of graphs that meet through transfers, without running anything.
class Interpreter {
 public:
  explicit Interpreter(std::vector<const Graph*> parts) : parts_(std::move(parts)) {
    for (const Graph* part : parts_) {
      for (const Node& node : part->nodes()) {
        if (node.op->role == Role::send)
          CHECK(sends_.emplace(channel_of(node), std::pair(part, node.id)).second);
      }
    }
  }

  // What is sent to the client under this name.
  Sum fetched(const std::string& tensor_name) {
    for (const auto& [channel, where] : sends_) {
      const Node& send = (*where.first)[where.second];
      if (*send.attr_view().boolean("client_terminated") &&
          *send.attr_view().string("tensor_name") == tensor_name) {
        return value(*where.first, send.inputs[0]);
      }
    }
    FAIL("nobody sends ", tensor_name);
    return {};
  }

 private:
  static std::string channel_of(const Node& node) {
    const auto attr = [&](const char* name) { return *node.attr_view().string(name); };
    return str_cat(attr("send_device"), ";", attr("recv_device"), ";", attr("tensor_name"));
  }

  Sum value(const Graph& graph, Endpoint source) {
    const auto key = std::pair(&graph, source.node);
    if (const auto known = values_.find(key); known != values_.end()) return known->second;
    return values_[key] = compute(graph, graph[source.node]);
  }

  Sum compute(const Graph& graph, const Node& node) {
    if (const Tensor* constant = constant_value(node)) {
      return {{"1", static_cast<int64_t>(constant->item<float>())}};
    }
    if (node.op->role == Role::receive) {
      if (*node.attr_view().boolean("client_terminated")) {
        return {{*node.attr_view().string("tensor_name"), 1}};
      }
      const auto [part, send] = sends_.at(channel_of(node));
      return value(*part, (*part)[send].inputs[0]);
    }
    if (node.op->name == "Identity") return value(graph, node.inputs[0]);
    REQUIRE((node.op->name == "Add" || node.op->name == "Sub"));
    return plus(value(graph, node.inputs[0]), value(graph, node.inputs[1]),
                node.op->name == "Add" ? 1 : -1);
  }

  std::vector<const Graph*> parts_;
  std::map<std::string, std::pair<const Graph*, NodeId>> sends_;
  std::map<std::pair<const Graph*, NodeId>, Sum> values_;
};

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t end) { return random_.next() % end; }

 private:
  SeededRandom random_;
};

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed), graph_(testing::test_ops()) {}

  Graph make() {
    const uint64_t size = 3 + random_.below(40);
    add("Const", {}, {{"dtype", DType::f32}, {"value", Tensor::scalar(1.0f)}});
    while (graph_.size() < size) {
      switch (random_.below(8)) {
        case 0:
          add("Const", {}, {{"dtype", DType::f32}, {"value", small_constant()}});
          break;
        case 1:
          add("Placeholder", {}, {{"dtype", DType::f32}, {"shape", PartialShape::scalar()}});
          break;
        case 2:
          add("Identity", {any()});
          break;
        case 3:
        case 4:
          add("Sub", {any(), any()});
          break;
        default:
          add("Add", {any(), any()});
          break;
      }
    }
    return std::move(graph_);
  }

 private:
  Tensor small_constant() { return Tensor::scalar(static_cast<float>(1 + random_.below(3))); }
  Endpoint any() { return {static_cast<NodeId>(random_.below(graph_.size())), 0}; }

  void add(std::string_view op, std::vector<Endpoint> inputs, Attrs attrs = {}) {
    const std::string device = random_.below(2) ? task_text(random_.below(kTasks)) : "";
    std::vector<NodeId> controls;
    if (!graph_.empty() && random_.below(6) == 0) controls.push_back(any().node);
    const auto id = graph_.add({.name = str_cat("n", graph_.size()),
                                .op = op,
                                .inputs = std::move(inputs),
                                .control_inputs = std::move(controls),
                                .attrs = std::move(attrs),
                                .device = device});
    REQUIRE_MESSAGE(id.ok(), id.status().to_string());
  }

  Dice random_;
  Graph graph_;
};

// Feeds all placeholders and some other nodes; fetches some of the rest.
StepSignature random_signature(const Graph& graph, Dice& random) {
  StepSignature signature;
  for (const Node& node : graph.nodes()) {
    const bool is_fed = node.op->name == "Placeholder" || random.below(15) == 0;
    const bool is_last = node.id + 1 == graph.size();
    if (is_fed) {
      signature.feeds.push_back(str_cat(node.name, ":0"));
    } else if (random.below(5) == 0 || is_last) {
      signature.fetches.push_back(str_cat(node.name, ":0"));
    }
  }
  if (signature.fetches.empty()) signature.targets.emplace_back(graph[0].name);
  return signature;
}

TEST_CASE("a step computes the same on one task as it was written, and on three made smaller") {
  const DeviceSet devices = three_tasks();
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Graph graph = RandomGraph(seed).make();
    Dice random(seed);
    GraphTables tables;
    REQUIRE(prepare_graph(graph, tables, devices, {}).ok());
    const StepSignature signature = random_signature(graph, random);
    const auto step = cut_step(graph, devices, signature);
    REQUIRE_MESSAGE(step.ok(), step.status().to_string());
    FreshNames names("_S");
    const auto plan = make_plan(graph, devices, signature, {}, names);
    REQUIRE_MESSAGE(plan.ok(), plan.status().to_string());

    std::vector<const Graph*> parts;
    for (const PartitionPlan& partition : plan->partitions) {
      parts.push_back(&partition.graph);
      REQUIRE(validate(partition.graph).ok());
    }
    Interpreter as_written({&step->graph}), as_planned(parts);
    for (const std::string& fetch : signature.fetches) {
      CHECK(as_written.fetched(fetch) == as_planned.fetched(fetch));
    }
  }
}

TEST_CASE("a graph that grows piece by piece is prepared as it is, and no node of it moves") {
  const DeviceSet devices = three_tasks();
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const Graph whole = RandomGraph(seed).make();
    Dice random(seed);
    Graph graph(whole.ops());
    GraphTables tables;
    std::vector<std::string> placed;
    while (graph.size() < whole.size()) {
      const size_t end = std::min(whole.size(), graph.size() + 1 + random.below(6));
      const auto add = [&](const Node& node) {
        return graph
            .add({.name = std::string(node.name),
                  .op = node.op->name,
                  .inputs = {node.inputs.begin(), node.inputs.end()},
                  .control_inputs = {node.control_inputs.begin(), node.control_inputs.end()},
                  .attrs = node.attrs(),
                  .device = node.requested_device()})
            .ok();
      };
      while (graph.size() < end) REQUIRE(add(whole[static_cast<NodeId>(graph.size())]));
      REQUIRE(prepare_graph(graph, tables, devices, {}).ok());
      for (size_t id = 0; id < placed.size(); ++id)
        REQUIRE(graph[static_cast<NodeId>(id)].device() == placed[id]);
      for (size_t id = placed.size(); id < graph.size(); ++id)
        placed.emplace_back(graph[static_cast<NodeId>(id)].device());
    }
    Graph at_once = whole;
    GraphTables of_all;
    REQUIRE(prepare_graph(at_once, of_all, devices, {}).ok());
    const StepSignature signature = random_signature(graph, random);
    const auto step = cut_step(at_once, devices, signature);
    REQUIRE(step.ok());
    FreshNames names("_S");
    const auto plan = make_plan(graph, devices, signature, {}, names);
    REQUIRE_MESSAGE(plan.ok(), plan.status().to_string());
    std::vector<const Graph*> parts;
    for (const PartitionPlan& partition : plan->partitions) parts.push_back(&partition.graph);
    Interpreter as_written({&step->graph}), as_planned(parts);
    for (const std::string& fetch : signature.fetches)
      CHECK(as_written.fetched(fetch) == as_planned.fetched(fetch));
  }
}

// A loop that counts, with a body of some nodes; `nested` loops inside it. Every node is anywhere.
class RandomLoop {
 public:
  explicit RandomLoop(uint64_t seed) : dice_(seed) {}

  std::string make() {
    line("zero = Const(0)");
    const std::string result = loop("zero", "outer", dice_.below(3));
    line(str_cat("result = Identity(", result, ")"));
    return text_;
  }

 private:
  void line(std::string_view statement) {
    str_append(&text_, statement, " @ ", task_text(dice_.below(kTasks)), "\n");
  }

  // Returns the name of the loop's result.
  std::string loop(const std::string& start, const std::string& f, uint64_t nested) {
    line(str_cat(f, "/enter = Enter(", start, ", frame_name=\"", f, "\", T=int32)"));
    line(str_cat(f, "/merge = Merge(", f, "/enter, ", f, "/next)"));
    line(str_cat(f, "/ten = Const(10) ^", f, "/merge"));
    line(str_cat(f, "/less = Less(", f, "/merge, ", f, "/ten)"));
    line(str_cat(f, "/cond = LoopCond(", f, "/less)"));
    line(str_cat(f, "/switch = Switch(", f, "/merge, ", f, "/cond)"));
    std::string last = str_cat(f, "/switch:1");
    for (uint64_t i = 0; i < dice_.below(5); ++i) {
      const std::string body = str_cat(f, "/body", i);
      const std::string wait = dice_.below(2) ? str_cat(" ^", f, "/switch") : "";
      line(str_cat(body, " = Add(", last, ", ", last, ")", wait));
      last = body;
    }
    if (nested > 0) last = loop(last, str_cat(f, "/in"), nested - 1);
    line(str_cat(f, "/next = NextIteration(", last, ")"));
    line(str_cat(f, "/exit = Exit(", f, "/switch)"));
    return str_cat(f, "/exit");
  }

  Dice dice_;
  std::string text_;
};

TEST_CASE("wherever a loop's nodes are, its transfers are in pairs and take their turn") {
  const DeviceSet devices = three_tasks();
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const std::string text = RandomLoop(seed).make();
    CAPTURE(text);
    Graph graph = testing::graph_of(text);
    GraphTables tables;
    REQUIRE(prepare_graph(graph, tables, devices, {}).ok());
    FreshNames names("_S");
    const auto plan =
        make_plan(graph, devices, {.feeds = {}, .fetches = {"result:0"}, .targets = {}}, {}, names);
    REQUIRE_MESSAGE(plan.ok(), plan.status().to_string());
    std::map<std::string, int> balance;  // sends less receives
    for (const PartitionPlan& partition : plan->partitions) {
      const Graph& part = partition.graph;
      const auto frames = FrameTable::create(part);
      REQUIRE_MESSAGE(frames.ok(), frames.status().to_string());
      for (const Node& node : part.nodes()) {
        if (node.op->role != Role::send && node.op->role != Role::receive) continue;
        if (*node.attr_view().boolean("client_terminated")) continue;
        balance[*node.attr_view().string("tensor_name")] += node.op->role == Role::send ? 1 : -1;
        // The frame of a Recv is that of what it waits for; without it, it would run once.
        if (node.op->role == Role::receive && frames->of(node.id) != FrameTable::kRoot) {
          REQUIRE(node.control_inputs.size() == 1);
          CHECK(is_control_loop_merge(part[node.control_inputs[0]]));
        }
      }
    }
    for (const auto& left : balance) CHECK_MESSAGE(left.second == 0, left.first);
  }
}

}  // namespace
}  // namespace millrace
