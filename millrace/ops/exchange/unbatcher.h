// Unbatcher and GradientGatherer: where the steps whose rows lay in one batch meet again. Ids tell
// whose rows are whose. Both are thread-safe, hold no thread while somebody waits, and end each
// wait with its step.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "millrace/ops/state/awaited.h"
#include "millrace/ops/state/device_time.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Whoever has the batch brings it, cut up; everybody takes their own rows.
class Unbatcher final : public Resource, public std::enable_shared_from_this<Unbatcher> {
 public:
  static constexpr std::string_view kTypeName = "unbatcher";

  // Who waits for longer than `patience` is told so, and what nobody takes is dropped, at the
  // latest after twice that. `time` may be null: nothing is given up then.
  Unbatcher(Clock::Duration patience, std::shared_ptr<const DeviceTime> time, std::string name);
  ~Unbatcher() override;

  struct Part {
    int64_t id = 0;
    Tensor rows;
  };
  // Errors: ALREADY_EXISTS for an id whose rows wait to be taken.
  Status bring(std::vector<Part> parts);
  // Errors: DEADLINE_EXCEEDED, if nobody brings it in time; ALREADY_EXISTS, if another step waits
  // for the same; CANCELLED.
  void take(int64_t id, Cancellation* cancellation, Done<Tensor> done);

  std::string description() const override;
  void close(const Status& why) override;

 private:
  struct Kept {
    Tensor rows;
    Clock::Time until;
  };
  struct Parts {
    std::map<int64_t, Kept> kept;
    std::set<int64_t> wanted;
    Clock::Time now{};
  };
  Clock::Time now() const { return time_ == nullptr ? Clock::Time() : time_->clock().now(); }
  // Calls look_again() when `patience_` from now is over.
  Timers::Timer remind();
  void look_again();
  void keep_watch();

  const Clock::Duration patience_;
  const std::shared_ptr<const DeviceTime> time_;
  const std::string name_;
  Awaited<Parts> parts_;

  Mutex mutex_;
  bool is_watching_ MR_GUARDED_BY(mutex_) = false;  // for what is to be dropped
  Timers::Timer watch_ MR_GUARDED_BY(mutex_);
};

// Everybody brings the gradient of their own rows; whoever has the batch takes them, as one tensor.
class GradientGatherer final : public Resource,
                               public std::enable_shared_from_this<GradientGatherer> {
 public:
  static constexpr std::string_view kTypeName = "gradient gatherer";
  // What nobody takes is dropped, the oldest first, when more than this wait.
  static constexpr size_t kMostKept = 4096;
  // Of so many it is known that they were dropped: a batch that wants one of them hears of it.
  static constexpr size_t kMostDropped = 65536;

  explicit GradientGatherer(std::string name);
  ~GradientGatherer() override;

  // Errors: INVALID_ARGUMENT for an id that has brought one already.
  Status bring(int64_t id, Tensor gradient);
  // Those of the ids, in this order, once all are there. Errors: INVALID_ARGUMENT for an id that
  // another batch waits for; RESOURCE_EXHAUSTED for one that was dropped; CANCELLED.
  void take(std::vector<int64_t> ids, Cancellation* cancellation, Done<std::vector<Tensor>> done);

  std::string description() const override;
  void close(const Status& why) override;

 private:
  struct Brought {
    Tensor gradient;  // none: it was dropped
    uint64_t number = 0;
  };
  struct Gradients {
    std::map<int64_t, Brought> brought;
    std::map<uint64_t, int64_t> kept, dropped;  // ids of them, the oldest first
    std::set<int64_t> wanted;
    uint64_t last = 0;

    // Takes out what an id has brought, dropped or not; none if it has brought nothing.
    Tensor extract(int64_t id);
    void drop_oldest();
  };

  const std::string name_;
  Awaited<Gradients> gradients_;
};

}  // namespace millrace
