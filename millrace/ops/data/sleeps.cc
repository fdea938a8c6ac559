// Part of families.h: register_dataset_sleeps, datasets whose elements take their time.
#include <algorithm>
#include <chrono>
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/late_end.h"

namespace millrace::data {
namespace {

class Sleeping final : public DatasetIterator {
 public:
  Sleeping(IteratorPtr input, Clock::Duration pause, IterationHost::Machine machine)
      : input_(std::move(input)), pause_(pause), machine_(machine) {}
  Result<Next> next(Pull& pull, Element* element) override {
    if (nap_ == nullptr && !has_slept_) begin();
    Status woken;
    if (nap_ != nullptr && !nap_->poll(pull.waker, &woken)) return Next::pending;
    nap_.reset();
    has_slept_ = true;
    Result<Next> next = input_->next(pull, element);
    if (!next.ok() || *next != Next::pending) has_slept_ = false;
    return next;
  }

 private:
  void begin() {
    nap_ = std::make_shared<LateEnd>();
    // Whoever drops the iterator may hold what waking takes, and waits for the timer's task: that
    // only passes it on.
    timer_ = machine_.timers->at(
        machine_.clock->now() + pause_,
        [pool = machine_.pool, nap = nap_] { pool->post([nap] { nap->end(); }); });
  }

  const IteratorPtr input_;
  const Clock::Duration pause_;
  const IterationHost::Machine machine_;
  std::shared_ptr<LateEnd> nap_;  // the timer's task may come when nobody waits any more
  bool has_slept_ = false;        // for the element that is next
  Timers::Timer timer_;
};

class SleepDataset final : public DerivedDataset {
 public:
  SleepDataset(DatasetPtr input, Clock::Duration pause)
      : DerivedDataset(std::move(input)), pause_(pause) {}
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    const IterationHost::Machine& machine = host->machine();
    if (machine.timers == nullptr || machine.clock == nullptr || machine.pool == nullptr)
      return failed_precondition("the device of the iterator has no timers, and can't wait");
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<Sleeping>(std::move(input), pause_, machine));
  }

 private:
  const Clock::Duration pause_;
};

// A longer one never ends, and must not run over.
constexpr int64_t kLongestPause = int64_t{1'000'000} * 60 * 60 * 24 * 365 * 100;

Result<DatasetPtr> make_sleep(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const int64_t micros, inputs.scalar<int64_t>(1, "sleep_microseconds"));
  if (micros < 0) return invalid("`sleep_microseconds` must be >= 0, not ", micros);
  const std::chrono::microseconds pause(std::min(micros, kLongestPause));
  return DatasetPtr(std::make_shared<SleepDataset>(std::move(input), pause));
}

}  // namespace

Status register_dataset_sleeps(OpRegistry& ops) {
  for (const char* name : {"SleepDataset", "ExperimentalSleepDataset"}) {
    MR_TRY(ops.add(dataset_op(name, "The elements of a dataset, each after so many microseconds.",
                              "input_dataset: variant, sleep_microseconds: int64", kOutputs,
                              make_sleep)));
  }
  return {};
}

}  // namespace millrace::data
