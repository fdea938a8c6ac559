// StepRun: one step in flight.
//
// The shell around a StepTracker: starts every part, carries answers and ends of patience to the
// tracker, does what it says, and answers the client. It keeps itself alive while a part runs or is
// being cleaned up, and keeps its session open as long, even if the client has been answered; then
// its PreparedStep keeps it for the next step. Any thread.
//
// A step with a deadline does not use its caller's thread, which would hear of the deadline only
// when the kernel in hand is done; nor can the client be answered before a part that uses it ends.
// The parts get a deadline a little later, so that a worker ends them if its master is gone.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/cluster/services.h"
#include "millrace/master/early_end.h"
#include "millrace/master/prepared_step.h"
#include "millrace/master/step_tracker.h"

namespace millrace {

class MasterSession;

// The client's continuation: what it called decides the type of the answer.
using StepAnswer = std::variant<Done<RunStepReply>, Done<RunCallableReply>>;
void refuse(StepAnswer answer, Status why);

// Steps of one session that run, so that closing it can end them. An intrusive list: entering and
// leaving allocate nothing. Owned and guarded by the session.
struct RunningStep {
  RunningStep* previous = nullptr;
  RunningStep* next = nullptr;
};

// Which step the parts run: one of its own, or a leg of a partial run, which shares a step with
// other legs and leaves the cleaning up to it.
struct StepLeg {
  int64_t step_id = 0;  // 0: a new step
  enum class Kind : uint8_t { whole_step, leg, last_leg } kind = Kind::whole_step;
};

class StepRun final : public RunningStep,
                      public Pooled,
                      public std::enable_shared_from_this<StepRun> {
 public:
  // Starts the step; may answer inside this call. `feeds` are in the client's order. What is
  // returned may be over already.
  static std::weak_ptr<StepRun> start(std::shared_ptr<MasterSession> session,
                                      std::shared_ptr<const OrderedStep> ordered,
                                      std::vector<Tensor> feeds, const RunOptions& options,
                                      const Call& call, StepAnswer answer, StepLeg leg = {});

  // Use start().
  StepRun() = default;
  StepRun(const StepRun&) = delete;
  StepRun& operator=(const StepRun&) = delete;

  // Ends the step early with this outcome.
  void stop(Status why);

 private:
  // One part, so that its continuation needs one pointer only.
  struct Part {
    StepRun* run = nullptr;
    size_t index = 0;
  };

  // What its shared pointer does at the end.
  struct Recycle {
    void operator()(StepRun* run) const;
  };

  void begin(std::shared_ptr<MasterSession> session, std::shared_ptr<const OrderedStep> ordered,
             const RunOptions& options, StepAnswer answer, StepLeg leg);
  // Drops what belongs to the step that has ended.
  void rest();
  void run(std::vector<Tensor> feeds, const Call& call);
  void watch(const Call& call);
  void start_parts(std::vector<Tensor> feeds, Call call);
  void start_part(size_t index, std::vector<Tensor>& feeds, const Call& call);
  // Of what the client feeds. The only part takes it away.
  std::vector<Tensor> values_of(const PreparedPart& part, std::vector<Tensor>& feeds) const;
  std::string what() const { return str_cat("step ", leg_.step_id); }
  void replied(size_t index, Result<RunGraphReply> reply);
  // For the error of a step that takes too long: what it is to do, and which tasks still work on
  // it.
  std::string what_is_left() const MR_REQUIRES(mutex_);
  Status keep(const PreparedPart& part, RunGraphReply reply) MR_REQUIRES(mutex_);
  void perform(const StepTracker::Actions& actions);
  void be_patient();
  // Whether the client is told what this step cost.
  bool wants_costs(const PreparedStep& step) const;
  void tell_costs(RunMetadata& metadata) const;
  void answer();
  void end();
  void clean_up();

  // Set once per step, before the first part starts.
  std::shared_ptr<MasterSession> session_;
  std::shared_ptr<const OrderedStep> ordered_;
  RunOptions options_;
  bool costs_ = false;  // what it cost is told
  StepLeg leg_;
  bool is_listed_ = false;
  bool uses_caller_ = false;  // its thread
  std::optional<Clock::Time> deadline_;
  absl::InlinedVector<Part, 1> parts_;
  Cancellation cancellation_;  // of the parts
  StepAnswer answer_;          // used once, by whoever the tracker tells to

  Mutex mutex_;
  StepTracker tracker_ MR_GUARDED_BY(mutex_){std::span<const StepTracker::Part>()};
  std::optional<EarlyEnd> early_end_ MR_GUARDED_BY(mutex_);  // nothing: nobody can end it early
  Timers::Timer patience_ MR_GUARDED_BY(mutex_);
  std::vector<Tensor> fetched_ MR_GUARDED_BY(mutex_);  // in the order of the step
  RunMetadata metadata_ MR_GUARDED_BY(mutex_);
};

// Tells every worker of the step to drop what it keeps of it. Nobody waits for the answers; `keep`
// stays alive until they are there.
void clean_up_step(MasterContext& context, const PreparedStep& step, int64_t step_id,
                   const std::shared_ptr<const void>& keep);

}  // namespace millrace
