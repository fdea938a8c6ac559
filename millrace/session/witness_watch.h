// WitnessWatch: tells the members of a cluster where the owners of states are, as their witness
// knows it.
//
// One question at a time, which the witness answers when something has changed. While the witness
// can't be reached, what was heard last counts. Any thread.
#pragma once

#include <memory>
#include <string>

#include "millrace/cluster/late_members.h"
#include "millrace/session/runtime.h"

namespace millrace {

class WitnessWatch {
 public:
  // Begins at once. `own`: a task whose address is not to be changed, because it is this process.
  WitnessWatch(std::shared_ptr<Runtime> runtime, std::string witness_address,
               std::shared_ptr<LateMembers> members, TaskName own);
  // Waits until nothing is under way.
  ~WitnessWatch();

 private:
  class Watching;
  const std::shared_ptr<Runtime> runtime_;
  const std::shared_ptr<Watching> watching_;
};

}  // namespace millrace
