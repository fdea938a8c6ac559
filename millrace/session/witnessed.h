// How a server takes part where two tasks may hold one state (docs/design/standby.md): as the
// witness, as one of the two, or as a task that hears from the witness where the others are.
#pragma once

#include <memory>
#include <string>

#include "millrace/cluster/cluster_spec.h"
#include "millrace/session/server.h"
#include "millrace/session/witness_watch.h"

namespace millrace {

struct Witnessed {
  std::string address;  // of the witness; empty: there is none
  ClusterSpec cluster;  // as it was given
  TaskName launched;    // as whom it was started, whose state it has or not
  // A second task may have its state: it is to go on life after life (session/paired_server.h).
  bool is_side = false;
  bool is_first = true;                 // false: it stands by for the one that begins
  std::unique_ptr<WitnessWatch> watch;  // tells the members; to outlive the server
};

// Reads what `options` and `runtime` say of a witness, and makes them those of a server without
// one: with members that hear of new addresses from it, under the name whose state it has, and with
// the witness's record if it is the witness. A job that stands by is no member that anybody waits
// for. Waits for the disk.
// Errors: INVALID_ARGUMENT for what names no task, for members beside a witness, for a witness or a
// standby without a folder, and for one that stands by for the witness; NOT_FOUND for a task that
// is not in the cluster; as Witness::open().
Result<Witnessed> take_witness(ServerOptions& options, const std::shared_ptr<Runtime>& runtime);

}  // namespace millrace
