#include "millrace/plan/colocation.h"

#include <algorithm>
#include <array>

namespace millrace {
namespace {

constexpr std::string_view kClassAttr = "_class";
constexpr std::string_view kClassPrefix = "loc:@";

// Ops that only pass resources on, and may take them from several devices.
constexpr std::array<std::string_view, 3> kResourceForwarders = {"IdentityN", "PartitionedCall",
                                                                 "StatefulPartitionedCall"};

// Variables, handles and queues: what they ask for binds everything that uses them.
bool makes_resource(const Node& node) {
  return node.inputs.empty() && node.num_outputs() == 1 &&
         (node.output_types[0].is_ref || node.output_types[0].dtype == DType::resource);
}

std::string both(const Node& a, const Node& b) {
  return str_cat("Cannot colocate nodes {{colocation_node ", a.name, "}} and {{colocation_node ",
                 b.name, "}}");
}

}  // namespace

Colocation::Colocation(const Graph& graph, const DeviceSet& devices, const PlaceOptions& options)
    : graph_(graph),
      devices_(devices),
      options_(options),
      specs_(options.allow_soft_placement ? TypeConflict::clear : TypeConflict::refuse),
      parent_(graph.size()),
      group_size_(graph.size(), 1),
      requested_(graph.size()),
      needs_(graph.size()) {}

Result<Colocation> Colocation::create(const Graph& graph, const DeviceSet& devices,
                                      const PlaceOptions& options) {
  Colocation groups(graph, devices, options);
  for (const Node& node : graph.nodes()) MR_TRY(groups.add_node(node));
  for (const Node& node : graph.nodes()) MR_TRY(groups.join_by_edges(node));
  MR_TRY(groups.join_by_names());
  return groups;
}

Status Colocation::add_node(const Node& node) {
  parent_[node.id] = node.id;
  const Result<SpecId> requested = specs_.parse(node.requested_device);
  if (!requested.ok()) {
    return invalid("Malformed device specification '", node.requested_device, "' in node {{node ",
                   node.name, "}}: ", requested.status().message());
  }
  requested_[node.id] = *requested;
  GroupNeeds& needs = needs_[node.id];
  needs.requested = *requested;
  if (*requested != SpecTable::kAnywhere && makes_resource(node)) needs.resource = *requested;
  MR_ASSIGN(needs.support, support_of(node, *requested));
  if (!node.device.empty()) {
    needs.before = devices_.find(node.device);
    if (node.op->stateful) needs.assigned = needs.before;
  }
  return {};
}

Result<Support> Colocation::support_of(const Node& node, SpecId requested) {
  if (node.op->cpu) return Support::cpu;
  if (names_remote_task(requested)) return Support::any_type;
  return invalid("No OpKernel was registered to support Op '", node.op->name, "' used by {{node ",
                 node.name,
                 "}} on the devices of this task. Ask for the device of a task that has ",
                 "one\n\t [[{{node ", node.name, "}}]]");
}

bool Colocation::names_remote_task(SpecId requested) {
  const auto [at, is_new] = is_remote_.try_emplace(requested, false);
  if (!is_new) return at->second;
  const DeviceName& spec = specs_[requested];
  const auto is_own = [&](const Device& device) {
    return device.locality == Locality::local_to_master && spec.matches(device.name);
  };
  return at->second = spec.job && std::ranges::none_of(devices_.devices(), is_own);
}

Status Colocation::join_by_edges(const Node& consumer) {
  for (size_t slot = 0; slot < consumer.inputs.size(); ++slot) {
    const ArgType type = consumer.input_types[slot];
    if (!type.is_ref && type.dtype != DType::resource) continue;
    if (std::ranges::count(kResourceForwarders, consumer.op->name) > 0) continue;
    const NodeId input = consumer.inputs[slot].node;
    if (input == kNoNode || root_of(input) == root_of(consumer.id)) continue;
    const Node& producer = graph_[input];
    MR_TRY(check_edge(producer, needs_[root_of(input)], consumer, needs_[root_of(consumer.id)]));
    const Status status = join(input, consumer.id);
    if (status.ok()) continue;
    return invalid(
        "Nodes were connected by a reference or resource connection (requiring them to "
        "be on the same device), but the two nodes were assigned two different devices: ",
        status.message(), "\n\t [[{{node ", consumer.name, "}}]]");
  }
  return {};
}

// What the consumer asks for gives way to where the producer is; where a resource is does not.
Status Colocation::check_edge(const Node& producer, const GroupNeeds& source, const Node& consumer,
                              GroupNeeds& target) {
  const auto conflict = [&](std::string_view kind, std::string_view a, std::string_view b) {
    return invalid(
        "Cannot place the graph because a reference or resource edge connects colocation "
        "groups with incompatible ",
        kind, " devices: ", a, " vs ", b, ". The edge src node is ", producer.name,
        " , and the dst node is ", consumer.name);
  };
  const auto agree = [&](SpecId a, SpecId b) { return specs_[a].is_compatible_with(specs_[b]); };
  if (source.assigned && target.assigned && source.assigned != target.assigned) {
    return conflict("assigned", source.assigned->full_name, target.assigned->full_name);
  }
  if (!agree(source.resource, target.resource)) {
    return conflict("resource", specs_[source.resource].to_string(),
                    specs_[target.resource].to_string());
  }
  if (agree(source.requested, target.requested)) return {};
  if (!agree(source.requested, target.resource)) {
    return conflict("resource", specs_[source.requested].to_string(),
                    specs_[target.resource].to_string());
  }
  target.requested = source.requested;
  return {};
}

Status Colocation::join_by_names() {
  absl::flat_hash_map<absl::string_view, NodeId> member_of_class;
  const auto join_class = [&](const Node& node, std::string_view name) -> Status {
    const Node* named = graph_.find(name);
    const auto [at, is_new] = member_of_class.emplace(to_absl(name), named ? named->id : node.id);
    const Status status = join(at->second, node.id);
    if (status.ok() || options_.allow_soft_placement) return {};
    return status.then(str_cat("\n\t [[{{node ", node.name, "}}]]"));
  };
  for (const Node& node : graph_.nodes()) {
    const AttrValue* value = node.attrs.find(kClassAttr);
    const auto* classes = value ? value->as_list_of<std::string>() : nullptr;
    if (classes == nullptr) continue;
    for (const std::string& name : *classes) {
      if (!name.starts_with(kClassPrefix)) continue;
      MR_TRY(join_class(node, std::string_view(name).substr(kClassPrefix.size())));
    }
  }
  return {};
}

Result<GroupNeeds> Colocation::merge(const GroupNeeds& a, const GroupNeeds& b) {
  if (a.assigned && b.assigned && a.assigned != b.assigned) {
    return invalid("they were placed on ", a.assigned->full_name, " and ", b.assigned->full_name,
                   " before");
  }
  GroupNeeds merged = a;
  MR_ASSIGN(merged.requested, specs_.merge(a.requested, b.requested));
  MR_ASSIGN(merged.resource, specs_.merge(a.resource, b.resource));
  if (b.support == Support::cpu) merged.support = Support::cpu;
  if (!merged.assigned) merged.assigned = b.assigned;
  if (!merged.before) merged.before = b.before;
  return merged;
}

Status Colocation::join(NodeId a, NodeId b) {
  NodeId root = root_of(a), other = root_of(b);
  if (root == other) return {};
  Result<GroupNeeds> merged = merge(needs_[root], needs_[other]);
  if (!merged.ok()) return merged.status().with(both(graph_[a], graph_[b]));
  if (group_size_[root] < group_size_[other]) std::swap(root, other);
  parent_[other] = root;
  group_size_[root] += group_size_[other];
  needs_[root] = *merged;
  return {};
}

NodeId Colocation::root_of(NodeId node) {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

}  // namespace millrace
