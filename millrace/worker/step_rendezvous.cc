#include "millrace/worker/step_rendezvous.h"

#include <algorithm>
#include <utility>

namespace millrace {

// One request to a peer. Whoever cancels it holds a reference: the peer may answer inside `cancel`.
struct StepRendezvous::Fetch {
  std::string key;
  Clock::Time since;
  Done<Delivery> done;
  Cancellation cancellation;
  Cancellation::Registration from_step;
};

StepRendezvous::~StepRendezvous() {
  // Fetches keep it alive, so there are none. Most steps leave nothing, and then no error need be
  // written.
  if (!local_.is_empty())
    local_.abort(aborted("the step's rendezvous was dropped").as_consequence());
}

void StepRendezvous::bind(std::shared_ptr<const PeerFetcher> fetcher) {
  MutexLock lock(mutex_);
  if (fetcher_ == nullptr) fetcher_ = std::move(fetcher);
}

Status StepRendezvous::send(std::string_view key, Delivery delivery) {
  return local_.send(key, std::move(delivery));
}

void StepRendezvous::receive(std::string_view key, Cancellation* cancellation,
                             Done<Delivery> done) {
  std::shared_ptr<const PeerFetcher> fetcher;
  {
    MutexLock lock(mutex_);
    fetcher = fetcher_;
  }
  if (fetcher == nullptr || fetcher->is_local(key))
    return local_.receive(key, cancellation, std::move(done));
  const auto peer = fetcher->peer_of(key);
  if (!peer.ok()) return done(peer.status());
  fetch(*fetcher, **peer, key, cancellation, std::move(done));
}

void StepRendezvous::receive_here(std::string_view key, Cancellation* cancellation,
                                  Done<Delivery> done) {
  local_.receive(key, cancellation, std::move(done));
}

void StepRendezvous::fetch(const PeerFetcher& fetcher, WorkerService& peer, std::string_view key,
                           Cancellation* cancellation, Done<Delivery> done) {
  auto fetch = std::make_shared<Fetch>();
  fetch->key = std::string(key);
  fetch->since = clock_.now();
  fetch->done = std::move(done);
  {
    MutexLock lock(mutex_);
    fetches_.insert(fetch);
  }
  if (cancellation != nullptr) {
    fetch->from_step = cancellation->on_cancel([weak = std::weak_ptr(fetch)](const Status& why) {
      if (auto fetch = weak.lock()) fetch->cancellation.cancel(why);
    });
  }
  // `abort` sets the reason before it looks for fetches, so one of the two sees the other.
  if (Status why = local_.aborted(); !why.ok()) fetch->cancellation.cancel(std::move(why));
  // The fetch keeps this alive, as it must be taken out of the list at the end.
  fetcher.fetch(
      peer, step_id_, key, &fetch->cancellation,
      Done<RecvTensorReply>([self = shared_from_this(), fetch](Result<RecvTensorReply> reply) {
        {
          MutexLock lock(self->mutex_);
          self->fetches_.erase(fetch);
        }
        fetch->from_step.release();
        Done<Delivery> done = std::move(fetch->done);
        if (reply.ok()) return done(std::move(reply->delivery));
        done(reply.status());
      }));
}

void StepRendezvous::abort(const Status& why) {
  local_.abort(why);
  std::vector<std::shared_ptr<Fetch>> fetches;
  {
    MutexLock lock(mutex_);
    fetches.assign(fetches_.begin(), fetches_.end());
  }
  // A run that is repeated is to go the same way, whatever the addresses.
  std::ranges::sort(
      fetches, {}, [](const auto& fetch) -> const auto& { return fetch->key; });
  for (const auto& fetch : fetches) fetch->cancellation.cancel(why);
}

std::vector<LocalRendezvous::Wait> StepRendezvous::waits() const {
  std::vector<LocalRendezvous::Wait> waits = local_.waits();
  {
    MutexLock lock(mutex_);
    for (const auto& fetch : fetches_) waits.push_back({fetch->key, fetch->since});
  }
  std::ranges::sort(waits, {}, &LocalRendezvous::Wait::key);
  return waits;
}

}  // namespace millrace
