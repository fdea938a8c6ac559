// Everything that a task counts: the one place where a counter or a histogram gets its name.
// Words only: who counts, and where, is no matter of this room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace {

// Numbers that only grow.
enum class Counter : uint8_t {
  steps_started,     // by this task's master; a partial run is one
  steps_failed,      // of those, for whatever reason
  limits_hit,        // calls of clients that ended because their time was over
  sessions_created,  // at this task's master
  log_lines_left_out,
  bytes_sent,  // in messages to and from other processes
  bytes_received,
  bytes_shared,  // laid into memory that another process of this machine takes them from
  // From here on there is one for each RpcMethod, in its order. Of calls between processes.
  calls_made,
};

// What calls between processes ask for.
enum class RpcMethod : uint8_t {
  create_session,
  extend_session,
  partial_run_setup,
  run_step,
  close_session,
  list_devices,
  reset,
  make_callable,
  run_callable,
  release_callable,
  get_status,
  create_worker_session,
  delete_worker_session,
  register_graph,
  deregister_graph,
  run_graph,
  cleanup_graph,
  cleanup_all,
  recv_tensor,
  mark_recv_finished,
  farewell,
  other,
};

inline constexpr std::array<std::string_view, 22> kRpcMethodNames = {
    "CreateSession",
    "ExtendSession",
    "PartialRunSetup",
    "RunStep",
    "CloseSession",
    "ListDevices",
    "Reset",
    "MakeCallable",
    "RunCallable",
    "ReleaseCallable",
    "GetStatus",
    "CreateWorkerSession",
    "DeleteWorkerSession",
    "RegisterGraph",
    "DeregisterGraph",
    "RunGraph",
    "CleanupGraph",
    "CleanupAll",
    "RecvTensor",
    "MarkRecvFinished",
    "Farewell",
    "other",
};

// Of the counters before calls_made.
inline constexpr std::array<std::string_view, 8> kCounterNames = {
    "steps.started", "steps.failed", "limits.hit",     "sessions.created",
    "log.left_out",  "bytes.sent",   "bytes.received", "bytes.shared",
};
static_assert(kCounterNames.size() == static_cast<size_t>(Counter::calls_made));
static_assert(kRpcMethodNames.size() == static_cast<size_t>(RpcMethod::other) + 1);

// Where a call was seen from: the task that asked, or the one that was asked.
enum class RpcSide : uint8_t { made, taken };
inline constexpr size_t kCounters = kCounterNames.size() + 2 * kRpcMethodNames.size();

// "calls.made.RunGraph"
constexpr Counter counter_of(RpcSide side, RpcMethod method) {
  const size_t first = side == RpcSide::made ? 0 : kRpcMethodNames.size();
  return static_cast<Counter>(static_cast<size_t>(Counter::calls_made) + first +
                              static_cast<size_t>(method));
}

// Numbers of which one wants to know how they are spread.
enum class Histogram : uint8_t {
  call_micros,  // from the arrival of another process's call to its answer
  reply_bytes,  // of the answers to such calls
};

inline constexpr std::array<std::string_view, 2> kHistogramNames = {"calls.micros",
                                                                    "replies.bytes"};
inline constexpr size_t kHistograms = kHistogramNames.size();
static_assert(kHistograms == static_cast<size_t>(Histogram::reply_bytes) + 1);

}  // namespace millrace
