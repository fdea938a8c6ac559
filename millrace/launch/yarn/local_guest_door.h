// Lets commands in beside a task, where it runs: a process that a task's `millrace join` leaves
// behind when it becomes the task's program, which listens for guests (guest_talk.h), shows each
// that it knows the job's token, and runs what it wants with the environment of the program and in
// its directory.
//
//   container's process ── millrace join ── becomes the program
//                              └─ the door (session of its own, nobody's child)
//                                   └─ one process for each guest ── its command ── …
//
// When the program has ended, the door and all that guests have running end with it; when a guest
// is gone, what it has running. Nothing of it is a child of the program, writes where that does, or
// holds anything open of it.
#pragma once

#include <string>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

class GuestDoor {
 public:
  // At a free port of all of this machine's addresses. Errors: UNAVAILABLE with what the system
  // says, FAILED_PRECONDITION for one that can't tell when a process has ended (before Linux 5.3).
  static Result<GuestDoor> open();

  int port() const { return port_; }

  struct Duty {
    std::string token = {};  // of the job
    std::string task = {};   // "map:1"
    int attempt = 1;
    const Clock& clock;
    Random& random;
  };
  // Leaves the process behind, which is there as long as this one, whatever that becomes. From a
  // process with one thread: it forks. The door is open no longer here. Errors: RESOURCE_EXHAUSTED.
  Status leave_behind(const Duty& duty);

 private:
  GuestDoor(Descriptor listener, Descriptor owner, int port)
      : listener_(std::move(listener)), owner_(std::move(owner)), port_(port) {}
  [[noreturn]] void keep(const Duty& duty, int owner);

  Descriptor listener_;
  Descriptor owner_;  // a pidfd of the process that opened it: readable when it has ended
  int port_;
};

}  // namespace millrace
