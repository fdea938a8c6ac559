#include "millrace/master/session_graph.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "millrace/autodiff/function_gradient.h"
#include "millrace/graph/import.h"

namespace millrace {

namespace {

// The devices that placement may use: those that the filters allow, and the master's own.
Result<DeviceSet> usable_devices(const Membership& membership,
                                 const std::vector<Present>& members) {
  std::vector<DeviceSet::Entry> entries;
  for (const Present& present : members) {
    const bool is_own = present.member.task == membership.self;
    for (const DeviceAttributes& device : present.devices) {
      MR_ASSIGN(const DeviceName name, DeviceName::parse(device.name));
      if (!is_own && !membership.filters.allow(name)) continue;
      entries.push_back(
          {device.name, device.incarnation, is_own ? Locality::local_to_master : Locality::remote});
    }
  }
  return DeviceSet::create(entries);
}

}  // namespace

SessionGraph::SessionGraph(Graph graph, DeviceSet devices, const SessionOptions& options,
                           const Log& log)
    : devices_(std::move(devices)),
      place_options_{.allow_soft_placement = options.allow_soft_placement},
      plan_options_{.optimize = options.disable_optimizer ? PlanOptions::Optimize::off
                                                          : PlanOptions::Optimize::on},
      logs_placement_(options.log_device_placement),
      log_(log),
      graph_(std::move(graph)) {
  tables_.lowering.differentiate = differentiated;
}

Result<std::unique_ptr<SessionGraph>> SessionGraph::create(Graph graph,
                                                           const Membership& membership,
                                                           const std::vector<Present>& members,
                                                           const SessionOptions& options,
                                                           const Log& log) {
  MR_ASSIGN(DeviceSet devices, usable_devices(membership, members));
  std::unique_ptr<SessionGraph> made(
      new SessionGraph(std::move(graph), std::move(devices), options, log));
  WriterLock lock(made->mutex_);
  MR_TRY(made->prepare(0));
  return made;
}

Status SessionGraph::prepare(size_t first) {
  MR_TRY(prepare_graph(graph_, tables_, devices_, place_options_));
  if (!logs_placement_) return {};
  // Somebody asked for these lines: whatever others are taken.
  for (const Node& node : graph_.nodes().subspan(first)) {
    log_.line(LogLevel::info, str_cat(node.name, ": (", node.op->name, "): ", node.device()));
  }
  return {};
}

Result<int64_t> SessionGraph::extend(const wire::GraphDef& def, int64_t expected_version) {
  WriterLock lock(mutex_);
  if (version_ != expected_version) {
    return aborted("Current version is ", version_, " but caller expected ", expected_version, ".");
  }
  const size_t size = graph_.size();
  const GraphVersions versions = graph_.versions();
  const std::shared_ptr<const FunctionLibrary> functions = graph_.functions();
  MR_TRY(extend_graph(graph_, def, Foreign::taken));
  if (Status status = prepare(size); !status.ok()) {
    graph_.truncate(size);
    graph_.set_versions(versions);
    graph_.set_functions(functions);
    return status;
  }
  return ++version_;
}

Result<StepPlan> SessionGraph::plan(const StepRequestNames& names) {
  const StepSignature signature{names.feeds, names.fetches, names.targets, names.connections};
  const auto cut = [&] {
    ReaderLock lock(mutex_);
    return cut_step(graph_, devices_, signature);
  };
  MR_ASSIGN(StepGraph step, cut());
  return plan_step(std::move(step), devices_, signature, plan_options_, names_);
}

Result<std::vector<std::string>> SessionGraph::feeds_needed(
    const std::string& fetch, const std::vector<std::string>& feeds) const {
  ReaderLock lock(mutex_);
  absl::flat_hash_map<Endpoint, size_t> fed;
  for (size_t i = 0; i < feeds.size(); ++i) {
    MR_ASSIGN(const Endpoint endpoint, find_endpoint(graph_, feeds[i]));
    fed.emplace(endpoint, i);
  }
  MR_ASSIGN(const Endpoint wanted, find_endpoint(graph_, fetch));
  std::vector<bool> needed(feeds.size(), false);
  absl::flat_hash_set<NodeId> seen;
  std::vector<NodeId> to_visit;
  const auto reach = [&](Endpoint endpoint) {
    if (const auto feed = fed.find(endpoint); feed != fed.end()) {
      needed[feed->second] = true;
    } else if (seen.insert(endpoint.node).second) {
      to_visit.push_back(endpoint.node);
    }
  };
  reach(wanted);
  while (!to_visit.empty()) {
    const NodeId id = to_visit.back();
    to_visit.pop_back();
    for (const Endpoint input : graph_[id].inputs) reach(input);
    for (const NodeId before : graph_[id].control_inputs) reach({before, 0});
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < feeds.size(); ++i)
    if (needed[i]) names.push_back(feeds[i]);
  return names;
}

}  // namespace millrace
