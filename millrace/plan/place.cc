#include "millrace/plan/place.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "millrace/plan/colocation.h"

namespace millrace {
namespace {

bool is_generator(const Node& node) {
  return node.inputs.empty() && node.num_outputs() == 1 && !node.output_types[0].is_ref;
}

DeviceName without_type(DeviceName spec) {
  spec.type.reset();
  spec.id.reset();
  return spec;
}

class Placer {
 public:
  Placer(Graph& graph, const DeviceSet& devices, const PlaceOptions& options, Colocation groups)
      : graph_(graph),
        devices_(devices),
        options_(options),
        groups_(std::move(groups)),
        chosen_(graph.size(), nullptr) {}

  Status run() {
    // Generators with a choice come second: where they go depends on their consumers.
    for (const Node& node : graph_.nodes()) {
      if (!is_generator(node) || !has_choice(node)) MR_TRY(choose(node));
    }
    for (const Node& node : graph_.nodes()) MR_TRY(choose(node));
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Device* device = chosen_[groups_.root_of(id)];
      if (graph_[id].device != device->full_name) graph_.set_device(id, device->full_name);
    }
    return {};
  }

 private:
  using Candidates = std::vector<const Device*>;

  bool has_choice(const Node& node) {
    const GroupNeeds& needs = groups_.needs_of_root(groups_.root_of(node.id));
    return !needs.assigned && candidates_for(needs).size() > 1;
  }

  Status choose(const Node& node) {
    const NodeId root = groups_.root_of(node.id);
    if (chosen_[root] != nullptr) return {};
    const GroupNeeds& needs = groups_.needs_of_root(root);
    if (needs.assigned) {
      chosen_[root] = needs.assigned;
      return {};
    }
    const Candidates& candidates = candidates_for(needs);
    if (candidates.empty()) return no_device(node, needs);
    const auto is_candidate = [&](const Device* device) {
      return device && std::ranges::find(candidates, device) != candidates.end();
    };
    chosen_[root] = candidates[0];
    if (is_candidate(needs.before)) {
      chosen_[root] = needs.before;
    } else if (candidates.size() > 1) {
      const Device* hint = hint_for(node);
      if (is_candidate(hint)) chosen_[root] = hint;
    }
    return {};
  }

  const Candidates& candidates_for(const GroupNeeds& needs) {
    const auto key = std::make_tuple(needs.requested, needs.resource, needs.support);
    const auto known = candidates_.find(key);
    if (known != candidates_.end()) return known->second;
    const DeviceName& requested = groups_.specs()[needs.requested];
    const DeviceName& resource = groups_.specs()[needs.resource];
    Candidates found = matching(requested.overridden_by(resource), needs.support);
    if (found.empty() && options_.allow_soft_placement) {
      found = matching(without_type(requested).overridden_by(resource), needs.support);
    }
    if (found.empty() && options_.allow_soft_placement) {
      found =
          matching(without_type(requested).overridden_by(without_type(resource)), needs.support);
    }
    return candidates_.emplace(key, std::move(found)).first->second;
  }

  Candidates matching(const DeviceName& spec, Support support) const {
    Candidates found;
    for (const Device& device : devices_.devices()) {
      const bool is_supported = support == Support::any_type || *device.name.type == "CPU";
      if (is_supported && spec.matches(device.name)) found.push_back(&device);
    }
    return found;
  }

  const Device* device_of(NodeId node) { return chosen_[groups_.root_of(node)]; }

  // Where rule 5 would have the node; null if it has nothing to say.
  const Device* hint_for(const Node& node) {
    if (is_generator(node)) return device_of_all_consumers(node);
    if (node.op->tells != ShapeFact::none) return device_of(node.inputs[0].node);
    if (node.op->passes_on && node.requested_device.empty() && node.control_inputs.empty()) {
      const auto consumers = fan_out().of(node.id);
      const Node& producer = graph_[node.inputs[0].node];
      if (consumers.size() == 1 &&
          graph_[consumers[0].consumer].requested_device == producer.requested_device) {
        return device_of(producer.id);
      }
    }
    return nullptr;
  }

  const Device* device_of_all_consumers(const Node& node) {
    const Device* common = nullptr;
    for (const FanOut::Edge& edge : fan_out().of(node.id)) {
      const Device* device = device_of(edge.consumer);
      if (device == nullptr || (common && device != common)) return nullptr;
      common = device;
    }
    return common;
  }

  const FanOut& fan_out() {
    if (!fan_out_) fan_out_.emplace(graph_);
    return *fan_out_;
  }

  Status no_device(const Node& node, const GroupNeeds& needs) const {
    return invalid("Cannot assign a device for operation ", node.name, ": ", reason(node, needs),
                   hint_about_target(needs), "\n\t [[{{node ", node.name, "}}]]");
  }

  std::string reason(const Node& node, const GroupNeeds& needs) const {
    const SpecTable& specs = groups_.specs();
    const DeviceName wanted = specs[needs.requested].overridden_by(specs[needs.resource]);
    if (groups_.requested_by(node.id) != needs.requested) {
      return str_cat("Could not satisfy explicit device specification '", node.requested_device,
                     "' because the node was colocated with a group of nodes that required "
                     "incompatible device '",
                     wanted.to_string(), "'. All available devices [ ", devices_.names(), " ].");
    }
    if (matching(wanted, Support::any_type).empty()) {
      return str_cat("{{node ", node.name, "}} was explicitly assigned to ", node.requested_device,
                     " but available devices are [ ", devices_.names(),
                     " ]. Make sure the device specification refers to a valid device.");
    }
    return str_cat("Could not satisfy explicit device specification '", node.requested_device,
                   "' because no supported kernel for ", wanted.type.value_or("these"),
                   " devices is available.\nOp: ", node.op->name);
  }

  // Whoever names the job of a cluster in a session without one forgot the session's target.
  std::string_view hint_about_target(const GroupNeeds& needs) const {
    const auto& job = groups_.specs()[needs.requested].job;
    if (!devices_.is_single_localhost() || !job || *job == "localhost") return "";
    return " This session is local; did you mean Session(server.target)?";
  }

  Graph& graph_;
  const DeviceSet& devices_;
  const PlaceOptions options_;
  Colocation groups_;
  std::vector<const Device*> chosen_;  // by root
  absl::flat_hash_map<std::tuple<SpecId, SpecId, Support>, Candidates> candidates_;
  std::optional<FanOut> fan_out_;
};

}  // namespace

Status place(Graph& graph, const DeviceSet& devices, const PlaceOptions& options) {
  MR_ASSIGN(Colocation groups, Colocation::create(graph, devices, options));
  return Placer(graph, devices, options, std::move(groups)).run();
}

}  // namespace millrace
