// Succession: one life of one side of a state that two tasks hold: does what StandbySide says
// (cluster/standby.h), with threads, a clock, connections and a disk.
//
// At first it has the folder, and writes there what the owner sends. When this side is to serve
// (State::serves) it has let go of the folder; whoever has made it then begins a task whose state
// it follows (io::JournalFollower): each group goes to the other side while the disk is at it, and
// is acknowledged when both have it. When another one owns the state (State::over) that task has to
// end; the next life begins with another Succession.
//
// What happens is put into a queue and looked at by one thread at a time, where blocking is
// allowed. Thread-safe. Shared with who serves its calls; stop() has to be called.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "millrace/base/host.h"
#include "millrace/base/in_flight.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/standby_service.h"
#include "millrace/io/journal.h"
#include "millrace/session/standby_store.h"
#include "millrace/transport/transport.h"

namespace millrace {

struct SuccessionOptions {
  std::string state;      // "/job:ps/replica:0/task:0"
  std::string address;    // "host:port" of this side, where it is served
  std::string witness;    // of the task that is the witness
  std::string folder;     // of the state
  bool is_first = false;  // begins the first reign
  // How long the other side may be silent before the witness is asked, and how often it is told
  // something.
  std::chrono::milliseconds silence{1'000}, pulse{200};
};

class Succession final : public StandbyService,
                         public io::JournalFollower,
                         public std::enable_shared_from_this<Succession> {
 public:
  enum class State : uint8_t { stands_by, serves, over };

  // Waits for the disk. `on_change` is called when state() has changed, on any thread; it must not
  // block. `transport` and what `host` refers to outlive it.
  // Errors: those of StandbyStore::open(); FAILED_PRECONDITION if the host's files don't last.
  static Result<std::shared_ptr<Succession>> begin(const Host& host, Transport& transport,
                                                   SuccessionOptions options,
                                                   std::function<void()> on_change);

  State state() const { return state_.load(); }
  // Why it is over: OK if another side owns the state, so that this one may stand by in its next
  // life; else what forbids that this task goes on at all.
  Status why_over() const;
  // Ends what waits with `why`, and returns when nothing is under way. The task that it followed
  // has been stopped, or will be.
  void stop(const Status& why);

  void standby(StandbyParcel parcel, Call call, Done<void> done) override;

  void attach(io::Journal* journal) override;
  io::JournalGroup::Extent wants() override;
  std::string mark() override;
  void begins(io::JournalGroup group) override;
  void wrote(const Status& kept, Done<void> acknowledge) override;

 private:
  using Event = absl::AnyInvocable<void()>;

  Succession(const Host& host, Transport& transport, SuccessionOptions options,
             std::function<void()> on_change);

  // The queue.
  // False once it is stopped; the event never happens then.
  bool post(Event event);
  void run_events();
  void set_timer();
  void tick();

  // Events; and what they lead to.
  void lose_peer();
  void hear(StandbyParcel parcel);
  void note_begun(io::JournalGroup group);
  void note_wrote(Done<void> acknowledge);
  void act(const StandbySide::Actions& actions);
  void ask(const Term& wanted);
  void told(const Result<WitnessReply>& reply);
  void keep(const KeptStream& kept);
  void serve(const Term& term, const KeptStream& kept);
  void acknowledge(uint64_t last);
  Status lost() const;
  void end(const Status& why);
  bool is_over() const { return state() == State::over; }

  // To the other side.
  void send(StandbyMessage message);
  void send_records(const StandbyMessage& message, std::string records);
  void put_parcel(StandbyParcel parcel);
  void pump();
  void sent(const Status& status);
  void set_peer(const std::string& address);
  void want_all();

  const Host host_;
  Transport& transport_;
  const SuccessionOptions options_;
  const std::function<void()> on_change_;
  std::atomic<State> state_{State::stands_by};
  std::atomic<bool> follows_{false};    // somebody is to be told of changes
  std::atomic<bool> wants_all_{false};  // somebody is to be told of all
  std::atomic<uint64_t> since_{0}, last_{0};
  std::atomic<size_t> heard_bytes_{0};  // that nobody has looked at
  Cancellation cancellation_;           // of calls
  InFlight in_flight_;

  // Touched by begin(), then by events only.
  uint64_t identity_ = 0;                // of the store
  std::unique_ptr<StandbyStore> store_;  // null once it serves
  std::optional<StandbySide> side_;
  std::string peer_address_;  // empty: not known
  std::shared_ptr<StandbyService> peer_, witness_;
  std::deque<StandbyParcel> outbox_;  // the first is under way if is_sending_
  size_t outbox_bytes_ = 0;
  bool is_sending_ = false, is_asking_ = false;
  bool is_lost_ = false;                     // something that was said may be
  Clock::Time heard_at_;                     // of the other side
  StandbyParcel coming_;                     // parts that have come
  const StandbyParcel* incoming_ = nullptr;  // while it is acted upon
  io::JournalGroup* group_ = nullptr;        // likewise
  struct Waiting {
    uint64_t group = 0;
    Clock::Time since;
    Done<void> acknowledge;
  };
  std::deque<Waiting> waiting_;

  mutable Mutex mutex_;
  std::deque<Event> events_ MR_GUARDED_BY(mutex_);
  bool is_running_ MR_GUARDED_BY(mutex_) = false;
  bool is_stopped_ MR_GUARDED_BY(mutex_) = false;
  Status why_over_ MR_GUARDED_BY(mutex_);
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
  Mutex journal_mutex_;
  io::Journal* journal_ MR_GUARDED_BY(journal_mutex_) = nullptr;
};

}  // namespace millrace
