// Host: what a part of Millrace may ask of the machine that it runs on. What is not here, it does
// not ask.
//
// Passed when something is made, and kept as a value: the references outlive all who hold one. The
// session's Runtime owns the real one; a test's has a clock that stands still, a seed, and threads
// of its own or none.
#pragma once

#include "millrace/base/clock.h"
#include "millrace/base/files.h"
#include "millrace/base/log.h"
#include "millrace/base/metrics.h"
#include "millrace/base/random.h"
#include "millrace/base/runner.h"
#include "millrace/base/timers.h"

namespace millrace {

struct Host {
  const Clock& clock;
  Timers& timers;  // tells the time of `clock`
  Random& random;
  Runner& pool;      // kernels and what goes on after a wait; nothing blocks on it
  Runner& endings;   // where what takes too long is told so: not behind the work that is to end
  Runner& blocking;  // files, and whatever else waits inside a system call
  const Log& log;    // carries the task's name into every line
  Metrics& metrics;
  Files& files;  // waits inside system calls: only where blocking is allowed

  // The same machine for another task, or for a part of one that has a name of its own.
  Host in_the_name_of(const Log& other) const {
    return {clock, timers, random, pool, endings, blocking, other, metrics, files};
  }
};

}  // namespace millrace
