#include "millrace/plan/place.h"

#include <algorithm>
#include <optional>

#include "millrace/plan/colocation.h"

namespace millrace {
namespace {

bool is_generator(const Node& node) {
  return node.inputs.empty() && node.num_outputs() == 1 && !node.output_types()[0].is_ref;
}

// One extension: the nodes from `first` on.
class Placer {
 public:
  Placer(Graph& graph, size_t first, const DeviceSet& devices, const PlaceOptions& options,
         Colocation& groups)
      : graph_(graph),
        first_(static_cast<NodeId>(first)),
        devices_(devices),
        groups_(groups),
        candidates_(groups.specs(), devices, options) {}

  Status run() {
    const auto nodes = graph_.nodes().subspan(first_);
    // Generators with a choice come second: where they go depends on their consumers.
    for (const Node& node : nodes) {
      if (!is_generator(node) || !has_choice(node)) MR_TRY(choose(node));
    }
    for (const Node& node : nodes) MR_TRY(choose(node));
    for (NodeId id = first_; id < graph_.size(); ++id) {
      const std::string& name = devices_.devices()[*device_of(id)].full_name;
      if (graph_[id].device() != name) graph_.set_device(id, name);
    }
    return {};
  }

 private:
  using Choice = std::optional<uint32_t>;  // a place in DeviceSet::devices

  bool has_choice(const Node& node) {
    const GroupNeeds& needs = groups_.needs_of_root(groups_.root_of(node.id));
    return !needs.is_placed() && candidates_.of(needs).size() > 1;
  }

  Status choose(const Node& node) {
    const NodeId root = groups_.root_of(node.id);
    const GroupNeeds& needs = groups_.needs_of_root(root);
    if (needs.is_placed()) return {};
    const std::vector<uint32_t>& candidates = candidates_.of(needs);
    if (candidates.empty()) return no_device(node, needs);
    uint32_t chosen = candidates[0];
    if (candidates.size() > 1) {
      // Rule 5 of what others find by name would have each session's on a task of its own.
      const Choice hint =
          needs.is_found_by_name ? candidates_.parameter_server(needs) : hint_for(node);
      if (hint && candidates_.allow(needs, *hint)) chosen = *hint;
    }
    groups_.settle(root, chosen);
    return {};
  }

  Choice device_of(NodeId node) {
    const GroupNeeds& needs = groups_.needs_of_root(groups_.root_of(node));
    return needs.is_placed() ? Choice(needs.device) : std::nullopt;
  }

  // Where rule 5 would have the node; none if it has nothing to say.
  Choice hint_for(const Node& node) {
    if (is_generator(node)) return device_of_all_consumers(node);
    if (node.op->tells != ShapeFact::none) return device_of(node.inputs[0].node);
    if (node.op->passes_on && node.requested_device().empty() && node.control_inputs.empty()) {
      const auto consumers = fan_out().of(node.id);
      const Node& producer = graph_[node.inputs[0].node];
      if (consumers.size() == 1 &&
          graph_[consumers[0].consumer].requested_device() == producer.requested_device()) {
        return device_of(producer.id);
      }
    }
    return std::nullopt;
  }

  Choice device_of_all_consumers(const Node& node) {
    Choice common;
    for (const FanOut::Edge& edge : fan_out().of(node.id)) {
      const Choice device = device_of(edge.consumer);
      if (!device || (common && device != common)) return std::nullopt;
      common = device;
    }
    return common;
  }

  // Nodes that are placed have no new consumers that matter: they stay.
  const FanOut& fan_out() {
    if (!fan_out_) fan_out_.emplace(graph_, first_);
    return *fan_out_;
  }

  Status no_device(const Node& node, const GroupNeeds& needs) {
    return invalid("Cannot assign a device for operation ", node.name, ": ", reason(node, needs),
                   hint_about_target(needs), "\n\t [[{{node ", node.name, "}}]]");
  }

  std::string reason(const Node& node, const GroupNeeds& needs) {
    const SpecTable& specs = groups_.specs();
    const DeviceName wanted = specs[needs.requested].overridden_by(specs[needs.resource]);
    if (groups_.specs().parse(node.requested_device()).value() != needs.requested) {
      return str_cat("Could not satisfy explicit device specification '", node.requested_device(),
                     "' because the node was colocated with a group of nodes that required "
                     "incompatible device '",
                     wanted.to_string(), "'. All available devices [ ", devices_.names(), " ].");
    }
    if (candidates_.matching(wanted, Support::any_type).empty()) {
      return str_cat("{{node ", node.name, "}} was explicitly assigned to ",
                     node.requested_device(), " but available devices are [ ", devices_.names(),
                     " ]. Make sure the device specification refers to a valid device.",
                     hint_about_type(wanted));
    }
    return str_cat("Could not satisfy explicit device specification '", node.requested_device(),
                   "' because no supported kernel for ", wanted.type.value_or("these"),
                   " devices is available.\nOp: ", node.op->name);
  }

  // Whoever asks for a kind of device that nobody has: what there is, and what helps.
  std::string_view hint_about_type(DeviceName wanted) const {
    const auto is_cpu = [](const Device& device) { return *device.name.type == "CPU"; };
    if (!wanted.type || *wanted.type == "CPU" || candidates_.is_soft()) return "";
    wanted.type.reset();
    wanted.id.reset();
    if (candidates_.matching(wanted, Support::any_type).empty()) return "";
    if (!std::ranges::all_of(devices_.devices(), is_cpu)) return "";
    return " There are CPU devices only: with allow_soft_placement=True in the session's "
           "ConfigProto "
           "the op runs on one of them.";
  }

  // Whoever names the job of a cluster in a session without one forgot the session's target.
  std::string_view hint_about_target(const GroupNeeds& needs) const {
    const auto& job = groups_.specs()[needs.requested].job;
    if (!devices_.is_single_localhost() || !job || *job == "localhost") return "";
    return " This session is local; did you mean Session(server.target)?";
  }

  Graph& graph_;
  const NodeId first_;
  const DeviceSet& devices_;
  Colocation& groups_;
  Candidates candidates_;
  std::optional<FanOut> fan_out_;  // of the new nodes
};

}  // namespace

Placement::Placement() = default;
Placement::~Placement() = default;
Placement::Placement(Placement&&) noexcept = default;
Placement& Placement::operator=(Placement&&) noexcept = default;

Status place(Graph& graph, Placement& placement, const DeviceSet& devices,
             const PlaceOptions& options) {
  if (!placement.groups_) placement.groups_ = std::make_unique<Colocation>(options);
  Colocation& groups = *placement.groups_;
  const size_t first = groups.size();
  MR_TRY(groups.extend(graph, devices, options));
  Status status = Placer(graph, first, devices, options, groups).run();
  if (!status.ok()) groups.undo();
  return status;
}

}  // namespace millrace
