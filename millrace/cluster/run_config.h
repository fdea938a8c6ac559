// What a program needs to know about the task that it runs as: TF_CONFIG after its rules were
// applied. The value behind tf.contrib.learn.RunConfig(), and where a server takes its identity
// from.
//
// A value, made once at start from a TfConfig; pure. Job names are free: of all names only the
// conventional ones (chief, master, worker, ps, evaluator) mean anything here, and only for
// `is_chief` and the counts.
#pragma once

#include <optional>
#include <string>

#include "millrace/base/result.h"
#include "millrace/cluster/tf_config.h"

namespace millrace {

// Errors: INVALID_ARGUMENT with the JSON path, what was found and what is allowed, if `config`
// names a task that is not in its cluster. Where the JSON came from ("TF_CONFIG") is the caller's
// to add.
Status check_task(const TfConfig& config);

// What the program says itself; it wins over TF_CONFIG.
struct RunConfigOptions {
  std::optional<std::string> master = std::nullopt;
  std::optional<std::string> model_dir = std::nullopt;
};

struct RunConfig {
  ClusterSpec cluster;
  // As TF_CONFIG has it, empty if it names none, as TensorFlow's programs expect; which task a
  // server of such a program is, which_task() says.
  std::string task_type;
  int task_index = 0;
  std::string environment = "local";  // "local", "cloud" or whatever was given
  // The session target: "grpc://host:port" of the task itself; empty (in this process) when the
  // cluster is a single task, when there is no task type, and for an evaluator outside the cluster.
  std::string master;
  std::string model_dir;
  // Environment "cloud": (master, 0). Else (chief, 0) if the cluster has a job "chief", or
  // (worker, 0). Without a task type: index 0.
  bool is_chief = false;
  int num_ps_replicas = 0;      // tasks of job ps
  int num_worker_replicas = 0;  // tasks of jobs worker, chief and master

  // Errors: INVALID_ARGUMENT with JSON path, what was found and what is allowed, if the task is not
  // in the cluster or TF_CONFIG and the program name two model directories. An evaluator is
  // accepted whether or not the cluster lists it.
  static Result<RunConfig> create(const TfConfig& config, const RunConfigOptions& options = {});
};

}  // namespace millrace
