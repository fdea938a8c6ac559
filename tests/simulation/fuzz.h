// Fuzz: random programs over random faults, judged by an Oracle.
//
// From one seed: how many tasks and clients there are, what the clients ask for (sessions, steps
// over several tasks, queues, variables, blocking dequeues, callables, partial runs, timeouts,
// cancellations, closes, resets), and what happens to the tasks meanwhile (killed and started anew,
// stopped, frozen, slow, cut off in one direction or both, connections broken). In the end all is
// healed and closed, and nothing may be left.
//
// A run stops at the first complaint. The same options make the same run, to the letter of its
// transcript.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/stage.h"

#include "millrace/op/registry.h"

namespace millrace::simulation {

struct FuzzOptions {
  uint64_t seed = 1;
  int tasks = 0;  // 0: drawn, 3 to 20, few in most cases
  double seconds = 600;
  enum class Faults : uint8_t { none, all } faults = Faults::all;
  Stage::Tell tell = {};  // gets the transcript; empty: none is written
};

struct FuzzOutcome {
  std::vector<std::string> complaints;  // empty: all went well
  uint64_t calls = 0;                   // of clients
  uint64_t failed = 0;                  // of those
  uint64_t events = 0;                  // of the world
  uint64_t messages = 0;                // between processes
  double seconds = 0;
  int tasks = 0;
};

FuzzOutcome fuzz(const OpRegistry& ops, const FuzzOptions& options);

}  // namespace millrace::simulation
