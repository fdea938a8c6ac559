// What `millrace serve` does for a task whose state a second one has, too.
#pragma once

#include <memory>
#include <string>

#include "millrace/launch/local_signals.h"
#include "millrace/session/server.h"
#include "millrace/session/witnessed.h"

namespace millrace {

struct WitnessFlags {
  std::string witness;        // a task; empty: what the environment says
  std::string stands_by_for;  // a task; empty: likewise
  std::string at;             // "host:port" of one that stands by
  int silence_ms = 1'000;     // of the other side, before the witness is asked
};

// Stands by and serves, life after life, until a signal comes, which it returns. Prints
// "standing by for JOB:INDEX at HOST:PORT" and "serving JOB:INDEX at HOST:PORT".
// `options` and `witnessed` are those of take_witness().
Result<TakenSignal> serve_paired(ServerOptions options, const Witnessed& witnessed,
                                 const std::shared_ptr<Runtime>& runtime,
                                 std::unique_ptr<SignalWatch> signals);

}  // namespace millrace
