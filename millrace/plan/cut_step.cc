// Part of step_graph.h: cut_step, what a step needs of the whole graph.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "millrace/op/rendezvous.h"
#include "millrace/plan/names_function.h"
#include "millrace/plan/node_map.h"
#include "millrace/plan/step_ends.h"
#include "millrace/plan/step_graph.h"

namespace millrace {
namespace {

// Where one task takes a fed value.
struct Arrival {
  const Device* device = nullptr;
  NodeId recv = kNoNode;  // in the step's graph
};

// One per task that consumes a fed value.
using Arrivals = std::vector<Arrival>;

class StepCutter {
 public:
  StepCutter(const Graph& whole, const DeviceSet& devices, const StepEnds& ends)
      : whole_(whole),
        devices_(devices),
        ends_(ends),
        arrivals_(ends.feeds.size()),
        new_ids_(whole.size()),
        step_{Graph(whole.ops()), {}, {}, {}} {}

  Result<StepGraph> run() && {
    mark();
    MR_TRY(find_arrivals());
    step_.graph.reserve(kept_.size() + ends_.feeds.size() + ends_.fetches.size());
    step_.graph.set_versions(whole_.versions());
    MR_TRY(add_receives());
    for (NodeId id : kept_) {
      MR_ASSIGN(const NodeId copy, step_.graph.add_copy(whole_[id]));
      new_ids_.set(id, copy);
      if (names_function(whole_[id])) step_.graph.set_functions(whole_.functions());
    }
    for (NodeId id : kept_) MR_TRY(connect(whole_[id]));
    MR_TRY(add_sends());
    for (NodeId id : ends_.targets) step_.roots.push_back(new_ids_[id]);
    return std::move(step_);
  }

 private:
  // Finds what is kept, and lists it in order of ids.
  void mark() {
    const auto keep = [&](NodeId id) {
      if (new_ids_[id] != kNoNode) return;
      new_ids_.set(id, 0);  // until it has its real one
      kept_.push_back(id);
    };
    for (const Endpoint& source : ends_.fetches) keep(source.node);
    for (NodeId id : ends_.targets) keep(id);
    for (size_t next = 0; next < kept_.size(); ++next) {
      ends_.for_each_producer(whole_[kept_[next]], keep);
    }
    std::ranges::sort(kept_);
  }

  Result<const Device*> device_of(const Node& node) const {
    if (const Device* device = devices_.find(node.device())) return device;
    return internal("node '", node.name, "' is on device '", node.device(),
                    "', which the session does not have");
  }

  static Arrival* arrival_on(Arrivals& arrivals, uint32_t task) {
    const auto found = std::ranges::find_if(
        arrivals, [&](const Arrival& arrival) { return arrival.device->task == task; });
    return found == arrivals.end() ? nullptr : &*found;
  }

  Status find_arrivals() {
    if (ends_.feeds.empty()) return {};
    for (NodeId id : kept_) {
      for (const Endpoint& input : whole_[id].inputs) {
        if (const size_t* fed = ends_.feed_of(ends_.source_of(input)))
          MR_TRY(add_arrival(*fed, whole_[id]));
      }
    }
    // A value that is there for its own sake serves control edges too.
    for (NodeId id : kept_) {
      for (NodeId before : whole_[id].control_inputs) {
        const size_t* fed = ends_.feed_of_control(ends_.source_of_control(before));
        if (fed && arrivals_[*fed].empty()) MR_TRY(add_arrival(*fed, whole_[id]));
      }
    }
    return {};
  }

  Status add_arrival(size_t feed, const Node& consumer) {
    MR_ASSIGN(const Device* const device, device_of(consumer));
    if (arrival_on(arrivals_[feed], device->task)) return {};
    MR_ASSIGN(const Device* const original, device_of(whole_[ends_.feeds[feed].node]));
    arrivals_[feed].push_back({original->task == device->task ? original : device, kNoNode});
    return {};
  }

  // "_recv_x_0", "_send_y_1"; further ones for the same tensor get ".1", ".2" … at the end, which
  // no other tensor's name can have: workers keep transfers by name.
  std::string transfer_name(std::string_view verb, Endpoint source, size_t number) const {
    const std::string prefix =
        str_cat("_", verb, "_", whole_[source.node].name, "_", source.output);
    for (;; ++number) {
      std::string name = number == 0 ? prefix : str_cat(prefix, ".", number);
      if (!whole_.find(name) && !step_.graph.find(name)) return name;
    }
  }

  Attrs transfer_attrs(const Device& device, std::string tensor_name) const {
    return {{"tensor_name", std::move(tensor_name)},
            {"send_device", device.full_name},
            {"recv_device", device.full_name},
            {"send_device_incarnation", static_cast<int64_t>(device.incarnation)},
            {"client_terminated", true}};
  }

