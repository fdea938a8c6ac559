#include "millrace/master/session_graph.h"

#include <utility>

#include "millrace/base/log.h"
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

SessionGraph::SessionGraph(DeviceSet devices, const SessionOptions& options)
    : devices_(std::move(devices)),
      place_options_{.allow_soft_placement = options.allow_soft_placement},
      plan_options_{.optimize = options.disable_optimizer ? PlanOptions::Optimize::off
                                                          : PlanOptions::Optimize::on},
      logs_placement_(options.log_device_placement) {}

Result<std::unique_ptr<SessionGraph>> SessionGraph::create(Graph graph,
                                                           const Membership& membership,
                                                           const std::vector<Present>& members,
                                                           const SessionOptions& options) {
  MR_ASSIGN(DeviceSet devices, usable_devices(membership, members));
  std::unique_ptr<SessionGraph> made(new SessionGraph(std::move(devices), options));
  MutexLock extending(made->extending_);
  MR_TRY(prepare_graph(graph, made->tables_, made->devices_, made->place_options_));
  made->log_placement(graph, 0);
  MutexLock lock(made->mutex_);
  made->placed_ = std::make_shared<const Graph>(std::move(graph));
  return made;
}

void SessionGraph::log_placement(const Graph& graph, size_t first) const {
  if (!logs_placement_) return;
  for (const Node& node : graph.nodes().subspan(first))
    log_info(node.name, ": (", node.op->name, "): ", node.device);
}

Result<int64_t> SessionGraph::extend(const wire::GraphDef& def, int64_t expected_version) {
  MutexLock extending(extending_);
  std::shared_ptr<const Graph> current;
  {
    MutexLock lock(mutex_);
    if (version_ != expected_version) {
      return aborted("Current version is ", version_, " but caller expected ", expected_version,
                     ".");
    }
    current = placed_;
  }
  Graph extended = *current;
  MR_TRY(extend_graph(extended, def));
  MR_TRY(prepare_graph(extended, tables_, devices_, place_options_));
  log_placement(extended, current->size());
  MutexLock lock(mutex_);
  placed_ = std::make_shared<const Graph>(std::move(extended));
  return ++version_;
}

std::shared_ptr<const Graph> SessionGraph::placed() const {
  MutexLock lock(mutex_);
  return placed_;
}

Result<StepPlan> SessionGraph::plan(const StepRequestNames& names) {
  const std::shared_ptr<const Graph> graph = placed();
  return make_plan(*graph, devices_, {names.feeds, names.fetches, names.targets}, plan_options_,
                   names_);
}

}  // namespace millrace
