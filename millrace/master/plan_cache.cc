#include "millrace/master/plan_cache.h"

#include <utility>

namespace millrace {

template <class Names>
PlanCache::Ordered PlanCache::find_wanted(const Wanted<Names>& wanted) {
  MutexLock lock(mutex_);
  const auto found = ordered_.find(wanted);
  if (found == ordered_.end()) return nullptr;
  found->last_use = ++uses_;
  return found->step;
}

PlanCache::Ordered PlanCache::find(uint64_t hash, const RunStepRequest& request) {
  return find_wanted(Wanted<RunStepRequest>{hash, request});
}

void PlanCache::get(StepRequestNames names, Done<Ordered> done) {
  if (Ordered known = find_wanted(Wanted<StepRequestNames>{hash_of(names), names})) {
    done(std::move(known));
    return;
  }
  auto sorted = canonical(names);
  if (!sorted.ok()) {
    done(sorted.status());
    return;
  }
  get_canonical(*sorted, Done<Prepared>([this, names = std::move(names), done = std::move(done)](
                                            Result<Prepared> prepared) mutable {
    if (!prepared.ok()) {
      done(prepared.status());
      return;
    }
    auto made = std::make_shared<const OrderedStep>(
        in_order_of(std::move(prepared).value(), std::move(names)));
    keep(made);
    done(std::move(made));
  }));
}

void PlanCache::keep(const Ordered& step) {
  Ordered dropped;
  {
    MutexLock lock(mutex_);
    ordered_.insert({.hash = hash_of(step->names), .step = step, .last_use = ++uses_});
    if (ordered_.size() <= most_) return;
    dropped = take_oldest();
  }
  // Without the lock: with it may go what workers have of it.
  dropped.reset();
  MutexLock lock(mutex_);
  absl::erase_if(prepared_, [](const auto& known) {
    return known.second.waiting.empty() && known.second.ready.expired();
  });
}

// Looks at all of them, which is little beside the planning that it makes room for.
PlanCache::Ordered PlanCache::take_oldest() {
  auto oldest = ordered_.begin();
  for (auto kept = ordered_.begin(); kept != ordered_.end(); ++kept)
    if (kept->last_use < oldest->last_use) oldest = kept;
  Ordered step = oldest->step;
  ordered_.erase(oldest);
  return step;
}

void PlanCache::get_canonical(const StepRequestNames& names, Done<Prepared> done) {
  Prepared ready;
  {
    MutexLock lock(mutex_);
    Entry& entry = prepared_[names];
    ready = entry.ready.lock();
    if (!ready) {
      entry.waiting.push_back(std::move(done));
      if (entry.waiting.size() > 1) return;
    }
  }
  if (ready) {
    done(std::move(ready));  // NOLINT(bugprone-use-after-move): waits only if not ready
    return;
  }
  prepare_(names, Done<Prepared>([this, names](Result<Prepared> result) {
             finish(names, std::move(result));
           }));
}

void PlanCache::finish(const StepRequestNames& names, Result<Prepared> result) {
  std::vector<Done<Prepared>> waiting;
  {
    MutexLock lock(mutex_);
    const auto entry = prepared_.find(names);
    waiting = std::move(entry->second.waiting);
    entry->second.waiting.clear();
    if (result.ok()) {
      entry->second.ready = *result;
    } else {
      prepared_.erase(entry);
    }
  }
  for (Done<Prepared>& done : waiting) done(result);
}

size_t PlanCache::num_prepared() const {
  MutexLock lock(mutex_);
  size_t count = 0;
  for (const auto& [names, entry] : prepared_) count += !entry.ready.expired();
  return count;
}

}  // namespace millrace
