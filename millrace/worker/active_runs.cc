#include "millrace/worker/active_runs.h"

namespace millrace {

Status ActiveRuns::enter(ActiveRun& run) {
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_;
  run.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &run;
  first_ = &run;
  return {};
}

void ActiveRuns::leave(ActiveRun& run) {
  MutexLock lock(mutex_);
  (run.previous_ != nullptr ? run.previous_->next_ : first_) = run.next_;
  if (run.next_ != nullptr) run.next_->previous_ = run.previous_;
  // It may come again.
  run.previous_ = run.next_ = nullptr;
}

std::vector<std::shared_ptr<ActiveRun>> ActiveRuns::all() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<ActiveRun>> runs;
  for (ActiveRun* run = first_; run != nullptr; run = run->next_)
    if (auto held = run->weak_from_this().lock()) runs.push_back(std::move(held));
  return runs;
}

void ActiveRuns::close(const Status& why) {
  {
    MutexLock lock(mutex_);
    if (!closed_.ok()) return;
    closed_ = why;
  }
  for (const auto& run : all()) run->stop(why);
}

void ActiveRuns::describe_waits(Clock::Time now, std::vector<StepWaits>* waits) const {
  for (const auto& run : all()) waits->push_back(run->describe_waits(now));
}

}  // namespace millrace
