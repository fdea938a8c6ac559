// TrainingSession: a session for training, with hooks, that is made anew when it is lost.
//
//   MR_ASSIGN(auto training,
//             TrainingSession::begin(model, graph, server->target(),
//                                    {.is_chief = task == 0,
//                                     .checkpoint_folder = "/models/digits",
//                                     .hooks = {std::make_shared<StopAtStep>(step, 10000)}}));
//   while (!training->should_stop())
//     MR_TRY(training->run(feeds, {loss.name(), train.name()}).status());
//   MR_TRY(training->end());
//
// What tf.train.MonitoredTrainingSession is in Python. The chief restores the newest checkpoint of
// its folder or, if there is none, gives variables their initial values, and saves; the others wait
// for it. A step that fails with ABORTED or UNAVAILABLE has lost a task: the cause is logged and
// the step is made again in a new session, after pauses that grow. For that one the chief leaves
// the values of variables that have outlasted the loss as they are, and restores or initializes all
// if some have not. A step that was lost may have been made: training that must count each step
// once asks for that (docs/design/once.md).
//
// One thread at a time, but for should_stop and request_stop. Calls block.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/thread_pool.h"
#include "millrace/session/session.h"
#include "millrace/train/first_values.h"
#include "millrace/train/patience.h"
#include "millrace/train/saver.h"
#include "millrace/train/step_timer.h"
#include "millrace/train/training_hook.h"
#include "millrace/train/variable_scope.h"

namespace millrace {

struct TrainingOptions {
  bool is_chief = true;
  // Of the chief: where checkpoints are, and go to. Empty: nowhere. Reached by the task that the
  // session's target is, and by this program.
  std::string checkpoint_folder = {};
  Every save_every = {.time = std::chrono::minutes(10)};
  int max_to_keep = 5;               // checkpoints; 0: all
  bool saves_in_background = false;  // steps go on while a checkpoint is written (Saver)
  // In the order in which they are asked and told.
  std::vector<std::shared_ptr<TrainingHook>> hooks = {};
  // Run in each session once variables have values, as SyncReplicasOptimizer::begin() wants.
  std::vector<Operation> begin = {};
  // How long losses in a row may go on, and others wait for the chief.
  std::chrono::milliseconds patience = std::chrono::hours(2);
  SessionOptions session = {};
};

class TrainingSession {
 public:
  // Adds what it needs to the model, which must be whole, and makes the first session. `graph` is
  // the model's; it outlives the session. `runtime` null: the server's, or a new one.
  // Errors: those of building; of restoring; FAILED_PRECONDITION for a checkpoint folder without a
  // global step; DEADLINE_EXCEEDED if the chief gave no values; the loss that outlasted patience.
  static Result<std::unique_ptr<TrainingSession>> begin(const VariableScope& model,
                                                        const GraphBuilder& graph,
                                                        const SessionTarget& target,
                                                        TrainingOptions options = {},
                                                        std::shared_ptr<Runtime> runtime = nullptr);
  // Closes the session, once a save that goes on is done. Hooks are not told: only end() does.
  ~TrainingSession();

  // A step with hooks. Errors: those of the step and of hooks; FAILED_PRECONDITION after an end.
  Result<std::vector<Tensor>> run(Session::Feeds feeds, std::vector<std::string> fetches,
                                  RunArgs args = {});
  // True once somebody asked for the end, which also ends the wait for a lost session: run() then
  // returns the loss.
  bool should_stop() const { return stops_.load(std::memory_order_relaxed); }
  void request_stop() { stops_.store(true, std::memory_order_relaxed); }
  // The last words of hooks, the last checkpoint among them; then the session is closed. A loss
  // meanwhile is an error.
  Status end();

  // For steps without hooks; another one after a loss, and null after one that patience did not
  // outlast, or the end.
  Session* session() { return session_.get(); }

 private:
  TrainingSession(const VariableScope& model, const GraphBuilder& graph, SessionTarget target,
                  TrainingOptions options, std::shared_ptr<Runtime> runtime);

  Status connect();
  Status give_values(Session& session);
  Result<bool> restore(Session& session);
  Status lose(Status cause);
  Result<std::vector<Tensor>> run_once(const Session::Feeds& feeds,
                                       const std::vector<std::string>& fetches,
                                       const RunArgs& args);

  const GraphBuilder& graph_;
  const SessionTarget target_;
  ThreadPool saves_{1, "mr-saves"};  // first of all that saves, which it outlives
  TrainingOptions options_;
  const std::shared_ptr<Runtime> runtime_;
  const Host host_;
  const FirstValues first_;
  std::shared_ptr<Saver> saver_;             // null: no checkpoints
  std::vector<std::string> local_, begins_;  // targets of each new session
  std::unique_ptr<Session> session_;         // null: the last one is lost
  bool was_there_ = false;                   // a session before this one
  Patience patience_;
  std::atomic<bool> stops_ = false;
};

}  // namespace millrace
