// StandbyService: what tasks ask each other of a state that two of them hold
// (docs/design/standby.md): its witness who owns it, and the other side what is to be written.
//
// A task with a witness's record and the two sides implement it; transports implement it again for
// tasks in other processes. Answered as the services of services.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/cluster/services.h"
#include "millrace/cluster/standby.h"

namespace millrace {

// A state is called by the task whose it is: "/job:ps/replica:0/task:0", whoever owns it now.
struct WitnessRequest {
  std::string state;    // empty: all that the witness knows
  Term wanted = {};     // number 0: only asks
  std::string address;  // "host:port" where the owner of `wanted` serves
  // Waits while what the witness knows is of this version, for some seconds at most; 0: does not
  // wait.
  uint64_t newer_than = 0;
};

struct WitnessedState {
  std::string state;
  Term term = {};
  std::string address;  // of its owner
  friend bool operator==(const WitnessedState&, const WitnessedState&) = default;
};

struct WitnessReply {
  uint64_t version = 0;  // another one after each change, and in each life of the witness
  // Those that were asked for; a state that has had no owner yet is not in it.
  std::vector<WitnessedState> states;
};

// A message of one side, or a part of one that is long.
struct StandbyParcel {
  std::string state;
  std::string address;  // of the sender
  StandbyMessage message = {};
  // Of `whole` and `group`: records of the journal, each as io::put_record() made it. Parts are
  // sent in their order, from 0.
  uint64_t part = 0;
  bool is_last = true;
  std::string records;
};

class StandbyService {
 public:
  virtual ~StandbyService() = default;
  // Puts a term in place of the one before it, if it is asked for, and answers with what holds, and
  // lasts. Errors: those of the witness's disk; UNIMPLEMENTED for a task that keeps no such record.
  virtual void witness(WitnessRequest, Call, Done<WitnessReply> done) {
    done(unimplemented("this task is no witness; start it with --witness and its own name"));
  }
  // Answered when the message has arrived, whatever becomes of it. Errors: NOT_FOUND for a state
  // that this task is no side of; RESOURCE_EXHAUSTED if it has got too much that it has not looked
  // at.
  virtual void standby(StandbyParcel parcel, Call, Done<void> done) {
    done(not_found("this task is no side of the state of ", parcel.state));
  }
};

}  // namespace millrace
