// LastingSession: sessions of one master that follow each other and are one to their client, so
// that it outlasts tasks that keep their state (docs/design/durable.md).
//
//   whole -- a step has failed --> between lives: another session is asked for, whose creation
//   waits
//     ^                                 |         until all tasks are there
//     |-- all is there: the next life --|
//     |-- not in time: this life -------|-- a task came back without what it had --> lost
//
// It keeps what sessions are made of (options, graph), and knows the devices of each life. Whoever
// makes steps asks for the life that there is, and says when a step of it has failed;
// lasting_step.h does both. Kept by who uses it, and by what is under way. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"

#include "millrace/base/host.h"
#include "millrace/base/in_flight.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"
#include "millrace/op/registry.h"

namespace millrace {

class LastingSession final : public std::enable_shared_from_this<LastingSession> {
 public:
  // One session of the master.
  struct Life {
    uint64_t number = 0;  // from 1
    std::string handle = {};
  };
  // What becomes of what the life before has borrowed from queues: goes back when it is closed, at
  // once, or at let_go_of_earlier().
  enum class Earlier : uint8_t { close, keep };

  // `asked`: with what the first session is created. What is given otherwise outlives this, but for
  // `under_way`, which waits for what it counts. A life is waited for no longer than `patience`.
  LastingSession(MasterService& master, const OpRegistry& ops, const Host& host,
                 InFlight& under_way, Clock::Duration patience, CreateSessionRequest asked);

  // The first session is there. Answers with whether the session can last: whether any of its tasks
  // keeps its state. If it can't, it is of no use any more.
  void begin(const CreateSessionReply& made, const Call& call, Done<bool> done);

  // The life that there is; answers at once but between two lives.
  void life(const Call& call, Done<Life> done);
  // A step of that life has failed. Answers OK when there is a life in which to make it again;
  // `why`, with a word why not, if there is none. `why` alone if no task was lost.
  void failed(uint64_t life, Status why, Earlier earlier, const Call& call, Done<void> done);
  // What earlier lives have borrowed is not needed any more.
  void let_go_of_earlier();

  // As MasterService; its client's versions of the graph go on.
  void extend(ExtendSessionRequest request, Call call, Done<ExtendSessionReply> done);

  // The client closes it.
  void close(const Call& call, Done<void> done);
  // Nothing is waited for any more, and no life follows this one.
  void end();

 private:
  struct Waiter;
  using Settled = absl::AnyInvocable<void()>;

  std::shared_ptr<Waiter> wait(Status why, const Call& call, Done<void> done);
  void begin_renewal_if_due();
  void renew();
  void renewed(Result<CreateSessionReply> made);
  // Whether it is tried again, after a pause: another task may have died meanwhile.
  bool tries_again(const Status& why_not);
  void compared(const CreateSessionReply& made, Result<ListDevicesReply> devices);
  // Ends the time between two lives: by the next one, after something was lost or not; or not.
  enum class Found : uint8_t { lost, whole, nothing };
  void settle(Found found, const Status& why_not = {});
  void close_life(std::string handle);

  MasterService& master_;
  const OpRegistry& ops_;
  const Host& host_;
  InFlight& under_way_;
  const Clock::Duration patience_;
  const SessionOptions options_;
  const std::string target_;
  Cancellation ending_;

  Mutex mutex_;
  wire::GraphDef graph_ MR_GUARDED_BY(mutex_);
  Life life_ MR_GUARDED_BY(mutex_);
  std::vector<DeviceAttributes> devices_ MR_GUARDED_BY(mutex_);
  int64_t version_ MR_GUARDED_BY(mutex_) = 0;  // of the graph, as the client counts
  int64_t offset_ MR_GUARDED_BY(mutex_) = 0;   // of that from the master's
  size_t extending_ MR_GUARDED_BY(mutex_) = 0;
  bool is_between_ MR_GUARDED_BY(mutex_) = false;  // two lives, or about to be
  bool is_renewing_ MR_GUARDED_BY(mutex_) = false;
  bool closes_earlier_ MR_GUARDED_BY(mutex_) = false;  // with the next life
  Clock::Time until_ MR_GUARDED_BY(mutex_) = {};       // the next life is waited for
  bool is_pausing_ MR_GUARDED_BY(mutex_) = false;      // before the next try
  Timers::Timer pause_ MR_GUARDED_BY(mutex_);
  bool is_over_ MR_GUARDED_BY(mutex_) = false;
  Status lost_ MR_GUARDED_BY(mutex_);  // not OK: it can't go on any more
  std::vector<std::shared_ptr<Waiter>> waiting_ MR_GUARDED_BY(mutex_);
  std::vector<Settled> settled_ MR_GUARDED_BY(mutex_);  // what else goes on then
  std::vector<std::string> earlier_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
