// LocalRendezvous: a Rendezvous within one process.
//
// Any thread may call. Answers are given with no lock held, on the thread that brought the value,
// the abort or the cancellation. A channel that holds neither values nor receivers takes no memory,
// so a loop may use a new key in each iteration.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/op/rendezvous.h"

namespace millrace {

class LocalRendezvous final : public Rendezvous {
 public:
  // `clock` tells since when receivers wait; null: nobody will ask.
  explicit LocalRendezvous(const Clock* clock = nullptr);
  // Pending receives are answered with an error.
  ~LocalRendezvous() override;

  Status send(std::string_view key, Delivery delivery) override;
  void receive(std::string_view key, Cancellation* cancellation, Done<Delivery> done) override;
  void abort(const Status& why) override;

  // Takes a value that is there already. Errors: INTERNAL if there is none, or the abort's reason.
  Result<Delivery> take(std::string_view key);
  Status aborted() const;

  // True if there are neither values nor receivers.
  bool is_empty() const;

  // Receivers that wait, in order of keys.
  struct Wait {
    std::string key;
    Clock::Time since;  // the epoch without a clock
  };
  std::vector<Wait> waits() const;

 private:
  struct Waiter;
  using Values = absl::InlinedVector<Delivery, 1>;
  using Waiters = absl::InlinedVector<std::unique_ptr<Waiter>, 1>;
  using Channel = std::variant<Values, Waiters>;  // first in, first out; never empty

  // A key's text is long, so it is hashed once per operation, and not again when the table grows.
  struct Sought {
    std::string_view text;
    size_t hash;
  };
  struct Key {
    explicit Key(Sought sought) : text(sought.text), hash(sought.hash) {}
    operator Sought() const { return {text, hash}; }
    std::string text;
    size_t hash;
  };
  struct HashOf {
    using is_transparent = void;
    size_t operator()(Sought key) const { return key.hash; }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(Sought a, Sought b) const { return a.hash == b.hash && a.text == b.text; }
  };
  using Channels = absl::flat_hash_map<Key, Channel, HashOf, Same>;
  static Sought sought(std::string_view key);

  // The value at the head of the channel, taken away, or the abort's reason; nullopt if the
  // receiver has to wait.
  std::optional<Result<Delivery>> pop(Sought key) MR_REQUIRES(mutex_);
  void give_up(Waiter* waiter, const Status& why);

  const Clock* const clock_;
  mutable Mutex mutex_;
  Status aborted_ MR_GUARDED_BY(mutex_);
  Channels channels_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
