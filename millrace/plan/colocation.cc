#include "millrace/plan/colocation.h"

#include <algorithm>
#include <array>

#include "millrace/graph/unknown_ops.h"
#include "millrace/op/found_by_name.h"

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
         (node.output_types()[0].is_ref || node.output_types()[0].dtype == DType::resource);
}

std::string both(const Node& a, const Node& b) {
  return str_cat("Cannot colocate nodes {{colocation_node ", a.name, "}} and {{colocation_node ",
                 b.name, "}}");
}

}  // namespace

// One extension of the groups.
class Joining {
 public:
  Joining(Colocation& groups, const Graph& graph, const DeviceSet& devices,
          const PlaceOptions& options)
      : groups_(groups),
        graph_(graph),
        devices_(devices),
        options_(options),
        candidates_(groups.specs_, devices, options) {}

  Status run() {
    const auto added = graph_.nodes().subspan(groups_.size());
    for (const Node& node : added) MR_TRY(add_node(node));
    for (const Node& node : added) MR_TRY(join_by_edges(node));
    MR_TRY(join_by_names(added));
    for (const auto& [placed, node] : wishes_) MR_TRY(grant(placed, node));
    return {};
  }

 private:
  const GroupNeeds& needs_of(NodeId node) const {
    return groups_.needs_of_root(groups_.root_of(node));
  }
  const DeviceName& spec(SpecId id) const { return groups_.specs_[id]; }
  const std::string& device_name(uint32_t device) const {
    return devices_.devices()[device].full_name;
  }

  Status add_node(const Node& node) {
    const Result<SpecId> requested = groups_.specs_.parse(node.requested_device());
    if (!requested.ok()) {
      return invalid("Malformed device specification '", node.requested_device(),
                     "' in node {{node ", node.name, "}}: ", requested.status().message());
    }
    GroupNeeds needs{.requested = *requested,
                     .has_state = node.op->stateful,
                     .is_found_by_name = is_found_by_name(node.op->name)};
    if (*requested != SpecTable::kAnywhere && makes_resource(node)) needs.resource = *requested;
    MR_ASSIGN(needs.support, support_of(node, *requested));
    if (!node.device().empty()) {
      if (const Device* device = devices_.find(node.device()))
        needs.device = static_cast<uint32_t>(device - devices_.devices().data());
    }
    groups_.parent_.push_back(node.id);
    groups_.needs_.push_back(needs);
    return {};
  }

  Result<Support> support_of(const Node& node, SpecId requested) {
    if (node.op->cpu) return Support::cpu;
    if (names_remote_task(requested)) return Support::any_type;
    if (node.op->is_foreign) {
      const UnknownOp unknown{node.op->name, {node.name}};
      return not_found(unknown_ops_text(graph_.ops(), {&unknown, 1}),
                       ". Ask for the device of a task that has it\n\t [[{{node ", node.name,
                       "}}]]");
    }
    return invalid("No OpKernel was registered to support Op '", node.op->name, "' used by {{node ",
                   node.name,
                   "}} on the devices of this task. Ask for the device of a task that has ",
                   "one\n\t [[{{node ", node.name, "}}]]");
  }

  // True if a specification names a job, and none of the devices it matches is the master's own.
  bool names_remote_task(SpecId requested) {
    const auto [at, is_new] = groups_.is_remote_.try_emplace(requested, false);
    if (!is_new) return at->second;
    const DeviceName& wanted = spec(requested);
    const auto is_own = [&](const Device& device) {
      return device.locality == Locality::local_to_master && wanted.matches(device.name);
    };
    return at->second = wanted.job && std::ranges::none_of(devices_.devices(), is_own);
  }

  // Nodes without state that are placed wait: who has to be elsewhere is known when the others are
  // joined.
  bool must_wait(NodeId node) const {
    const GroupNeeds& needs = needs_of(node);
    return needs.is_placed() && !needs.has_state;
  }

