// GroupSeat: one device's place in one group of collectives: what it has laid out for the other
// members, and who of them waits for what.
//
// The steps of the device that use the group are its rounds, numbered from 0 since the group was
// formed; all members count alike, so a piece of round 7 is never taken for one of round 8. A
// member whose step fails gives the round up and tells whoever waits for its pieces; the next round
// starts afresh. Who finds the other in a later round than its own, or can't reach it, has lost it:
// the group is given up then and formed anew.
// Every member's program hears of it, by the error of a step: what its variables stand for may have
// to be made equal again before the next one.
//
// Thread-safe; answers are given without a lock.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/base/mutex.h"
#include "millrace/op/rendezvous.h"
#include "millrace/op/resource.h"
#include "millrace/worker/group_book.h"
#include "millrace/worker/instance_id.h"
#include "millrace/worker/near_boxes.h"

namespace millrace {

class CollectiveRun;

// The name of a piece, as peers ask for it.
struct PieceName {
  std::string epoch;
  int64_t round = 0;
  InstanceId instance;
  std::string signature;  // what the asker brings to the instance
  std::string piece;
  std::string taker;  // device

  // Of which signatures are no part.
  std::string key() const {
    return str_cat(epoch, "/", round, "/", instance.text(), "/", piece, ">", taker);
  }
};

class GroupSeat : public std::enable_shared_from_this<GroupSeat> {
 public:
  GroupSeat(int64_t group_key, std::string device)
      : group_key_(group_key),
        device_(std::move(device)),
        round_name_(str_cat(group_key_, " ", device_)) {}

  int64_t group_key() const { return group_key_; }
  const std::string& device() const { return device_; }
  // Null while it is in none.
  std::shared_ptr<const CollectiveGroup> group() const;
  // The one that was given up last; empty, or null: none.
  std::string lost_epoch() const;
  std::shared_ptr<const CollectiveGroup> lost_group() const;

  // The group has been formed. True if that is news. Errors: why it was given up already.
  Result<bool> join(std::shared_ptr<const CollectiveGroup> group);
  // The group is of no use any more: ends what is under way in it. True if that is news.
  bool lose(const std::string& epoch, const Status& why);
  // The boxes of the present group; null if that is another one.
  std::shared_ptr<NearBoxes> near(const std::string& epoch) const;
  // From the next round on, pieces of that member are looked for in the box.
  void take_from(const std::string& epoch, size_t rank, std::unique_ptr<NearTaker> taker);
  // Ends everything.
  void close(const Status& why);

  // A step's part in the group: dropped with the step.
  class Round;
  // Where a run of a collective is: its group, and the boxes of that.
  struct Place {
    std::shared_ptr<const CollectiveGroup> group;
    std::shared_ptr<NearBoxes> near;
    int rank = -1;  // in the group; -1: it is none of its members
  };
  // The round of this step, which the step's resources keep.
  Result<std::shared_ptr<Round>> round_of(ResourceStore& step_resources);

  // A run begins in the step's round of the present group; a place without a group if there is
  // none, which the device has to come to first. `come_to`: the one that it has come to; null: none
  // yet. Errors: that the group was lost when no step of the device used it, so that this one,
  // which may count on what was there before, fails and tells; ABORTED if the group has changed
  // within the step, or since the device came to it; INVALID_ARGUMENT if the instance has run in
  // the step.
  Result<Place> enter(Round& round, const InstanceId& instance,
                      const std::shared_ptr<const std::string>& signature,
                      const CollectiveGroup* come_to = nullptr);
  // From now on the run hears of what ends it, and may lay out what peers ask for. Errors: ABORTED
  // if the group is given up.
  Status attend(const std::shared_ptr<CollectiveRun>& run, const CollectiveGroup& group);
  // For who attends. Errors, from the run's own step: none; what nobody may take any more is
  // dropped.
  void give(const std::shared_ptr<CollectiveRun>& run, const PieceName& name, Tensor tensor);
  // The members who have not taken yet what the run has laid out for them.
  std::set<std::string> untaken(const CollectiveRun& run) const;
  // A run that attends, or fails, is over: what it has laid out may not be taken any more; with an
  // error the round is given up.
  void leave(const CollectiveRun& run, int64_t round, const Status& how);

  // For a peer. Errors: ABORTED, or the other member's error, if the piece will never come;
  // OUT_OF_RANGE if this member is in a later round, or has given the group up; INVALID_ARGUMENT if
  // the two do not do the same in the instance.
  void take(const PieceName& name, Cancellation* cancellation, Done<Delivery> done);

 private:
  struct Waiter;
  struct Offer {
    Tensor tensor;
    std::shared_ptr<CollectiveRun> run;
    std::string taker = {};
  };
  using Answers = std::vector<std::pair<std::shared_ptr<Waiter>, Result<Delivery>>>;
  // What the device brings to the instances of a round.
  using Brought = absl::flat_hash_map<InstanceId, std::shared_ptr<const std::string>>;

  // What an error that ends a run of a step says of why the group is not what it was.
  Status changed(std::string_view how) MR_REQUIRES(mutex_);
  // The answer to who asks for a piece, if there is one already.
  std::optional<Result<Delivery>> answer_to(const PieceName& name,
                                            std::shared_ptr<CollectiveRun>* taken_from)
      MR_REQUIRES(mutex_);
  // Looks again at everybody who waits.
  Answers look_again() MR_REQUIRES(mutex_);
  static void answer(Answers answers);
  void give_up(Waiter& waiter, const Status& why);
  void round_ended(const std::string& epoch, int64_t round);

  const int64_t group_key_;
  const std::string device_;
  const std::string round_name_;  // among a step's resources

  mutable Mutex mutex_;
  Status closed_ MR_GUARDED_BY(mutex_);
  std::shared_ptr<const CollectiveGroup> group_ MR_GUARDED_BY(mutex_);
  std::deque<std::pair<std::string, Status>> lost_ MR_GUARDED_BY(mutex_);  // epochs, the last ones
  std::shared_ptr<const CollectiveGroup> lost_group_ MR_GUARDED_BY(mutex_);
  Status untold_ MR_GUARDED_BY(mutex_);           // a loss that no step has heard of; OK: none
  bool has_heard_ MR_GUARDED_BY(mutex_) = false;  // the last run has ended with ABORTED
  // Of the present group:
  int rank_ MR_GUARDED_BY(mutex_) = -1;
  std::shared_ptr<NearBoxes> near_ MR_GUARDED_BY(mutex_);
  int64_t next_round_ MR_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, Brought> open_ MR_GUARDED_BY(mutex_);     // rounds whose steps run
  std::map<int64_t, Status> given_up_ MR_GUARDED_BY(mutex_);  // the last ones, and why
  std::set<std::shared_ptr<CollectiveRun>> runs_ MR_GUARDED_BY(mutex_);
  std::map<std::string, Offer> offers_ MR_GUARDED_BY(mutex_);
  std::multimap<std::string, std::shared_ptr<Waiter>> waiters_ MR_GUARDED_BY(mutex_);
};

class GroupSeat::Round final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "collective round";
  explicit Round(std::shared_ptr<GroupSeat> seat) : seat_(std::move(seat)) {}
  ~Round() override;
  std::string description() const override { return "a round of collectives"; }
  // Which one it is. Stays once enter() has returned.
  int64_t number() const { return number_; }

 private:
  friend class GroupSeat;
  const std::shared_ptr<GroupSeat> seat_;
  // Written once, under the seat's lock:
  std::string epoch_;  // empty: it has not begun
  int64_t number_ = 0;
  Status doomed_;  // OK: it may begin
};

}  // namespace millrace
