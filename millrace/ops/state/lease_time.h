// LeaseTime: the time of the leases that a device's queues give, and who is called when one is
// over.
//
// Kernels know no time; whoever owns the device leaves this with its resources, as it does with
// collectives. Without one there are no leases. Any thread.
#pragma once

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/runner.h"
#include "millrace/base/timers.h"
#include "millrace/op/resource.h"

namespace millrace {

class LeaseTime final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "lease time";
  static constexpr std::string_view kContainer = "_leases";

  // What they refer to outlives the device. `pool` runs what a lease's end brings about.
  LeaseTime(const Clock& clock, Timers& timers, Random& random, Runner& pool)
      : clock_(clock), timers_(timers), random_(random), pool_(pool) {}

  const Clock& clock() const { return clock_; }
  Timers& timers() const { return timers_; }
  Random& random() const { return random_; }  // for incarnations
  Runner& pool() const { return pool_; }
  std::string description() const override { return "the time of leases"; }

 private:
  const Clock& clock_;
  Timers& timers_;
  Random& random_;
  Runner& pool_;
};

}  // namespace millrace
