#include "millrace/plan/partition.h"

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"

#include "millrace/op/device_name.h"
#include "millrace/plan/control_loops.h"
#include "millrace/plan/names_function.h"

namespace millrace {
namespace {

constexpr int32_t kControl = -1;  // the output that control edges leave from

// Where each node is, as a number.
struct Locations {
  std::vector<std::string> names;  // in order
  std::vector<uint32_t> of_node;
};

Result<Locations> locate(const Graph& graph, bool by_task) {
  absl::flat_hash_map<const char*, std::string> location_of;  // devices are interned
  std::map<std::string, uint32_t> numbers;
  for (const Node& node : graph.nodes()) {
    std::string& location = location_of[node.device().data()];
    if (!location.empty()) continue;
    const Result<DeviceName> device = DeviceName::parse(node.device());
    if (!device.ok() || !device->is_full()) {
      return invalid("node '", node.name, "' is on '", node.device(),
                     "', which is not one device of one task");
    }
    location = by_task ? device->task_name().to_string() : std::string(node.device());
    numbers[location] = 0;
  }
  Locations located;
  for (auto& [name, number] : numbers) {
    number = static_cast<uint32_t>(located.names.size());
    located.names.push_back(name);
  }
  absl::flat_hash_map<const char*, uint32_t> number_of;
  for (const auto& [device, location] : location_of) number_of[device] = numbers[location];
  located.of_node.reserve(graph.size());
  for (const Node& node : graph.nodes()) located.of_node.push_back(number_of[node.device().data()]);
  return located;
}

class Cutter {
 public:
  Cutter(const Graph& whole, const Locations& locations, const IncarnationOf& incarnation,
         FreshNames& names)
      : whole_(whole),
        locations_(locations),
        incarnation_(incarnation),
        names_(names),
        new_ids_(whole.size()) {}

  Result<std::vector<Partition>> run() && {
    std::vector<size_t> sizes(locations_.names.size(), 0);
    for (uint32_t location : locations_.of_node) ++sizes[location];
    for (size_t i = 0; i < sizes.size(); ++i) {
      parts_.push_back({locations_.names[i], Graph(whole_.ops())});
      parts_[i].graph.set_versions(whole_.versions());
      parts_[i].graph.reserve(sizes[i]);
    }
    for (const Node& node : whole_.nodes()) {
      Graph& part = part_of(node.id);
      MR_ASSIGN(new_ids_[node.id], part.add_copy(node));
      if (names_function(node)) part.set_functions(whole_.functions());
    }
    for (const Node& node : whole_.nodes()) MR_TRY(connect(node));
    return std::move(parts_);
  }

 private:
  // How a value got to another place.
  struct Transfer {
    NodeId source = kNoNode;  // what its consumers read or wait for there
    NodeId recv = kNoNode;
  };
  // What is known of a consumer while its inputs are connected.
  struct Consumer {
    const Node& node;
    NodeId loop_merge = kNoNode;  // of its device's control loop, in its own part
    bool has_recv = false;
    bool has_other_device = false;           // an input from another device of its own place
    std::vector<NodeId> controls = {};       // in its own part
    std::vector<NodeId> ref_recvs = {};      // which wait for
    std::vector<NodeId> value_sources = {};  // everything else that the consumer waits for
  };

  Graph& part_of(NodeId id) { return parts_[locations_.of_node[id]].graph; }
  bool is_here(NodeId input, const Node& node) const {
    return locations_.of_node[input] == locations_.of_node[node.id];
  }

  Status connect(const Node& node) {
    Consumer consumer{.node = node};
    for (NodeId before : node.control_inputs) {
      if (is_here(before, node) && is_control_loop_merge(whole_[before])) {
        consumer.loop_merge = new_ids_[before];
      }
    }
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      MR_TRY(connect_input(consumer, static_cast<int>(slot)));
    }
    for (NodeId before : node.control_inputs) MR_TRY(connect_control(consumer, before));
    Graph& part = part_of(node.id);
    // A Recv took the control edge over, unless the worker will need it for another cut.
    const bool keeps_merge = !consumer.has_recv || consumer.has_other_device;
    if (consumer.loop_merge != kNoNode && keeps_merge) {
      consumer.controls.push_back(consumer.loop_merge);
    }
    if (!consumer.controls.empty()) {
      part.set_control_inputs(new_ids_[node.id], std::move(consumer.controls));
    }
    for (NodeId recv : consumer.ref_recvs) {
      std::vector<NodeId> before(part[recv].control_inputs.begin(),
                                 part[recv].control_inputs.end());
      before.insert(before.end(), consumer.value_sources.begin(), consumer.value_sources.end());
      part.set_control_inputs(recv, std::move(before));
    }
    return {};
  }

