// The messages of the two services, as plain values.
//
// They mirror TensorFlow's master.proto and worker.proto, with our own types in place of encoded
// ones: a graph is a graph, a tensor shares its buffer. In one process they are handed over as they
// are; transport/grpc encodes them. A field that only one kind of peer fills says so.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/cluster/capabilities.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/rare_list.h"
#include "millrace/cluster/sent_cluster.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/tensor_connection.h"
#include "millrace/op/rendezvous.h"
#include "millrace/tensor/tensor.h"
#include "millrace/wire/graph_def.h"

namespace millrace {

// ---- Devices ---------------------------------------------------------------------------------

// One device of a task, as GetStatus reports it.
struct DeviceAttributes {
  std::string name;          // full: /job:worker/replica:0/task:0/device:CPU:0
  std::string type;          // "CPU"
  int64_t memory_limit = 0;  // bytes
  uint64_t incarnation = 0;  // random, not zero, drawn when the device was made
  std::string description = {};
};

// ---- Session and run options ------------------------------------------------------------------

// How many threads of a task a session's steps may have at once. 0 or less: all that the task has.
struct ThreadLimits {
  // For the work of one kernel that shares it (ConfigProto.intra_op_parallelism_threads).
  int intra_op = 0;
  // For kernels, side by side (ConfigProto.inter_op_parallelism_threads): with 1 a step's kernels
  // run one after the other, but for those that wait.
  int inter_op = 0;
};

// What a client may ask of a session (the parts of ConfigProto with an effect here).
struct SessionOptions {
  std::vector<std::string> device_filters = {};  // partial device names; empty: the whole cluster
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  bool isolate_session_state = false;              // private containers for this session
  bool disable_optimizer = false;                  // no folding, no merging of equal nodes
  std::chrono::milliseconds operation_timeout{0};  // 0: none
  ThreadLimits threads = {};
  // Of the task that a session in this process makes for itself (ConfigProto.device_count of
  // "CPU"); a server has those that it was started with.
  int cpu_devices = 1;
  // A cluster sent by the client (ConfigProto.cluster_def); empty: the server's own.
  ClusterSpec cluster = {};
  bool share_state_in_sent_cluster = false;
  // RunMetadata.costs are for every so many-th step of a kind, after as many; 0: for none.
  int64_t cost_model_every = 0, cost_model_after = 0;
  // ConfigProto fields that a server must refuse.
  bool use_per_session_threads = false;
  bool names_thread_pools = false;
};

enum class Trace : uint8_t { off, on };

struct RunOptions {
  Trace trace = Trace::off;
  std::chrono::milliseconds timeout{0};  // 0: the session's operation_timeout
  bool output_partition_graphs = false;
};

// What a node put out, without the value.
struct OutputTrace {
  int slot = 0;
  DType dtype = DType::invalid;
  Shape shape;
  friend bool operator==(const OutputTrace&, const OutputTrace&) = default;
};
// When a node ran, in microseconds since the Unix epoch, and what it made.
struct NodeTiming {
  std::string node_name;
  std::string op;
  int64_t start_micros = 0;
  int64_t end_micros = 0;
  uint32_t thread = 0;
  std::vector<OutputTrace> outputs = {};
};
struct DeviceTrace {
  std::string device;
  std::vector<NodeTiming> nodes;
};
// What a node of a step cost, and what it had to wait for: nodes by their number in the list.
struct CostNode {
  std::string name, device;
  std::vector<std::pair<int32_t, int32_t>> inputs = {};  // node and output
  std::vector<int32_t> control_inputs = {};
  std::vector<OutputTrace> outputs = {};  // by slot
  int64_t micros = 0;
};
struct RunMetadata {
  RareList<DeviceTrace> traces;
  RareList<wire::GraphDef> partition_graphs;
  RareList<CostNode> costs =
      {};  // of a step that the session chose (SessionOptions); not read back
};

// ---- Master service ----------------------------------------------------------------------------

struct CreateSessionRequest {
  wire::GraphDef graph;
  SessionOptions options;
  std::string target;  // as the client dialled it, "grpc://host:port"
};
struct CreateSessionReply {
  std::string session_handle;
  int64_t graph_version = 0;
};

struct ExtendSessionRequest {
  std::string session_handle;
  wire::GraphDef graph;  // new nodes only; the whole function library
  int64_t current_graph_version = 0;
};
struct ExtendSessionReply {
  int64_t new_graph_version = 0;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct RunStepRequest {
  std::string session_handle;
  std::vector<NamedTensor> feeds;    // "node:0"
  std::vector<std::string> fetches;  // "node:0", no duplicates
  std::vector<std::string> targets;  // "node"
  RunOptions options;
  std::string partial_run_handle;  // not empty: one leg of a partial run
};
struct RunStepReply {
  std::vector<Tensor> tensors;  // in the order of fetches
  RunMetadata metadata;
};

struct PartialRunSetupRequest {
  std::string session_handle;
  std::vector<std::string> feeds, fetches, targets;
};
struct PartialRunSetupReply {
  std::string partial_run_handle;
};

struct CloseSessionRequest {
  std::string session_handle;
};
struct ListDevicesRequest {
  std::string session_handle;  // empty: the server's own cluster
};
struct ListDevicesReply {
  std::vector<DeviceAttributes> local, remote;
};
struct ResetRequest {
  std::vector<std::string> containers;  // empty: the default container
  std::vector<std::string> device_filters;
};

struct MakeCallableRequest {
  std::string session_handle;
  std::vector<std::string> feeds, fetches, targets;
  RunOptions options;
  std::vector<TensorConnection> connections = {};
};
class KeptCallable;  // services.h

struct MakeCallableReply {
  int64_t handle = 0;
  // The callable itself. Null from a master that is not in this process.
  std::shared_ptr<KeptCallable> callable = nullptr;
};
struct RunCallableRequest {
  std::string session_handle;
  int64_t handle = 0;
  std::vector<Tensor> feeds;  // in the order of MakeCallable
};
struct RunCallableReply {
  std::vector<Tensor> tensors;
  RunMetadata metadata;
};
struct ReleaseCallableRequest {
  std::string session_handle;
  int64_t handle = 0;
};

// ---- Worker service ----------------------------------------------------------------------------

// One life of a task that has ended well (departures.h).
struct EndedTask {
  TaskName task;
  uint64_t incarnation = 0;  // of its first device
};

struct GetStatusReply {
  std::vector<DeviceAttributes> devices;
  std::vector<EndedTask> ended = {};  // what the worker knows; TensorFlow's say nothing of it
  Capabilities can = {};              // nor of this
};

struct CreateWorkerSessionRequest {
  std::string session_handle;
  TaskName task;                                         // who the worker is in this session
  std::shared_ptr<const SentCluster> cluster = nullptr;  // null: the worker's own
  bool isolate_session_state = false;
  std::string master_task;          // "/job:worker/replica:0/task:0"; may be empty
  uint64_t master_incarnation = 0;  // 0: unknown
};
struct DeleteWorkerSessionRequest {
  std::string session_handle;
};

// The rendezvous keys of a step's own feeds and fetches. Made once per plan and shared by all its
// steps, so that a worker in the same process resolves them to slots once.
struct StepKeys {
  std::vector<std::string> send;     // values that come with RunGraph
  std::vector<std::string> receive;  // values that go back with its answer
};

class RegisteredPart;  // services.h

struct RegisterGraphRequest {
  std::string session_handle;
  // False only for TensorFlow 1.x masters: the process-wide legacy session is meant.
  bool create_worker_session_called = true;
  // Every node placed on a device of the worker. In one process the master's own graph; from the
  // wire an imported one.
  std::shared_ptr<const Graph> graph;
  // Those that most of its runs will bring. Null: not known, as always from the wire.
  std::shared_ptr<const StepKeys> keys = nullptr;
  ThreadLimits threads = {};  // SessionOptions::threads
};
struct RegisterGraphReply {
  std::string graph_handle;
  // The graph itself. Null from a worker that is not in this process: part_by_handle.h then makes
  // one of the handle.
  std::shared_ptr<RegisteredPart> part = nullptr;
};
struct DeregisterGraphRequest {
  std::string session_handle;
  bool create_worker_session_called = true;
  std::string graph_handle;
};

// One run of a registered graph, as a step asks for it.
struct PartRun {
  int64_t step_id = 0;
  std::shared_ptr<const StepKeys> keys;
  std::vector<Tensor> values;  // for keys->send, in its order
  Trace trace = Trace::off;
  bool record_partition_graphs = false;
  bool is_partial = false;
  bool is_last_partial_run = false;
  int64_t request_id = 0;  // random; 0: repeats are not recognised
};
// The same, with the graph by its handle: for those who have only that.
struct RunGraphRequest : PartRun {
  std::string session_handle = {};
  bool create_worker_session_called = true;
  std::string graph_handle = {};
};
struct RunGraphReply {
  std::vector<Delivery> values;  // for keys->receive, in its order
  RareList<DeviceTrace> traces;
  RareList<wire::GraphDef> partition_graphs;
};

struct CleanupGraphRequest {
  int64_t step_id = 0;
};
struct CleanupAllRequest {
  std::vector<std::string> containers;
};

struct RecvTensorRequest {
  int64_t step_id = 0;
  std::string rendezvous_key;
  int64_t request_id = 0;
};
struct RecvTensorReply {
  Delivery delivery;
  int64_t send_start_micros = 0;
  bool require_ack = false;  // set by TensorFlow workers with a response cache
};

}  // namespace millrace
