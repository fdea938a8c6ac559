// ResultQueue: a queue that the results of a job go into, each once.
//
//   const mapreduce::ResultQueue counts{.name = "counts", .task = "/job:read/task:0"};
//   ... .output = mapreduce::queue_output("made/words", counts)
//
// and in the task that reads, until OUT_OF_RANGE:
//
//   ops::queue_dequeue_v2(scope, counts.build(scope), {DType::string, DType::string})
//
// All results are made before the first one is put in: a job that fails before puts in none. Those
// of one partition come in the order of keys. When all are in, the queue is closed; it is closed
// too when the job fails, whatever failed: what was in by then stays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "millrace/api/scope.h"
#include "millrace/base/result.h"
#include "millrace/cluster/cluster_spec.h"

namespace millrace::mapreduce {

// Appends what stands for a pair, to text that is there already.
using Written =
    std::function<void(std::string* text, std::string_view key, std::string_view value)>;

struct ResultQueue {
  std::string name;  // the shared_name of a FIFOQueueV2; empty and open when the job begins
  // On a cluster: the task that has it, "/job:read/task:0"; none of those that end with the job.
  std::string task = {};
  std::string target = {};  // without a cluster: of a server that has it, "grpc://host:port"
  int64_t capacity = 1000;  // elements; whoever puts in more waits for who reads; -1: any number
  // None: an element is two scalar strings, key and value; else it is one, which this appends.
  Written element = nullptr;

  int num_components() const { return element ? 1 : 2; }
  // For people: "the queue 'counts' of /job:read/task:0".
  std::string shown() const;
  // Adds the queue to a graph, on its task: its handle. Who reads builds it like this, too.
  millrace::Output build(const Scope& scope) const;

  // Errors: INVALID_ARGUMENT, with the field, for what makes no sense.
  Status check() const;
  // Whether a job on this cluster, or without one (it is empty), can fill it. Errors:
  // INVALID_ARGUMENT.
  Status check_place(const ClusterSpec& cluster) const;
};

}  // namespace millrace::mapreduce
