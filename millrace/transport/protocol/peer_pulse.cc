#include "millrace/transport/protocol/peer_pulse.h"

#include <utility>

namespace millrace::transport {

PeerPulse::PeerPulse(std::shared_ptr<Rounds> rounds) : rounds_(std::move(rounds)) {}

void PeerPulse::enter(Overseen& call) {
  {
    MutexLock lock(mutex_);
    calls_.insert(&call);
  }
  rounds_->wake();
}

void PeerPulse::leave(Overseen& call) {
  MutexLock lock(mutex_);
  calls_.erase(&call);
}

bool PeerPulse::has_waiting_calls() const {
  MutexLock lock(mutex_);
  return !calls_.empty();
}

Silence::Action PeerPulse::visit() {
  MutexLock lock(mutex_);
  const bool heard = heard_.exchange(false, std::memory_order_relaxed);
  if (heard && silence_.has_warned() && !calls_.empty())
    rounds_->log().info((*calls_.begin())->peer().to_string(), " answers again");
  // Nothing is owed, or the peer may be as silent as it likes.
  if ((calls_.empty() && !is_silent()) || !promises_.load(std::memory_order_relaxed)) {
    silence_.reset();
    return Silence::Action::nothing;
  }
  const Silence::Action action =
      silence_.on_round(heard ? Silence::Sign::heard : Silence::Sign::none);
  if (action == Silence::Action::warn) warn();
  if (action == Silence::Action::give_up) give_up();
  return action;
}

void PeerPulse::warn() {
  if (calls_.empty()) return;
  const Clock::Duration pause = Silence::pause(limit());
  rounds_->log().warning(
      (*calls_.begin())->peer().to_string(), " has not answered for ",
      in_seconds(Silence::kWarnAfter * pause),
      ", not even the question whether it is there; calls to it end if it is silent for ",
      in_seconds(limit()));
}

void PeerPulse::give_up() {
  is_silent_.store(true, std::memory_order_relaxed);
  for (Overseen* call : calls_) call->give_up(limit());
}

}  // namespace millrace::transport
