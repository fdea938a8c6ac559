// Progress: says how far a job is, not more often than each so many seconds. One thread at a time.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "millrace/base/clock.h"
#include "millrace/mapreduce/ledger.h"

namespace millrace::mapreduce {

class Progress {
 public:
  // `say` may be null. All are referred to.
  Progress(const Ledger& ledger, const std::function<void(std::string_view)>& say,
           Clock::Duration pause, const Clock& clock)
      : ledger_(ledger), say_(say), pause_(pause), clock_(clock), began_(clock.now()) {}

  void begin_phase() { began_ = clock_.now(); }
  void tell() {
    const Clock::Time now = clock_.now();
    if (!say_ || now - last_ < pause_) return;
    last_ = now;
    say_(ledger_.progress(std::chrono::duration<double>(now - began_).count()));
  }

 private:
  const Ledger& ledger_;
  const std::function<void(std::string_view)>& say_;
  const Clock::Duration pause_;
  const Clock& clock_;
  Clock::Time began_, last_ = began_;
};

}  // namespace millrace::mapreduce
