#include "millrace/plan/plan.h"

#include <algorithm>

#include "millrace/graph/validate.h"
#include "millrace/plan/fuse.h"
#include "millrace/plan/late_reads.h"
#include "millrace/plan/lease_updates.h"
#include "millrace/plan/merge_equal.h"

namespace millrace {
namespace {

Result<TaskName> task_of(std::string_view device) {
  MR_ASSIGN(const DeviceName name, DeviceName::parse(device));
  return name.task_name();
}

// What is fed or fetched inside a loop would be there once, and the loop turns many times.
Status check_loops(const StepGraph& step, const StepSignature& signature) {
  const Result<FrameTable> created = FrameTable::create(step.graph);
  // The whole graph was valid, so it is the feeds that tear a loop.
  if (!created.ok()) return created.status().then(" A tensor inside a while loop can't be fed.");
  const FrameTable& frames = *created;
  if (!frames.has_loops()) return {};
  for (const ClientTransfer& fetch : step.fetches) {
    const uint32_t frame = frames.of(step.graph.find(fetch.node)->id);
    if (frame == FrameTable::kRoot) continue;
    return invalid("'", signature.fetches[static_cast<size_t>(fetch.index)],
                   "' is inside the while loop '", frames.frames()[frame].name,
                   "' and can't be fetched; fetch what leaves the loop");
  }
  return {};
}

}  // namespace

Status prepare_graph(Graph& graph, GraphTables& tables, const DeviceSet& devices,
                     const PlaceOptions& options) {
  const size_t known = tables.shapes.size(), valid = tables.frames.size();
  const size_t lowered = tables.stand_ins.num_lowered();
  MR_TRY(validate(graph, tables.frames));
  LowerOptions lowering = tables.lowering;
  lowering.devices = &devices;
  Status status = lower_functions(graph, tables.stand_ins, lowering);
  if (status.ok()) status = tables.shapes.extend(graph);
  if (status.ok()) status = place(graph, tables.placement, devices, options);
  if (!status.ok()) {
    tables.shapes.truncate(known);
    tables.stand_ins.truncate(known);
    tables.frames.truncate(valid);
  } else if (tables.stand_ins.num_lowered() != lowered) {
    // Some are others now: they are looked at together with those that come next.
    tables.frames.truncate(known);
  }
  return status;
}

Result<StepPlan> make_plan(const Graph& whole, const DeviceSet& devices,
                           const StepSignature& signature, const PlanOptions& options,
                           FreshNames& names) {
  MR_ASSIGN(StepGraph step, cut_step(whole, devices, signature));
  return plan_step(std::move(step), devices, signature, options, names);
}

Result<StepPlan> plan_step(StepGraph step, const DeviceSet& devices, const StepSignature& signature,
                           const PlanOptions& options, FreshNames& names) {
  MR_TRY(check_loops(step, signature));
  MR_TRY(lease_updates(step, devices));
  MR_TRY(read_late(step));
  if (options.optimize == PlanOptions::Optimize::on) {
    MR_TRY(fold_constants(step, options.fold));
    MR_TRY(merge_equal_nodes(step));
    MR_TRY(fuse_chains(step, devices));
  }
  const auto incarnation = [&](std::string_view device) { return devices.incarnation(device); };
  MR_ASSIGN(std::vector<Partition> parts, split_by_task(std::move(step.graph), incarnation, names));
  StepPlan plan;
  for (Partition& part : parts) {
    MR_ASSIGN(const TaskName task, task_of(part.graph[0].device()));
    plan.partitions.push_back({task, std::move(part.graph), {}, {}});
  }
  std::ranges::sort(plan.partitions, {}, &PartitionPlan::task);
  const auto partition_on = [&](std::string_view device) -> Result<PartitionPlan*> {
    MR_ASSIGN(const TaskName task, task_of(device));
    return &*std::ranges::lower_bound(plan.partitions, task, {}, &PartitionPlan::task);
  };
  for (const ClientTransfer& feed : step.feeds) {
    MR_ASSIGN(PartitionPlan* const partition, partition_on(feed.device));
    partition->feeds.push_back({feed.index, feed.key});
  }
  for (const ClientTransfer& fetch : step.fetches) {
    MR_ASSIGN(PartitionPlan* const partition, partition_on(fetch.device));
    partition->fetches.push_back({fetch.index, fetch.key});
  }
  return plan;
}

}  // namespace millrace
