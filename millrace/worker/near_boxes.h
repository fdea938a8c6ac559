// NearBoxes: the boxes (near_box.h) of one device in one forming of a group: one for each member on
// the same machine that takes from it, and one for each that it takes from.
//
// The taker asks the giver for a box when it needs the first piece from there, by a name that the
// desk serves; pieces go the usual way until it has it. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/base/result.h"
#include "millrace/worker/group_book.h"
#include "millrace/worker/near_box.h"

namespace millrace {

class NearBoxes {
 public:
  // Of the member with this rank.
  NearBoxes(const CollectiveGroup& group, int rank);
  ~NearBoxes();
  NearBoxes(const NearBoxes&) = delete;
  NearBoxes& operator=(const NearBoxes&) = delete;

  // On this machine, and another task.
  bool is_near(size_t rank) const { return is_near_[rank]; }
  // Null if there is none (yet).
  NearGiver* to(size_t rank) const { return to_[rank].now.load(std::memory_order_acquire); }
  NearTaker* from(size_t rank) const { return from_[rank].now.load(std::memory_order_acquire); }

  // For a member who asks: where it finds the box that it is given pieces in. `token`: no other box
  // has it. Errors: UNAVAILABLE, also for who is not near.
  Result<std::string> make(size_t rank, uint64_t token);
  // For each piece that is taken another way: true if the member is to be asked for its box now.
  bool is_to_ask(size_t rank);
  // It had none to give: it may have by and by.
  void ask_again(size_t rank);
  // What the member has answered with. Errors: UNAVAILABLE, INVALID_ARGUMENT; then pieces go the
  // usual way.
  Result<std::unique_ptr<NearTaker>> opened(std::string_view address) const;
  // The rounds that begin from now on take from there. No round may begin while this runs.
  void take_from(size_t rank, std::unique_ptr<NearTaker> taker, int64_t first_round);
  // The rounds before this one are over.
  void past(int64_t round);

 private:
  struct To {
    std::unique_ptr<NearGiver> made;
    std::atomic<NearGiver*> now{nullptr};
  };
  struct From {
    std::atomic<uint32_t> taken{0}, ask_at{0}, asked{0};  // pieces; times
    std::unique_ptr<NearTaker> made;
    std::atomic<NearTaker*> now{nullptr};
  };
  std::vector<bool> is_near_;
  Mutex mutex_;  // of what is made
  std::vector<To> to_;
  std::vector<From> from_;
};

}  // namespace millrace
