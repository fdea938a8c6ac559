#include "millrace/engine/local_rendezvous.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/hash/hash.h"

namespace millrace {

// One receive that waits. Belongs to its channel, and then to whoever takes it out to answer it.
struct LocalRendezvous::Waiter {
  std::string key;
  Done<Delivery> done;
  Clock::Time since;
  // Made before the waiter can be found: who answers may end the cancellation's life.
  Cancellation::Registration registration;
  Status cancelled;  // before it was in its channel; under the rendezvous' lock

  void answer(Result<Delivery> result) {
    registration.release();
    done(std::move(result));
  }
};

LocalRendezvous::LocalRendezvous(const Clock* clock) : clock_(clock) {}
LocalRendezvous::~LocalRendezvous() {
  if (!is_empty()) abort(millrace::aborted("the step's rendezvous was dropped"));
}

LocalRendezvous::Sought LocalRendezvous::sought(std::string_view key) {
  return {key, absl::Hash<absl::string_view>()(to_absl(key))};
}

Status LocalRendezvous::send(std::string_view text, Delivery delivery) {
  const Sought key = sought(text);
  std::unique_ptr<Waiter> waiter;
  {
    MutexLock lock(mutex_);
    if (!aborted_.ok()) return aborted_;
    const auto [channel, is_new] = channels_.try_emplace(key);
    if (auto* values = std::get_if<Values>(&channel->second)) {
      values->push_back(std::move(delivery));
      return {};
    }
    auto& waiters = std::get<Waiters>(channel->second);
    waiter = std::move(waiters.front());
    waiters.erase(waiters.begin());
    if (waiters.empty()) channels_.erase(channel);
  }
  waiter->answer(std::move(delivery));
  return {};
}

std::optional<Result<Delivery>> LocalRendezvous::pop(Sought key) {
  if (!aborted_.ok()) return aborted_;
  const auto channel = channels_.find(key);
  if (channel == channels_.end()) return std::nullopt;
  auto* values = std::get_if<Values>(&channel->second);
  if (values == nullptr) return std::nullopt;
  Delivery first = std::move(values->front());
  values->erase(values->begin());
  if (values->empty()) channels_.erase(channel);
  return first;
}

void LocalRendezvous::receive(std::string_view text, Cancellation* cancellation,
                              Done<Delivery> done) {
  const Sought key = sought(text);
  std::optional<Result<Delivery>> answer;
  {
    MutexLock lock(mutex_);
    answer = pop(key);
  }
  if (answer) return done(*std::move(answer));

  auto waiter = std::make_unique<Waiter>();
  waiter->key = std::string(text);
  waiter->done = std::move(done);
  if (clock_ != nullptr) waiter->since = clock_->now();
  if (cancellation != nullptr) {
    waiter->registration = cancellation->on_cancel(
        [this, waiter = waiter.get()](const Status& why) { give_up(waiter, why); });
  }
  {
    MutexLock lock(mutex_);
    answer = pop(key);
    if (!answer && !waiter->cancelled.ok()) answer = waiter->cancelled;
    if (!answer) {
      const auto [channel, is_new] = channels_.try_emplace(key, Waiters());
      std::get<Waiters>(channel->second).push_back(std::move(waiter));
      return;
    }
  }
  waiter->answer(*std::move(answer));
}

void LocalRendezvous::give_up(Waiter* waiter, const Status& why) {
  std::unique_ptr<Waiter> found;
  {
    MutexLock lock(mutex_);
    // Alive in any case: its registration waits for this callback before it goes.
    waiter->cancelled = why;
    const auto channel = channels_.find(sought(waiter->key));
    if (channel == channels_.end()) return;
    auto* waiters = std::get_if<Waiters>(&channel->second);
    if (waiters == nullptr) return;
    const auto it =
        std::ranges::find_if(*waiters, [&](const auto& w) { return w.get() == waiter; });
    if (it == waiters->end()) return;
    found = std::move(*it);
    waiters->erase(it);
    if (waiters->empty()) channels_.erase(channel);
  }
  found->answer(why);
}

void LocalRendezvous::abort(const Status& why) {
  Channels channels;
  Status reason;
  {
    MutexLock lock(mutex_);
    if (aborted_.ok()) aborted_ = why.ok() ? internal("a rendezvous was aborted with OK") : why;
    reason = aborted_;
    channels.swap(channels_);
  }
  // By key: a run that is repeated is to go the same way, whatever the addresses.
  std::vector<std::unique_ptr<Waiter>> waiting;
  for (auto& [key, channel] : channels) {
    auto* waiters = std::get_if<Waiters>(&channel);
    if (waiters == nullptr) continue;
    std::ranges::move(*waiters, std::back_inserter(waiting));
  }
  std::ranges::stable_sort(
      waiting, {}, [](const auto& waiter) -> const auto& { return waiter->key; });
  for (auto& waiter : waiting) waiter->answer(reason);
}

Result<Delivery> LocalRendezvous::take(std::string_view key) {
  MutexLock lock(mutex_);
  auto value = pop(sought(key));
  if (value) return *std::move(value);
  return internal("nothing was sent for ", key);
}

Status LocalRendezvous::aborted() const {
  MutexLock lock(mutex_);
  return aborted_;
}

bool LocalRendezvous::is_empty() const {
  MutexLock lock(mutex_);
  return channels_.empty();
}

std::vector<LocalRendezvous::Wait> LocalRendezvous::waits() const {
  std::vector<Wait> waits;
  {
    MutexLock lock(mutex_);
    for (const auto& [key, channel] : channels_) {
      const auto* waiters = std::get_if<Waiters>(&channel);
      if (waiters == nullptr) continue;
      for (const auto& waiter : *waiters) waits.push_back({key.text, waiter->since});
    }
  }
  std::ranges::sort(waits, {}, &Wait::key);
  return waits;
}

}  // namespace millrace
