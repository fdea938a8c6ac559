// Millrace for programs: everything that a C++ program needs to build graphs, run them, and be a
// task of a cluster.
//
//   #include <millrace/millrace.h>
#pragma once

#include "millrace/api/durable.h"               // IWYU pragma: export
#include "millrace/api/input.h"                 // IWYU pragma: export
#include "millrace/api/leased_dequeue.h"        // IWYU pragma: export
#include "millrace/api/ops.h"                   // IWYU pragma: export
#include "millrace/api/scope.h"                 // IWYU pragma: export
#include "millrace/autodiff/scope_gradients.h"  // IWYU pragma: export
#include "millrace/base/result.h"               // IWYU pragma: export
#include "millrace/cluster/cluster_flags.h"     // IWYU pragma: export
#include "millrace/cluster/cluster_spec.h"      // IWYU pragma: export
#include "millrace/cluster/late_members.h"      // IWYU pragma: export
#include "millrace/cluster/run_config.h"        // IWYU pragma: export
#include "millrace/mapreduce/functions.h"       // IWYU pragma: export
#include "millrace/mapreduce/input.h"           // IWYU pragma: export
#include "millrace/mapreduce/output.h"          // IWYU pragma: export
#include "millrace/mapreduce/run.h"             // IWYU pragma: export
#include "millrace/session/launched_task.h"     // IWYU pragma: export
#include "millrace/session/loan.h"              // IWYU pragma: export
#include "millrace/session/retry_terms.h"       // IWYU pragma: export
#include "millrace/session/runtime.h"           // IWYU pragma: export
#include "millrace/session/server.h"            // IWYU pragma: export
#include "millrace/session/session.h"           // IWYU pragma: export
#include "millrace/tensor/tensor.h"             // IWYU pragma: export
#include "millrace/train/all_reduce.h"          // IWYU pragma: export
#include "millrace/train/decays.h"              // IWYU pragma: export
#include "millrace/train/first_values.h"        // IWYU pragma: export
#include "millrace/train/hooks.h"               // IWYU pragma: export
#include "millrace/train/initializers.h"        // IWYU pragma: export
#include "millrace/train/layers.h"              // IWYU pragma: export
#include "millrace/train/losses.h"              // IWYU pragma: export
#include "millrace/train/optimizer.h"           // IWYU pragma: export
#include "millrace/train/optimizers.h"          // IWYU pragma: export
#include "millrace/train/recurrent.h"           // IWYU pragma: export
#include "millrace/train/reductions.h"          // IWYU pragma: export
#include "millrace/train/replica_device.h"      // IWYU pragma: export
#include "millrace/train/sampled_losses.h"      // IWYU pragma: export
#include "millrace/train/saver.h"               // IWYU pragma: export
#include "millrace/train/sync_replicas.h"       // IWYU pragma: export
#include "millrace/train/training_session.h"    // IWYU pragma: export
#include "millrace/train/variable_scope.h"      // IWYU pragma: export
