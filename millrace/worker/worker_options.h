// What a Worker is made from.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "millrace/base/host.h"
#include "millrace/cluster/departures.h"
#include "millrace/cluster/members.h"
#include "millrace/cluster/services.h"

namespace millrace {

class KeptState;  // ops/state/kept_state.h

// References must outlive the worker.
struct WorkerOptions {
  TaskName task;
  std::shared_ptr<Members> members;  // where peers are; sessions may bring their own cluster
  int cpu_devices = 1;
  ThreadLimits threads = {};         // of host.pool, for sessions that don't say
  int64_t memory_limit = 256 << 20;  // bytes, as devices report it; TensorFlow's figure

  Host host;
  WorkerDirectory& peers;
  Departures* departures = nullptr;  // who has ended; null: nobody keeps that
  // Which tasks this one may share memory with, for collectives: those with the same word
  // (this_machine(), base/shared_memory.h). Empty: with none.
  std::string machine = {};
  // Of as many devices, if the task's queues and variables are kept on its disk; its steps answer
  // when what they changed is there. Null: they are gone with the process.
  std::shared_ptr<KeptState> kept = nullptr;

  // How long a step lives on whose tensor a peer has ceased to want: the error that made the peer
  // cease is to reach the master first.
  std::chrono::milliseconds abort_delay{1000};
};

}  // namespace millrace
