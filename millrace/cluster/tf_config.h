// What a task is told about itself: the cluster, and which task of it this is. The contents of the
// environment variable TF_CONFIG, of a cluster file, and of flags.
//
//   {"cluster": {"ps": ["10.0.0.7:2222"], "worker": {"3": "10.0.0.8:2222"}},
//    "task": {"type": "worker", "index": 3}}
//
// A value, and functions from text to it. Nothing here reads the environment or a file: whoever
// starts a program does. What the parts mean to each other (is the task in the cluster? who is
// chief?) is run_config.h.
//
// All errors are INVALID_ARGUMENT and give the JSON path, what was found, what is allowed and an
// example that is right:
//   TF_CONFIG: $.task.index: found the string "one"; allowed: a number from 0 to 999999999; for
//   example: "task": {"type": "worker", "index": 0}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/cluster_spec.h"

namespace millrace {

struct TfConfig {
  ClusterSpec cluster;            // empty: none was given; the task is alone
  std::string task_type;          // empty: none was given
  std::optional<int> task_index;  // may be given as a number or as a string of digits
  std::string environment = "local";
  std::string master;     // empty: follows from the cluster
  std::string model_dir;  // empty: none
  // What was tolerated and may be a slip: keys that nobody reads, tasks with one address.
  std::vector<std::string> notes;

  // Accepts: jobs as lists or as objects {index: address}; `sparseCluster` for `cluster`; null for
  // anything that may be left out; keys that it does not know (with a note).
  static Result<TfConfig> parse(std::string_view json);
  // `value` is the value of TF_CONFIG, or null if the variable is not set. Not set and blank mean
  // that nothing was told.
  static Result<TfConfig> from_environment(const char* value);
  // A file with the cluster's object alone, or with a whole TF_CONFIG. `file` is for messages.
  static Result<TfConfig> parse_cluster_file(std::string_view json, std::string_view file);
};

enum class JsonLayout { one_line, indented };

// The text to put into TF_CONFIG: `cluster`, then `task`, then what differs from the defaults. Jobs
// with the tasks 0 … n-1 become lists, others objects. parse() of it gives the same value, without
// the notes.
std::string to_json(const TfConfig& config, JsonLayout layout);

// The texts, each on one line, for all tasks of one cluster: what they have in common is written
// once, since 2,000 tasks that each know of 2,000 are many megabytes.
class TfConfigTexts {
 public:
  explicit TfConfigTexts(const ClusterSpec& cluster);

  // The value of `cluster` alone, as it stands in each text.
  const std::string& cluster() const { return cluster_; }
  // Equal to to_json() of that cluster and task.
  std::string of(const TaskName& task) const;

 private:
  std::string cluster_;
};

}  // namespace millrace
