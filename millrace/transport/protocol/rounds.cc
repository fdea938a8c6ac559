#include "millrace/transport/protocol/rounds.h"

#include <algorithm>
#include <utility>

#include "millrace/transport/protocol/silence.h"

namespace millrace::transport {

void Rounds::add(const std::shared_ptr<Visited>& visited) {
  MutexLock lock(mutex_);
  visited_.push_back(visited);
}

void Rounds::wake() {
  if (limit_ <= Clock::Duration::zero()) return;
  if (awake_.load() || awake_.exchange(true)) return;
  go_round_later();
}

void Rounds::stop() {
  Timers::Timer timer;
  {
    MutexLock lock(mutex_);
    is_stopped_ = true;
    timer = std::move(timer_);
  }
  timer.cancel();
  for (const auto& visited : everybody()) visited->end_visits();
}

void Rounds::go_round_later() {
  MutexLock lock(mutex_);
  if (is_stopped_) return;
  // The timer that this replaces has fired, and what it runs takes no lock of ours any more.
  timer_ = host_.timers.at(host_.clock.now() + Silence::pause(limit_), [this] { go_round(); });
}

Rounds::Everybody Rounds::everybody() {
  Everybody all;
  MutexLock lock(mutex_);
  std::erase_if(visited_, [&](const std::weak_ptr<Visited>& weak) {
    auto visited = weak.lock();
    const bool is_gone = visited == nullptr;
    if (!is_gone) all.push_back(std::move(visited));
    return is_gone;
  });
  return all;
}

void Rounds::go_round() {
  const Everybody all = everybody();
  const auto waits = [](const std::shared_ptr<Visited>& visited) {
    return visited->has_waiting_calls();
  };
  for (const auto& visited : all) visited->visit();
  if (std::ranges::any_of(all, waits)) return go_round_later();
  // Who waits enters first and looks whether rounds are on then; the other way round here.
  awake_.store(false);
  if (std::ranges::any_of(all, waits)) wake();
}

}  // namespace millrace::transport
