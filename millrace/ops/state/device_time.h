// DeviceTime: the time that a device's kernels go by, and who is called when some is over: of
// leases that queues give, of batches that wait for more.
//
// A kernel is told no time; whoever owns the device leaves this with its resources, as it does with
// collectives. Any thread.
#pragma once

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/runner.h"
#include "millrace/base/timers.h"
#include "millrace/op/resource.h"

namespace millrace {

class DeviceTime final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "device time";
  static constexpr std::string_view kContainer = "_time";

  // What they refer to outlives the device. `pool` runs what the end of some time brings about.
  DeviceTime(const Clock& clock, Timers& timers, Random& random, Runner& pool)
      : clock_(clock), timers_(timers), random_(random), pool_(pool) {}

  const Clock& clock() const { return clock_; }
  Timers& timers() const { return timers_; }
  Random& random() const { return random_; }  // for what must not be equal in two lives of a task
  Runner& pool() const { return pool_; }
  std::string description() const override { return "the time of the device"; }

 private:
  const Clock& clock_;
  Timers& timers_;
  Random& random_;
  Runner& pool_;
};

}  // namespace millrace
