// Where the nodes of a worker go whose variables are on parameter servers: tf.train's
// replica_device_setter.
//
//   const VariableScope model(replica_device(graph.root(), {.cluster = task.cluster,
//                                                           .worker_device =
//                                                           "/job:worker/task:1"}));
//
// A Scope that asks, for each node that is made in it, where that goes: variables to the ps, all
// else to the worker. Devices that are named further inside win. Programs that build the same
// variables in the same order agree on where they are.
#pragma once

#include <functional>
#include <string>

#include "millrace/api/scope.h"
#include "millrace/cluster/cluster_spec.h"

namespace millrace {

// Which of the ps a variable goes to, from 0: asked once for each, in the order in which they are
// made.
using PsStrategy = std::function<int(const PartialShape& shape, DType dtype)>;

struct ReplicaDeviceOptions {
  ClusterSpec cluster = {};  // says how many tasks the job of ps_device has
  std::string ps_device = "/job:ps";
  std::string worker_device = "/job:worker";
  PsStrategy strategy = nullptr;  // none: in turn
};

// `scope` itself if there are no such tasks. Errors: those of device names; INVALID_ARGUMENT if a
// strategy names a task that is not there.
Scope replica_device(const Scope& scope, const ReplicaDeviceOptions& options);

// In turn; or each to the task that has least bytes so far, the first of several.
PsStrategy round_robin(int num_tasks);
PsStrategy greedy_by_bytes(int num_tasks);

}  // namespace millrace