  Status connect_input(Consumer& consumer, int slot) {
    const Node& node = consumer.node;
    const Endpoint input = node.inputs[slot];
    const bool is_ref = whole_[input.node].output_types()[input.output].is_ref;
    Graph& part = part_of(node.id);
    if (is_here(input.node, node)) {
      consumer.has_other_device |= whole_[input.node].device().data() != node.device().data();
      if (!is_ref) consumer.value_sources.push_back(new_ids_[input.node]);
      return part.set_input(new_ids_[node.id], slot, {new_ids_[input.node], input.output});
    }
    if (node.input_types()[slot].is_ref) {
      return invalid("node '", node.name, "' on ", node.device(), " takes a reference from '",
                     whole_[input.node].name, "' on ", whole_[input.node].device(),
                     "; references stay on their device");
    }
    MR_ASSIGN(const Transfer transfer, transfer_to(consumer, input));
    (is_ref ? consumer.ref_recvs : consumer.value_sources).push_back(transfer.source);
    return part.set_input(new_ids_[node.id], slot, {transfer.source, 0});
  }

  Status connect_control(Consumer& consumer, NodeId before) {
    const Node& node = consumer.node;
    NodeId source = new_ids_[before];
    if (is_here(before, node)) {
      if (source == consumer.loop_merge) return {};
      consumer.has_other_device |= whole_[before].device().data() != node.device().data();
    } else {
      MR_ASSIGN(const Transfer transfer, transfer_to(consumer, {before, kControl}));
      source = transfer.source;
    }
    consumer.controls.push_back(source);
    consumer.value_sources.push_back(source);
    return {};
  }

  Result<Transfer> transfer_to(Consumer& consumer, Endpoint input) {
    const uint32_t destination = locations_.of_node[consumer.node.id];
    const bool is_shared =
        input.output == kControl || !whole_[input.node].output_types()[input.output].is_ref;
    const auto key = std::make_pair(input, destination);
    if (const auto known = transfers_.find(key); is_shared && known != transfers_.end()) {
      return known->second;
    }
    MR_ASSIGN(const Transfer transfer, cut(consumer.node, input));
    consumer.has_recv = true;
    if (consumer.loop_merge != kNoNode) {
      part_of(consumer.node.id).add_control_input(transfer.recv, consumer.loop_merge);
    }
    if (is_shared) transfers_.emplace(key, transfer);
    return transfer;
  }

  // Puts a Send beside the producer and a Recv beside the consumer.
  Result<Transfer> cut(const Node& consumer, Endpoint input) {
    const Node& producer = whole_[input.node];
    Graph& here = part_of(producer.id);
    Graph& there = part_of(consumer.id);
    const bool is_control = input.output == kControl;
    Endpoint value{new_ids_[producer.id], input.output};
    if (is_control) {
      MR_ASSIGN(value.node, add_signal(here, producer));
      value.output = 0;
    }
    const DType dtype = here[value.node].output_types()[value.output].dtype;
    Attrs attrs = {
        {"tensor_name", str_cat("edge_", next_edge_++, "_", producer.name)},
        {"send_device", producer.device()},
        {"send_device_incarnation", static_cast<int64_t>(incarnation_(producer.device()))},
        {"recv_device", consumer.device()},
        {"client_terminated", false}};
    MR_TRY(add(here, producer, producer.name, "_Send", {value}, attrs).status());
    attrs.set("tensor_type", dtype);
    MR_ASSIGN(const NodeId recv,
              add(there, consumer, producer.name, "_Recv", {}, std::move(attrs)));
    if (!is_control) return Transfer{recv, recv};
    MR_ASSIGN(const NodeId arrived,
              add(there, consumer, producer.name, "Identity", {{recv, 0}}, {}));
    return Transfer{arrived, recv};
  }

