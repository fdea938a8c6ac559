// LocalRendezvous: a Rendezvous within one process.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "millrace/base/mutex.h"
#include "millrace/op/rendezvous.h"

namespace millrace {

class LocalRendezvous final : public Rendezvous {
 public:
  // Pending receives are answered with an error.
  ~LocalRendezvous() override;

  Status send(std::string_view key, Delivery delivery) override;
  void receive(std::string_view key, Cancellation* cancellation, Done<Delivery> done) override;
  void abort(const Status& why) override;

 private:
  struct Waiter;
  struct Channel {
    std::deque<Delivery> values;
    std::deque<std::shared_ptr<Waiter>> waiters;  // at most one of the two is not empty
  };

  Mutex mutex_;
  Status aborted_ MR_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Channel> channels_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
