// The application master's talk with the ResourceManager: who registers, asks again and again, and
// says farewell at last, whatever happens to the connection meanwhile. A part of local_master.h,
// whose poll loop calls it. Never waits; single-threaded.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/launch/yarn/application_master.h"
#include "millrace/launch/yarn/local_link.h"

namespace millrace {

// One that proves itself with the token, over a connection of its own.
HadoopLogin login_with(const std::string& protocol, HadoopToken token, Random& random);

class Heartbeat {
 public:
  struct Options {
    std::vector<std::string> schedulers = {};
    std::string host = {};
    int port = -1;  // where the job's folder is served; -1: nowhere
    HadoopToken token = {};
    const Clock& clock;
    Random& random;
  };
  explicit Heartbeat(Options options) : options_(std::move(options)) {}

  std::optional<pollfd> event() const;
  // When turn() is to be called, whatever happens before.
  Clock::Time wake_at(const ApplicationMaster& master) const;

  // Goes on with what is due: tells `master` what it hears, and asks what that wants. Returns what
  // the master wants done.
  std::vector<MasterAction> turn(ApplicationMaster& master);

  // Node tokens that have come, by which containers are started.
  std::optional<HadoopToken> token_of(const NodeAddress& node) const;

  bool is_registered() const { return was_registered_; }
  // From now on nothing is asked any more but to note the end, for a minute at most.
  void finish(FinalStatus status, std::string words);
  bool has_finished() const { return stage_ == Stage::over; }
  // Not OK: it makes no sense to go on, and why. UNAVAILABLE: nobody has answered for ten minutes;
  // DEADLINE_EXCEEDED: the end was not noted.
  const Status& fault() const { return fault_; }

 private:
  enum class Stage { registering, asking, finishing, over };

  Status connect();
  void call(ApplicationMaster& master);
  std::vector<MasterAction> take(const Result<std::string>& answer, ApplicationMaster& master);
  std::vector<MasterAction> take_allocation(std::string_view body, ApplicationMaster& master);
  std::vector<MasterAction> take_fault(const Status& fault, ApplicationMaster& master);
  std::vector<MasterAction> enter(ApplicationMaster& master);
  // The connection is over; another may do.
  void break_off(const Status& fault);
  // Tries the next ResourceManager in a moment, unless that has gone on for too long.
  void lose(const Status& why);

  const Options options_;
  Stage stage_ = Stage::registering;
  bool was_registered_ = false;
  std::optional<HadoopToken> new_token_;
  std::vector<std::pair<NodeAddress, HadoopToken>> node_tokens_;
  std::optional<HadoopLink> link_;
  size_t scheduler_ = 0;
  std::optional<int> asked_;  // the call that is not answered
  Stage asked_in_ = Stage::registering;
  Clock::Time answer_due_ = {};  // of it
  Clock::Time not_before_ = {};  // the next connection
  Clock::Time answered_at_ = {};
  std::optional<Clock::Time> silent_since_;
  bool is_finishing_ = false;
  Clock::Time farewell_due_ = {};
  FinalStatus final_status_ = FinalStatus::failed;
  std::string final_words_;
  Status fault_;
};

}  // namespace millrace
