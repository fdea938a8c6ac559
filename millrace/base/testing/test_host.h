// TestHost: a Host of a test's own: the machine's clock, threads that start when they are needed, a
// seed, and a log and counts to look at. It must outlive all who are given it.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/base/testing/no_files.h"
#include "millrace/base/thread_pool.h"
#include "millrace/base/timer.h"

namespace millrace::testing {

// Keeps lines instead of writing them: "worker:1: listens on ...". Thread-safe.
class KeptLines final : public LogSink {
 public:
  bool takes(LogLevel) const override { return true; }
  void write(LogLevel, std::string_view who, std::string_view text) override {
    MutexLock lock(mutex_);
    lines_.push_back(str_cat(who, who.empty() ? "" : ": ", text));
  }
  std::vector<std::string> lines() const {
    MutexLock lock(mutex_);
    return lines_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ MR_GUARDED_BY(mutex_);
};

// Timers that never fire.
class StillTimers final : public Timers {
 public:
  Timer at(Clock::Time when, Task) override { return handle({when, 1}); }

 private:
  void cancel(const Key&) override {}
};

struct TestHost {
  explicit TestHost(int threads = 2) : pool(threads) {}

  KeptLines kept;
  Log log{kept};
  Metrics metrics;
  SeededRandom random{42};
  ThreadPool pool;
  ThreadPool endings{1};
  ThreadPool blocking{2};
  NoFiles files;
  TimerQueue timers;
  const Host host{Clock::real(), timers, random, pool, endings, blocking, log, metrics, files};
};

// Without timers that fire, for tests that do by hand what these would.
struct StillHost {
  TestHost moving;
  StillTimers timers;
  const Host host{moving.host.clock, timers,     moving.random,  moving.pool, moving.endings,
                  moving.blocking,   moving.log, moving.metrics, moving.files};
};

// One for tests that only need some host; lives as long as the process.
inline const Host& test_host() {
  static TestHost one;
  return one.host;
}

}  // namespace millrace::testing
