// StepRendezvous: the rendezvous of one step on one task.
//
// What this task sends waits here, for kernels of the task and for peers; what comes from other
// tasks is fetched from them when a kernel asks for it. Peers may come before the step has started
// here. Aborting it ends the fetches under way. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "millrace/engine/local_rendezvous.h"
#include "millrace/worker/peer_fetcher.h"

namespace millrace {

class StepRendezvous final : public Rendezvous,
                             public std::enable_shared_from_this<StepRendezvous> {
 public:
  StepRendezvous(int64_t step_id, const Clock& clock)
      : step_id_(step_id), clock_(clock), local_(&clock) {}
  ~StepRendezvous() override;

  // Says how peers are reached; before the first receive. The first one stays.
  void bind(std::shared_ptr<const PeerFetcher> fetcher);

  Status send(std::string_view key, Delivery delivery) override;
  void receive(std::string_view key, Cancellation* cancellation, Done<Delivery> done) override;
  void abort(const Status& why) override;

  // Gets the value from `peer`; both must stay until the answer.
  void fetch(const PeerFetcher& fetcher, WorkerService& peer, std::string_view key,
             Cancellation* cancellation, Done<Delivery> done);
  // For a peer: what this task sends, whether the key says so or not.
  void receive_here(std::string_view key, Cancellation* cancellation, Done<Delivery> done);
  // Takes a value that is here already. Errors: those of LocalRendezvous::take.
  Result<Delivery> take(std::string_view key) { return local_.take(key); }

  // Receives that wait for this task or another, in order of keys.
  std::vector<LocalRendezvous::Wait> waits() const;

 private:
  struct Fetch;

  const int64_t step_id_;
  const Clock& clock_;
  LocalRendezvous local_;
  mutable Mutex mutex_;
  std::shared_ptr<const PeerFetcher> fetcher_ MR_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::shared_ptr<Fetch>> fetches_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