  // An empty constant that waits for `producer`: what is sent for a control edge.
  Result<NodeId> add_signal(Graph& part, const Node& producer) {
    MR_ASSIGN(const Tensor empty, Tensor::zeros(DType::f32, Shape{0}));
    MR_ASSIGN(const NodeId signal, add(part, producer, str_cat(producer.name, "/ctrl"), "Const", {},
                                       {{"dtype", DType::f32}, {"value", empty}}));
    part.add_control_input(signal, new_ids_[producer.id]);
    return signal;
  }

  // Adds a node on the device of `beside`.
  Result<NodeId> add(Graph& part, const Node& beside, std::string_view name, std::string_view op,
                     std::vector<Endpoint> inputs, Attrs attrs) {
    MR_ASSIGN(const NodeId id, part.add({.name = names_.next(name, whole_),
                                         .op = op,
                                         .inputs = std::move(inputs),
                                         .attrs = std::move(attrs)}));
    part.set_device(id, beside.device());
    return id;
  }

  const Graph& whole_;
  const Locations& locations_;
  const IncarnationOf& incarnation_;
  FreshNames& names_;
  std::vector<NodeId> new_ids_;  // by id in the whole graph; in the node's own part
  std::vector<Partition> parts_;
  absl::flat_hash_map<std::pair<Endpoint, uint32_t>, Transfer> transfers_;
  uint64_t next_edge_ = 0;
};

Result<std::vector<Partition>> split(Graph graph, const Locations& locations,
                                     const IncarnationOf& incarnation, FreshNames& names) {
  if (locations.names.size() > 1) return Cutter(graph, locations, incarnation, names).run();
  std::vector<Partition> parts;
  if (!graph.empty()) parts.push_back({locations.names[0], std::move(graph)});
  return parts;
}

bool is_on_one_device(const Graph& graph) {
  const auto is_first = [&](const Node& node) { return node.device() == graph[0].device(); };
  return std::ranges::all_of(graph.nodes(), is_first);
}

Status fill_incarnations(Graph& graph, const IncarnationOf& incarnation) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.op->role != Role::send && node.op->role != Role::receive) continue;
    MR_ASSIGN(const int64_t given, node.attr_view().integer("send_device_incarnation"));
    if (given != 0) continue;
    MR_ASSIGN(const std::string device, node.attr_view().string("send_device"));
    const auto known = static_cast<int64_t>(incarnation(device));
    if (known != 0) MR_TRY(graph.set_attr(id, "send_device_incarnation", known));
  }
  return {};
}

}  // namespace

Result<std::vector<Partition>> split_by_task(Graph graph, const IncarnationOf& incarnation,
                                             FreshNames& names) {
  if (!is_on_one_device(graph)) {
    colocate_control_flow(graph);
    MR_TRY(add_control_loops(graph, names));
  }
  MR_ASSIGN(const Locations locations, locate(graph, /*by_task=*/true));
  return split(std::move(graph), locations, incarnation, names);
}

Result<std::vector<Partition>> split_by_device(Graph graph, const IncarnationOf& incarnation,
                                               FreshNames& names) {
  MR_TRY(fill_incarnations(graph, incarnation));
  MR_ASSIGN(const Locations locations, locate(graph, /*by_task=*/false));
  return split(std::move(graph), locations, incarnation, names);
}

Status take_requested_devices(Graph& graph) {
  absl::flat_hash_map<const char*, std::string> canonical;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!node.device().empty()) continue;
    std::string& full_name = canonical[node.requested_device().data()];
    if (full_name.empty()) {
      const Result<DeviceName> device = DeviceName::parse(node.requested_device());
      if (!device.ok() || !device->is_full()) {
        return invalid("node '", node.name, "' asks for '", node.requested_device(),
                       "'; in a graph from a master every node names one device of one task");
      }
      full_name = device->to_string();
    }
    graph.set_device(id, full_name);
  }
  return {};
}

}  // namespace millrace
