// HeldLeases: the leases that a step is made under on one task, where the step's updates find them.
//
// There are two at most (plan/lease_updates.h): the one that the step was given, and the one that
// its own dequeue took. Each is written once in a step, by a _HoldLease node that goes before the
// updates which read it. Kept from step to step: `clear` empties it, and a lease that is held then
// takes the place of the last one.
#pragma once

#include <array>
#include <atomic>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/ops/state/lease.h"

namespace millrace {

class HeldLeases {
 public:
  enum class As : uint8_t { before, after };

  // As what a node of the planner's says it. Errors: INVALID_ARGUMENT for other names.
  static Result<As> named(std::string_view name) {
    if (name == "before") return As::before;
    if (name == "after") return As::after;
    return invalid("a step holds a lease as 'before' or 'after', not as '", name, "'");
  }

  // Errors: as decode_lease; ALREADY_EXISTS if one is held as that.
  Status hold(As as, std::string_view bytes) {
    Place& place = places_[static_cast<size_t>(as)];
    if (place.is_held.exchange(true, std::memory_order_relaxed))
      return error(Code::already_exists, "the step holds two leases in one place");
    MR_TRY(decode_lease(bytes, place.lease));
    place.is_read.store(true, std::memory_order_release);
    return {};
  }

  // Null if none is held as that. Stays until clear().
  const Lease* find(As as) const {
    const Place& place = places_[static_cast<size_t>(as)];
    return place.is_read.load(std::memory_order_acquire) ? &place.lease : nullptr;
  }

  // While nobody uses it.
  void clear() {
    for (Place& place : places_) {
      place.is_held.store(false, std::memory_order_relaxed);
      place.is_read.store(false, std::memory_order_relaxed);
      if (place.lease.open.capacity() > kMostKept) place.lease.open = {};
    }
  }

 private:
  static constexpr size_t kMostKept = 1'000;  // numbers, of the room that one lease leaves the next

  struct Place {
    std::atomic<bool> is_held{false};
    std::atomic<bool> is_read{false};  // it was decoded well
    Lease lease;
  };
  std::array<Place, 2> places_;
};

}  // namespace millrace
