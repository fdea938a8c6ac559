// Witness: who owns the states that two tasks hold (docs/design/standby.md), in a journal.
//
// Keeps one term for each state, with the address of its owner, and puts the next one in its place
// for whoever asks first. Whatever it answers is on its disk. Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/standby_service.h"
#include "millrace/io/journal.h"

namespace millrace {

class Witness final : public StandbyService,
                      private io::Journaled,
                      public std::enable_shared_from_this<Witness> {
 public:
  // How many states there may be.
  static constexpr size_t kMostStates = 4096;
  // How long who waits for news waits at most.
  static constexpr std::chrono::seconds kLongestWait{5};

  // Waits for the disk. Errors: as Journal::open(); FAILED_PRECONDITION if the host's files can't
  // be kept.
  static Result<std::shared_ptr<Witness>> open(const Host& host, const std::string& folder);
  ~Witness() override;

  // Errors: INVALID_ARGUMENT for a state that is no task's name, or a term without the owner's
  // address; RESOURCE_EXHAUSTED for more than kMostStates; those of the disk.
  void witness(WitnessRequest request, Call call, Done<WitnessReply> done) override;

 private:
  struct Known {
    TermBook book;
    std::string address;
    bool is_told = false;  // to the journal
  };
  struct Waiter {
    Done<WitnessReply> done;
    Timers::Timer late = {};
  };
  using Waiters = std::map<uint64_t, Waiter>;

  explicit Witness(const Host& host);
  Status put_all(io::RecordSink sink) override;
  Status put_changes(io::RecordSink sink) override;
  Status put(io::RecordSink sink) MR_REQUIRES(mutex_);
  Status replay(std::string_view record);
  Status take(const WitnessRequest& request, Waiters* heard) MR_REQUIRES(mutex_);
  WitnessReply reply(const std::string& state) const MR_REQUIRES(mutex_);
  void answer_when_kept(WitnessReply reply, Done<WitnessReply> done);
  void wait(Done<WitnessReply> done) MR_REQUIRES(mutex_);

  const Host host_;
  Mutex mutex_;
  std::map<std::string, Known> known_ MR_GUARDED_BY(mutex_);
  uint64_t version_ MR_GUARDED_BY(mutex_);
  uint64_t last_waiter_ MR_GUARDED_BY(mutex_) = 0;
  Waiters waiters_ MR_GUARDED_BY(mutex_);
  std::unique_ptr<io::Journal> journal_;  // set by open()
};

}  // namespace millrace
