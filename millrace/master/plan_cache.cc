#include "millrace/master/plan_cache.h"

#include <utility>

namespace millrace {

PlanCache::Ordered PlanCache::find(const std::string& key) const {
  MutexLock lock(mutex_);
  const auto found = ordered_.find(key);
  return found == ordered_.end() ? nullptr : found->second;
}

void PlanCache::get(const StepRequestNames& names, Done<Ordered> done) {
  if (Ordered known = find(cache_key(names))) {
    done(std::move(known));
    return;
  }
  auto sorted = canonical(names);
  if (!sorted.ok()) {
    done(sorted.status());
    return;
  }
  get_canonical(
      *sorted,
      Done<Prepared>([this, names, done = std::move(done)](Result<Prepared> prepared) mutable {
        if (!prepared.ok()) {
          done(prepared.status());
          return;
        }
        auto made =
            std::make_shared<const OrderedStep>(in_order_of(std::move(prepared).value(), names));
        {
          MutexLock lock(mutex_);
          ordered_.emplace(cache_key(names), made);
        }
        done(std::move(made));
      }));
}

void PlanCache::get_canonical(const StepRequestNames& names, Done<Prepared> done) {
  std::string key = cache_key(names);
  Prepared ready;
  {
    MutexLock lock(mutex_);
    const auto [entry, is_new] = prepared_.try_emplace(key);
    ready = entry->second.ready;
    if (!ready) {
      entry->second.waiting.push_back(std::move(done));
      if (!is_new) return;
    }
  }
  if (ready) {
    done(std::move(ready));  // NOLINT(bugprone-use-after-move): waits only if not ready
    return;
  }
  prepare_(names, Done<Prepared>([this, key = std::move(key)](Result<Prepared> result) {
             finish(key, std::move(result));
           }));
}

void PlanCache::finish(const std::string& key, Result<Prepared> result) {
  std::vector<Done<Prepared>> waiting;
  {
    MutexLock lock(mutex_);
    const auto entry = prepared_.find(key);
    waiting = std::move(entry->second.waiting);
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
  for (const auto& [key, entry] : prepared_) count += entry.ready != nullptr;
  return count;
}

}  // namespace millrace
