// Planning: from a session's graph and what a step is to do, to what each task has to run.
//
// The list of passes, in order:
//
//   when the graph is made or grows          when a kind of step is run for the first time
//   1. validate          graph/validate.h    5. cut_step            step_graph.h
//   2. lower_functions   lower.h             6. fold_constants      fold.h
//   3. infer shapes      graph/shapes.h      7. merge_equal_nodes   merge_equal.h
//   4. place             place.h             8. fuse_tails          fuse.h
//                                            9. split_by_task       partition.h
//
// Between 5 and 6, lease_updates (lease_updates.h) looks at steps that are made under a lease, and
// read_late (late_reads.h) at those that read and write a variable by reference.
//
// A worker that got its part calls split_by_device (partition.h) on it. Everything here is a
// function of its arguments, but for the numbers in the names of new nodes.
#pragma once

#include <string>
#include <vector>

#include "millrace/graph/frames.h"
#include "millrace/graph/shapes.h"
#include "millrace/op/device_name.h"
#include "millrace/plan/device_set.h"
#include "millrace/plan/fold.h"
#include "millrace/plan/fresh_names.h"
#include "millrace/plan/lower.h"
#include "millrace/plan/partition.h"
#include "millrace/plan/place.h"
#include "millrace/plan/step_graph.h"

namespace millrace {

// What is known of the nodes of a graph that grows.
struct GraphTables {
  FrameTable frames;  // of the nodes as they came, before functions took the place of their calls
  StandIns stand_ins;
  ShapeTable shapes;
  Placement placement;
  LowerOptions lowering = {};
};

// Passes 1 to 4, on the nodes that the graph has got since `tables` were made (all of them, for a
// new graph and new tables): costs by how many they are, and changes none of the older ones. On
// error tables are unchanged, and whoever extended the graph takes the new nodes back with
// Graph::truncate. Errors: those of the passes.
Status prepare_graph(Graph& graph, GraphTables& tables, const DeviceSet& devices,
                     const PlaceOptions& options);

// A feed or fetch of a partition.
struct PlanKey {
  int index = 0;    // in StepSignature::feeds or ::fetches
  std::string key;  // the whole rendezvous key
};

struct PartitionPlan {
  TaskName task;
  Graph graph;  // every node placed on a device of the task
  // In order of indices. A feed may go to several partitions; a fetch comes from one.
  std::vector<PlanKey> feeds;
  std::vector<PlanKey> fetches;
};

struct StepPlan {
  std::vector<PartitionPlan> partitions;  // in order of task names
};

struct PlanOptions {
  enum class Optimize : uint8_t { off, on };
  Optimize optimize = Optimize::on;  // passes 6 to 8
  FoldOptions fold = {};
};

// Passes 6 to 9, on a step that was cut: `signature` and `devices` as for cut_step. `names` is the
// session's; marked "_S".
// Errors: those of the passes; INVALID_ARGUMENT for a feed or fetch inside a while loop.
Result<StepPlan> plan_step(StepGraph step, const DeviceSet& devices, const StepSignature& signature,
                           const PlanOptions& options, FreshNames& names);
// Passes 5 to 9. `whole` must have been prepared.
Result<StepPlan> make_plan(const Graph& whole, const DeviceSet& devices,
                           const StepSignature& signature, const PlanOptions& options,
                           FreshNames& names);

}  // namespace millrace
