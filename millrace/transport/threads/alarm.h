// Alarm: wakes one thread that sleeps until then. Private to this room.
//
// Setting it wakes nobody and takes one call of the system, so that a thread that is busy can see
// to it that another one looks at it soon, and an idle process sleeps.
#pragma once

#include <chrono>

#include "millrace/base/status.h"
#include "millrace/transport/sockets/file_descriptor.h"

namespace millrace::transport {

class Alarm {
 public:
  // Before anything else; again is fine. Errors: RESOURCE_EXHAUSTED if no descriptor is left.
  Status open();
  // Goes off once, after `pause` > 0, in place of what was set before. Any thread.
  void set(std::chrono::nanoseconds pause) const;
  // It does not go off any more for what was set before, unless somebody is being woken already.
  void clear() const;
  // Sleeps until it goes off; not at all if it has since the last wait. One thread at a time.
  void wait() const;

 private:
  FileDescriptor timer_;
};

}  // namespace millrace::transport
