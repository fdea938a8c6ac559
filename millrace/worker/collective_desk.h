// CollectiveDesk: what a task does for collectives. It gives its devices their place in groups,
// gets pieces for them from other tasks and serves those that others ask for; and if the task is
// the leader it keeps the book of all groups.
//
// Everything goes from task to task as RecvTensor does, because that is the quickest way of every
// transport: a peer asks for a tensor of the step kStep by a name that says what it wants
// (collective_words.h).
//
// One per worker, and with the resources of all its devices. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "millrace/base/host.h"
#include "millrace/base/in_flight.h"
#include "millrace/cluster/departures.h"
#include "millrace/cluster/member_workers.h"
#include "millrace/ops/collective/collectives.h"
#include "millrace/worker/group_book.h"
#include "millrace/worker/group_lead.h"
#include "millrace/worker/group_seat.h"
#include "millrace/worker/peer_fetcher.h"

namespace millrace {

class CollectiveDesk final : public Collectives,
                             public std::enable_shared_from_this<CollectiveDesk> {
 public:
  // Steps have ids of 57 bits; this is none of them.
  static constexpr int64_t kStep = int64_t{1} << 60;
  using Group = std::shared_ptr<const CollectiveGroup>;

  // What `host` and `in_flight` refer to, and `departures`, outlives what is under way.
  // `departures`: who has ended; null: nobody keeps that. `machine`: the word that tasks have in
  // common with which this one may share memory (base/shared_memory.h); empty: it does so with
  // none.
  CollectiveDesk(const TaskName& task, std::shared_ptr<MemberWorkers> members,
                 Departures* departures, std::string machine, const Host& host,
                 InFlight& in_flight);

  void begin(const CollectiveCall& call, KernelContext& context,
             Done<std::shared_ptr<Exchange>> done) override;
  std::string description() const override;
  void close(const Status& why) override;

  // A request of a peer, or of this task itself, whose key has been parsed. `cancellation` may be
  // null, and lives until the answer.
  void serve(const RendezvousKey::Parts& key, Cancellation* cancellation, Done<Delivery> done);

  // For runs. `cancellation` lives until the answer.
  const Host& host() const { return host_; }
  // Brings a device to its group and waits for the others.
  void come(const std::shared_ptr<GroupSeat>& seat, uint64_t incarnation, int64_t size,
            std::chrono::milliseconds timeout, Cancellation* cancellation, Done<Group> done);
  // Whether a group of so many can come together. Errors: FAILED_PRECONDITION if a task has ended
  // well that was in it when it came together last, or the one that leads: nobody comes from there,
  // unless another life of it does. Changes with each departure.
  Status outlook(const GroupSeat& seat, int64_t size) const;
  TaskWatch on_departure(std::function<void(const TaskName&)> hear);
  void find_source(const GroupSeat& seat, const CollectiveGroup& group, const std::string& instance,
                   bool is_source, Cancellation* cancellation, Done<int> done);
  void take(const GroupMember& from, int64_t group_key, const PieceName& name,
            Cancellation* cancellation, Done<Tensor> done);
  // Asks a member of the seat's group, which is near, for the box in which it lays pieces for it.
  void ask_for_box(const std::shared_ptr<GroupSeat>& seat, const CollectiveGroup& group, int rank);
  // The group is of no use any more; the leader tells the other members.
  void lose(GroupSeat& seat, const CollectiveGroup& group, const Status& why);

 private:
  struct Watch {
    std::string epoch;  // of the group whose end is waited for
    std::shared_ptr<Cancellation> cancellation;
  };

  std::shared_ptr<GroupSeat> seat(int64_t group_key, std::string_view device);
  std::shared_ptr<GroupSeat> seat_of(int64_t group_key, std::string_view device)
      MR_REQUIRES(mutex_);
  // Asks the task that a device is on; the leader by an empty device.
  void ask(std::string_view device, uint64_t incarnation, std::string_view asker,
           std::string_view name, Cancellation* cancellation, Done<Tensor> done);
  Result<TaskName> leader() const;
  // Waits for the end of the group, and gives it up then; not if it is the leader that ends, in
  // good order.
  void watch(const std::shared_ptr<GroupSeat>& seat, const Group& group);

  void serve_box(const GroupSeat& seat, const std::string& epoch, std::string_view asker,
                 Done<Delivery> done);

  const TaskName task_;
  const std::shared_ptr<MemberWorkers> members_;
  const std::string prefix_;  // of its devices' names
  Departures* const departures_;
  const std::string machine_;
  const Host host_;
  InFlight& in_flight_;
  const std::shared_ptr<GroupLead> lead_;

  Mutex mutex_;
  Status closed_ MR_GUARDED_BY(mutex_);
  std::map<int64_t, std::map<std::string, std::shared_ptr<GroupSeat>, std::less<>>>
      seats_ MR_GUARDED_BY(mutex_);  // by group and device
  std::map<GroupSeat*, Watch> watches_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
