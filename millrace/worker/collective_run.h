// CollectiveRun: one run of one collective at one member, from when the op starts until what it has
// laid out is taken. Gets the group, and from the leader who sends; gets pieces from peers; ends by
// itself when the step is cancelled or the op's time is over. Keeps itself alive by its waits. Any
// thread.
//
// A run whose pieces all go through near boxes waits for nothing but a look, and is over before
// anybody could want to end it. So it attends to its step, its time and its seat only from the
// first piece on that goes another way.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "millrace/base/in_flight.h"
#include "millrace/ops/collective/collectives.h"
#include "millrace/worker/collective_desk.h"
#include "millrace/worker/group_seat.h"

namespace millrace {

class CollectiveRun final : public Exchange, public std::enable_shared_from_this<CollectiveRun> {
 public:
  CollectiveRun(std::shared_ptr<CollectiveDesk> desk, std::shared_ptr<GroupSeat> seat,
                CollectiveCall call, InFlight::Token token);

  // The context stays valid until `done` has an error, or end() has been answered.
  void begin(KernelContext& context, Done<std::shared_ptr<Exchange>> done);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->members.size()); }
  int source() const override { return source_; }
  bool is_near() const override { return group_->is_on_one_machine(); }
  std::string_view member(int rank) const override {
    return group_->members[static_cast<size_t>(rank)].device;
  }
  void give(int to, const Piece& piece, Tensor tensor) override;
  bool take_at_once(int from, const Piece& piece,
                    absl::FunctionRef<void(const Tensor&)> use) override;
  void take(int from, const Piece& piece, Done<Tensor> done) override;
  void fail(const Status& why) override;
  void end(Status how, Done<void> done) override;

  // From the seat: a piece waits to be taken, and has been.
  void laid_out();
  void taken();

 private:
  using Group = std::shared_ptr<const CollectiveGroup>;

  // From now on hears of what ends it.
  void attend();
  void watch_step() MR_REQUIRES(attending_);
  void start_timer(std::chrono::milliseconds grace, std::string what);
  void come();
  void has_come(Result<Group> group);
  void has_entered(GroupSeat::Place place, bool has_waited = false);
  void find_source();
  void begun(Status status);
  PieceName name_of(const Piece& piece, std::string_view taker, std::string signature) const;
  bool goes_near(int member, const Piece& piece) const;
  NearName near_name_of(const Piece& piece) const;
  // What of an error of the leader is told; the group is lost with it if it leads that no more.
  Status unled(const Status& status);
  // What of an error of a peer is told, and whether the group is lost with it.
  Status seen(int from, const Status& status);
  // After the own part: asks those who are slow to take what is laid out for them whether they
  // will.
  void ask_takers(int64_t round);
  void conclude();

  const std::shared_ptr<CollectiveDesk> desk_;
  const std::shared_ptr<GroupSeat> seat_;
  const CollectiveCall call_;
  const InFlight::Token token_;
  const Clock::Time started_;

  // Of begin(), one after the other:
  KernelContext* context_ = nullptr;
  InstanceId instance_;
  std::shared_ptr<GroupSeat::Round> round_;
  Done<std::shared_ptr<Exchange>> begun_;
  TaskWatch departures_;  // while it waits for the group
  Group group_;
  std::shared_ptr<NearBoxes> near_;
  uint64_t near_key_ = 0;  // of this instance
  int rank_ = 0, source_ = 0;
  bool entered_ = false;

  Cancellation stop_;

  Mutex attending_;
  bool is_watching_ MR_GUARDED_BY(attending_) = false;
  Cancellation::Registration from_step_ MR_GUARDED_BY(attending_);
  std::atomic<bool> attends_{false};

  Mutex mutex_;
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
  Status failed_ MR_GUARDED_BY(mutex_);
  int64_t laid_out_ MR_GUARDED_BY(mutex_) = 0;
  bool ended_ MR_GUARDED_BY(mutex_) = false;
  Done<void> end_ MR_GUARDED_BY(mutex_);
  Timers::Timer patience_ MR_GUARDED_BY(mutex_);  // then ask_takers()
  bool has_asked_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
