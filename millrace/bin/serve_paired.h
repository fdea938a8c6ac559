// What `millrace serve` does for a task that has a witness: keeps the witness's record, holds a
// state with another task, or hears from the witness where the others' owners are.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "millrace/cluster/late_members.h"
#include "millrace/launch/local_signals.h"
#include "millrace/session/server.h"
#include "millrace/session/witness_watch.h"

namespace millrace {

// "/job:chief/task:0". Errors: INVALID_ARGUMENT, naming the flag.
Result<TaskName> task_of_flag(std::string_view flag, const std::string& text);

struct WitnessFlags {
  std::string witness;        // a task; empty: there is none
  std::string stands_by_for;  // a task; empty: none
  std::string at;             // "host:port" of one that stands by
  int silence_ms = 1'000;     // of the other side, before the witness is asked

  bool is_witness(const ServerOptions& options) const;
};

// Gives `options` members that hear of new addresses from the witness, and the witness's record to
// the task that is it. Errors: INVALID_ARGUMENT; NOT_FOUND for a witness that is not in the
// cluster; as Witness::open().
Result<std::unique_ptr<WitnessWatch>> watch_witness(const WitnessFlags& flags,
                                                    ServerOptions& options,
                                                    const std::shared_ptr<Runtime>& runtime,
                                                    std::string* witness_address);

// Stands by and serves, life after life, until a signal comes, which it returns. Prints
// "standing by for JOB:INDEX at HOST:PORT" and "serving JOB:INDEX at HOST:PORT".
Result<TakenSignal> serve_paired(const WitnessFlags& flags, ServerOptions options,
                                 const std::string& witness_address,
                                 const std::shared_ptr<Runtime>& runtime,
                                 std::unique_ptr<SignalWatch> signals);

}  // namespace millrace