  Status join_by_edges(const Node& consumer) {
    for (size_t slot = 0; slot < consumer.inputs.size(); ++slot) {
      const ArgType type = consumer.input_types()[slot];
      if (!type.is_ref && type.dtype != DType::resource) continue;
      if (std::ranges::count(kResourceForwarders, consumer.op->name) > 0) continue;
      const NodeId input = consumer.inputs[slot].node;
      if (input == kNoNode || groups_.root_of(input) == groups_.root_of(consumer.id)) continue;
      MR_TRY(check_edge(graph_[input], needs_of(input), consumer, groups_.root_of(consumer.id)));
      if (must_wait(input)) {
        wishes_.emplace_back(input, consumer.id);
        continue;
      }
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
  Status check_edge(const Node& producer, const GroupNeeds& source, const Node& consumer,
                    NodeId consumer_root) {
    GroupNeeds target = groups_.needs_of_root(consumer_root);
    const auto conflict = [&](std::string_view kind, std::string_view a, std::string_view b) {
      return invalid(
          "Cannot place the graph because a reference or resource edge connects colocation "
          "groups with incompatible ",
          kind, " devices: ", a, " vs ", b, ". The edge src node is ", producer.name,
          " , and the dst node is ", consumer.name);
    };
    const auto agree = [&](SpecId a, SpecId b) { return spec(a).is_compatible_with(spec(b)); };
    if (are_apart(source, target)) {
      return conflict("assigned", device_name(source.device), device_name(target.device));
    }
    if (!agree(source.resource, target.resource)) {
      return conflict("resource", spec(source.resource).to_string(),
                      spec(target.resource).to_string());
    }
    if (agree(source.requested, target.requested)) return {};
    if (!agree(source.requested, target.resource)) {
      return conflict("resource", spec(source.requested).to_string(),
                      spec(target.resource).to_string());
    }
    target.requested = source.requested;
    groups_.set_needs(consumer_root, target);
    return {};
  }

  Status join_by_names(Nodes::View added) {
    const auto join_member = [&](NodeId member, const Node& node) -> Status {
      if (must_wait(member)) {
        wishes_.emplace_back(member, node.id);
        return {};
      }
      const Status status = join(member, node.id);
      if (status.ok() || options_.allow_soft_placement) return {};
      return status.then(str_cat("\n\t [[{{node ", node.name, "}}]]"));
    };
    const auto join_class = [&](const Node& node, std::string_view name) -> Status {
      if (const Node* named = graph_.find(name)) return join_member(named->id, node);
      return join_member(groups_.of_absent_.try_emplace(std::string(name), node.id).first->second,
                         node);
    };
    for (const Node& node : added) {
      if (!groups_.of_absent_.empty()) {
        const auto waiting = groups_.of_absent_.find(to_absl(node.name));
        if (waiting != groups_.of_absent_.end()) MR_TRY(join_member(waiting->second, node));
      }
      const AttrValue* value = node.attrs().find(kClassAttr);
      const auto* classes = value ? value->as_list_of<std::string>() : nullptr;
      if (classes == nullptr) continue;
      for (const std::string& name : *classes) {
        if (!name.starts_with(kClassPrefix)) continue;
        MR_TRY(join_class(node, std::string_view(name).substr(kClassPrefix.size())));
      }
    }
    return {};
  }

  // A node is to be with one that is placed and has no state: it is, unless it asks for, or has to
  // be at, another place.
  Status grant(NodeId placed, NodeId node) {
    const GroupNeeds there = needs_of(placed), here = needs_of(node);
    if (here.is_placed() && here.device != there.device) return {};
    const Result<GroupNeeds> merged = merge(there, here);
    if (!merged.ok()) {
      if (options_.allow_soft_placement) return {};
      return merged.status()
          .with(both(graph_[placed], graph_[node]))
          .then(str_cat("\n\t [[{{node ", graph_[node].name, "}}]]"));
    }
    return candidates_.allow(*merged, there.device) ? join(placed, node) : Status();
  }

  static bool are_apart(const GroupNeeds& a, const GroupNeeds& b) {
    return a.is_placed() && b.is_placed() && a.device != b.device && a.has_state && b.has_state;
  }

  Result<GroupNeeds> merge(const GroupNeeds& a, const GroupNeeds& b) {
    if (are_apart(a, b)) {
      return invalid("they were placed on ", device_name(a.device), " and ", device_name(b.device),
                     " before");
    }
    GroupNeeds merged = a;
    MR_ASSIGN(merged.requested, groups_.specs_.merge(a.requested, b.requested));
    MR_ASSIGN(merged.resource, groups_.specs_.merge(a.resource, b.resource));
    if (b.support == Support::cpu) merged.support = Support::cpu;
    if (!merged.is_placed()) merged.device = b.device;
    merged.has_state = a.has_state || b.has_state;
    merged.is_found_by_name = a.is_found_by_name || b.is_found_by_name;
    return merged;
  }

  // Merges the groups of two nodes; changes nothing on error.
  Status join(NodeId a, NodeId b) {
    // The older one stays the root, so that older nodes never depend on newer ones.
    const NodeId root = std::min(groups_.root_of(a), groups_.root_of(b));
    const NodeId other = std::max(groups_.root_of(a), groups_.root_of(b));
    if (root == other) return {};
    const GroupNeeds& first = needs_of(a);
    const GroupNeeds& second = needs_of(b);
    // Nodes that were placed apart stay apart.
    if (first.is_placed() && second.is_placed() && first.device != second.device &&
        !are_apart(first, second)) {
      return {};
    }
    const Result<GroupNeeds> merged = merge(first, second);
    if (!merged.ok()) return merged.status().with(both(graph_[a], graph_[b]));
    groups_.set_parent(other, root);
    groups_.set_needs(root, *merged);
    return {};
  }

  Colocation& groups_;
  const Graph& graph_;
  const DeviceSet& devices_;
  const PlaceOptions options_;
  Candidates candidates_;
  std::vector<std::pair<NodeId, NodeId>> wishes_;  // a placed node, and one to be with it
};

Status Colocation::extend(const Graph& graph, const DeviceSet& devices,
                          const PlaceOptions& options) {
  first_ = size();
  known_specs_ = specs_.mark();
  old_parents_.clear();
  old_needs_.clear();
  Status status = Joining(*this, graph, devices, options).run();
  if (!status.ok()) undo();
  return status;
}

void Colocation::undo() {
  // The oldest change of each last.
  for (auto at = old_parents_.rbegin(); at != old_parents_.rend(); ++at)
    parent_[at->first] = at->second;
  for (auto at = old_needs_.rbegin(); at != old_needs_.rend(); ++at) needs_[at->first] = at->second;
  old_parents_.clear();
  old_needs_.clear();
  parent_.resize(first_);
  needs_.resize(first_);
  absl::erase_if(of_absent_, [&](const auto& member) { return member.second >= first_; });
  specs_.rewind(known_specs_);
  absl::erase_if(is_remote_, [&](const auto& spec) { return spec.first >= known_specs_.specs; });
}

void Colocation::set_parent(NodeId node, NodeId parent) {
  if (node < first_) old_parents_.emplace_back(node, parent_[node]);
  parent_[node] = parent;
}

void Colocation::set_needs(NodeId root, const GroupNeeds& needs) {
  if (root < first_) old_needs_.emplace_back(root, needs_[root]);
  needs_[root] = needs;
}

void Colocation::settle(NodeId root, uint32_t device) {
  GroupNeeds needs = needs_[root];
  needs.device = device;
  set_needs(root, needs);
}

NodeId Colocation::root_of(NodeId node) {
  while (parent_[node] != node) {
    const NodeId above = parent_[parent_[node]];
    if (above != parent_[node]) set_parent(node, above);
    node = above;
  }
  return node;
}

}  // namespace millrace
