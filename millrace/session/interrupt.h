// Interrupt: what a thread looks after while it waits in a session, because nobody else can. A
// Python main thread, for example, has to run signal handlers, or Ctrl-C would not end a run that
// waits.
#pragma once

#include "millrace/base/status.h"

namespace millrace {

// Shared by all calls of a session; any thread may call.
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  // Whether the calling thread has anything to look after; asked at the start of each wait. If not,
  // it may wait in a way that cannot be interrupted, which is a little quicker.
  virtual bool applies() = 0;
  // Called about ten times a second on the thread that waits. An error ends what it waits for.
  virtual Status ask() = 0;
};

}  // namespace millrace
