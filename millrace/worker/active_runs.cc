#include "millrace/worker/active_runs.h"

#include <algorithm>

#include "millrace/base/str_cat.h"
#include "millrace/op/rendezvous.h"

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

namespace {

constexpr size_t kNamed = 5;

std::string seconds(Clock::Duration time) {
  const int64_t tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return str_cat(tenths / 10, ".", tenths % 10, " s");
}

}  // namespace

void StepWaits::add_nodes(const WaitingNodes& waiting) {
  const auto [some, all] = waiting.newest(kNamed);
  for (const auto& [node, op] : some) nodes.push_back(str_cat(node, " (", op, ")"));
  num_nodes += all;
}

std::string to_text(const StepWaits& waits) {
  std::string text = str_cat("step ", waits.step_id, " of session ", waits.session_handle,
                             " runs since ", seconds(waits.age));
  for (size_t i = 0; i < std::min(waits.receives.size(), kNamed); ++i) {
    const StepWaits::Receive& receive = waits.receives[i];
    const auto key = RendezvousKey::parse(receive.key);
    str_append(&text, i == 0 ? ", waits for " : " and ");
    if (key.ok()) {
      str_append(&text, key->tensor_name, " from ", key->source.to_string());
    } else {
      text += receive.key;
    }
    str_append(&text, " (", seconds(receive.age), ")");
  }
  if (waits.receives.size() > kNamed)
    str_append(&text, " and ", waits.receives.size() - kNamed, " more");
  for (size_t i = 0; i < waits.nodes.size(); ++i)
    str_append(&text, i == 0 ? ", is in " : " and ", waits.nodes[i]);
  if (waits.num_nodes > waits.nodes.size())
    str_append(&text, " and ", waits.num_nodes - waits.nodes.size(), " more");
  return text;
}

}  // namespace millrace