  static ClientTransfer transfer(size_t index, const Node& node, const Device& device,
                                 std::string_view tensor_name) {
    return {.index = static_cast<int>(index),
            .node = std::string(node.name),
            .device = device.full_name,
            .key = RendezvousKey::make(device.full_name, device.incarnation, device.full_name,
                                       tensor_name)
                       .text};
  }

  std::string tensor_name(Endpoint source) const {
    return str_cat(whole_[source.node].name, ":", source.output);
  }

  Status add_receives() {
    for (size_t i = 0; i < arrivals_.size(); ++i) {
      const Endpoint source = ends_.feeds[i];
      const std::string name = tensor_name(source);
      for (size_t k = 0; k < arrivals_[i].size(); ++k) {
        Arrival& arrival = arrivals_[i][k];
        Attrs attrs = transfer_attrs(*arrival.device, name);
        attrs.set("tensor_type", whole_[source.node].output_types()[source.output].dtype);
        MR_ASSIGN(arrival.recv, step_.graph.add({.name = transfer_name("recv", source, k),
                                                 .op = "_Recv",
                                                 .attrs = std::move(attrs)}));
        step_.graph.set_device(arrival.recv, arrival.device->full_name);
        step_.feeds.push_back(transfer(i, step_.graph[arrival.recv], *arrival.device, name));
      }
    }
    return {};
  }

  Status connect(const Node& node) {
    const NodeId id = new_ids_[node.id];
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const Endpoint read = ends_.source_of(node.inputs[slot]);
      Endpoint source{new_ids_[read.node], read.output};
      if (const size_t* fed = ends_.feed_of(read)) {
        MR_ASSIGN(const Device* const device, device_of(node));
        source = {arrival_on(arrivals_[*fed], device->task)->recv, 0};
      }
      MR_TRY(step_.graph.set_input(id, static_cast<int>(slot), source));
    }
    if (node.control_inputs.empty()) return {};
    std::vector<NodeId> before;
    for (NodeId control : node.control_inputs) {
      const NodeId source = ends_.source_of_control(control);
      const size_t* fed = ends_.feed_of_control(source);
      if (fed == nullptr) {
        before.push_back(new_ids_[source]);
        continue;
      }
      MR_ASSIGN(const Device* const device, device_of(node));
      const Arrival* here = arrival_on(arrivals_[*fed], device->task);
      before.push_back((here ? *here : arrivals_[*fed][0]).recv);
    }
    step_.graph.set_control_inputs(id, std::move(before));
    return {};
  }

  Status add_sends() {
    absl::flat_hash_map<Endpoint, size_t> times;
    for (size_t i = 0; i < ends_.fetches.size(); ++i) {
      const Endpoint source = ends_.fetches[i];
      MR_ASSIGN(const Device* const device, device_of(whole_[source.node]));
      // Fetched twice is sent twice, under keys of their own.
      const size_t repeat = times[source]++;
      const std::string name =
          repeat == 0 ? tensor_name(source) : str_cat(tensor_name(source), "#", repeat);
      MR_ASSIGN(const NodeId send,
                step_.graph.add({.name = transfer_name("send", source, repeat),
                                 .op = "_Send",
                                 .inputs = {{new_ids_[source.node], source.output}},
                                 .attrs = transfer_attrs(*device, name)}));
      step_.graph.set_device(send, device->full_name);
      step_.fetches.push_back(transfer(i, step_.graph[send], *device, name));
      step_.roots.push_back(send);
    }
    return {};
  }

  const Graph& whole_;
  const DeviceSet& devices_;
  const StepEnds& ends_;
  std::vector<Arrivals> arrivals_;  // of each feed
  std::vector<NodeId> kept_;
  NodeMap new_ids_;  // by id in the whole graph; kNoNode if it is not kept
  StepGraph step_;
};

}  // namespace

Result<StepGraph> cut_step(const Graph& whole, const DeviceSet& devices,
                           const StepSignature& signature) {
  MR_ASSIGN(const StepEnds ends, StepEnds::find(whole, signature));
  return StepCutter(whole, devices, ends).run();
}

void drop_unneeded(StepGraph& step) {
  const Graph& graph = step.graph;
  std::vector<bool> keep(graph.size(), false);
  std::vector<NodeId> kept;
  const auto need = [&](NodeId id) {
    if (keep[id]) return;
    keep[id] = true;
    kept.push_back(id);
  };
  for (NodeId root : step.roots) need(root);
  for (size_t next = 0; next < kept.size(); ++next) {
    const Node& node = graph[kept[next]];
    for (const Endpoint& input : node.inputs) need(input.node);
    for (NodeId before : node.control_inputs) need(before);
  }
  if (kept.size() == graph.size()) return;
  const std::vector<NodeId> new_ids = step.graph.retain(keep);
  for (NodeId& root : step.roots) root = new_ids[root];
  std::erase_if(step.feeds,
                [&](const ClientTransfer& feed) { return !step.graph.find(feed.node); });
}

}  // namespace millrace
