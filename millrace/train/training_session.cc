#include "millrace/train/training_session.h"

#include <algorithm>
#include <utility>

#include "millrace/base/runner.h"
#include "millrace/session/server.h"
#include "millrace/train/hooks.h"

namespace millrace {
namespace {

// What a session fails with because a task is not there, or is there anew.
bool is_loss(const Status& status) {
  return status.code() == Code::aborted || status.code() == Code::unavailable;
}

std::shared_ptr<Runtime> chosen(std::shared_ptr<Runtime> given, const SessionTarget& target) {
  if (given) return given;
  return target.server() ? target.server()->runtime() : Runtime::create();
}

bool is_fed(const Session::Feeds& feeds, const std::string& name) {
  return std::ranges::any_of(feeds, [&](const NamedTensor& each) { return each.name == name; });
}

}  // namespace

Result<std::unique_ptr<TrainingSession>> TrainingSession::begin(const VariableScope& model,
                                                                const GraphBuilder& graph,
                                                                const SessionTarget& target,
                                                                TrainingOptions options,
                                                                std::shared_ptr<Runtime> runtime) {
  if (options.is_chief && !options.checkpoint_folder.empty() && !model.collections().global_step) {
    return failed_precondition("checkpoints in '", options.checkpoint_folder,
                               "' are named by the global step, and the model has none: "
                               "minimize(…, {.global_step = model.global_step()})");
  }
  std::shared_ptr<Runtime> used = chosen(std::move(runtime), target);
  std::unique_ptr<TrainingSession> made(
      new TrainingSession(model, graph, target, std::move(options), std::move(used)));
  MR_TRY(graph.status());
  if (made->saver_ && made->options_.saves_in_background) MR_TRY(made->saves_.start());
  for (;;) {
    Status done = made->connect();
    if (done.ok()) return made;
    MR_TRY(made->lose(std::move(done)));
  }
}

TrainingSession::TrainingSession(const VariableScope& model, const GraphBuilder& graph,
                                 SessionTarget target, TrainingOptions options,
                                 std::shared_ptr<Runtime> runtime)
    : graph_(graph),
      target_(std::move(target)),
      options_(std::move(options)),
      runtime_(std::move(runtime)),
      host_(runtime_->host()),
      first_(model),
      patience_(options_.patience) {
  const Collections& all = model.collections();
  if (options_.is_chief && !options_.checkpoint_folder.empty()) {
    saver_ = std::make_shared<Saver>(
        model, SaverOptions{.max_to_keep = options_.max_to_keep,
                            .background = options_.saves_in_background ? &saves_ : nullptr});
    options_.hooks.insert(
        options_.hooks.begin(),
        std::make_shared<SaveCheckpoints>(saver_, *all.global_step, options_.checkpoint_folder,
                                          options_.save_every));
  }
  if (!all.local_variables.empty())
    local_ = {variables_initializer(model, all.local_variables, "local_init").name()};
  for (const Operation& each : options_.begin) begins_.push_back(each.name());
}

TrainingSession::~TrainingSession() {
  if (saver_) saver_->settle();
}

// A session in which variables have values and hooks have begun.
Status TrainingSession::connect() {
  MR_ASSIGN(auto made, Session::create(target_, options_.session, runtime_));
  MR_TRY(made->extend(graph_));
  MR_TRY(give_values(*made));
  if (!local_.empty()) MR_TRY(made->run({}, {}, {.targets = local_}).status());
  if (!begins_.empty()) MR_TRY(made->run({}, {}, {.targets = begins_}).status());
  for (const auto& hook : options_.hooks) MR_TRY(hook->begin(*made, host_));
  session_ = std::move(made);
  was_there_ = true;
  return {};
}

Status TrainingSession::give_values(Session& session) {
  if (!options_.is_chief) return first_.wait(session, host_.clock, options_.patience);
  if (was_there_) {
    // A loss that left the parameters where they are costs no step.
    MR_ASSIGN(const std::string without, first_.missing(session));
    if (without.empty()) {
      host_.log.warning("the model has all its values: training goes on with them");
      return {};
    }
    host_.log.warning("the loss took the values of ", without);
  }
  MR_ASSIGN(const bool is_restored, restore(session));
  if (is_restored) return {};
  if (was_there_) host_.log.warning("there is no checkpoint to restore: all values begin anew");
  return first_.give_all(session);
}

// Whether there was a checkpoint.
Result<bool> TrainingSession::restore(Session& session) {
  if (!saver_) return false;
  const auto path = latest_checkpoint(host_.files, options_.checkpoint_folder);
  if (path.status().code() == Code::not_found) return false;
  MR_TRY(path.status());
  MR_TRY(saver_->restore(session, *path));
  MR_TRY(saver_->adopt(host_.files, options_.checkpoint_folder));
  host_.log.info("restored '", *path, "'");
  return true;
}

// Gives up the session that there is, and waits. An error if that is of no use.
Status TrainingSession::lose(Status cause) {
  if (!is_loss(cause)) return cause;
  if (saver_) saver_->settle();  // what it has taken may yet be saved
  session_.reset();
  if (should_stop()) return cause;
  const auto pause = patience_.failed(host_.clock.now());
  if (!pause) {
    host_.log.error("no new session for ", options_.patience.count() / 1000, " s, after ",
                    patience_.failures(), " tries");
    return cause;
  }
  host_.log.warning("the session was lost: ", cause.to_string(), ". A new one is made in ",
                    pause->count(), " ms (try ", patience_.failures(), ")");
  constexpr std::chrono::milliseconds kLookEvery{200};
  const Clock::Time end = host_.clock.now() + *pause;
  for (Clock::Time now = host_.clock.now(); now < end; now = host_.clock.now()) {
    if (should_stop()) return cause;
    CallerThread nobody;
    nobody.wait(std::min(end, now + kLookEvery));
  }
  return {};
}

Result<std::vector<Tensor>> TrainingSession::run(Session::Feeds feeds,
                                                 std::vector<std::string> fetches, RunArgs args) {
  if (should_stop()) return failed_precondition("a step after the end of training was asked for");
  for (;;) {
    Status done = session_ ? Status() : connect();
    if (done.ok()) {
      auto values = run_once(feeds, fetches, args);
      if (values.ok()) {
        patience_.succeeded();
        return values;
      }
      done = values.status();
    }
    MR_TRY(lose(std::move(done)));
  }
}

Result<std::vector<Tensor>> TrainingSession::run_once(const Session::Feeds& feeds,
                                                      const std::vector<std::string>& fetches,
                                                      const RunArgs& args) {
  Session::Feeds all_feeds = feeds;
  std::vector<std::string> all_fetches = fetches;
  std::vector<size_t> ends;  // of each hook's part of the fetches
  for (const auto& hook : options_.hooks) {
    StepWishes wishes = hook->wanted();
    for (NamedTensor& each : wishes.feeds) {
      if (is_fed(all_feeds, each.name)) {
        return invalid("'", each.name, "' is fed by a hook, and by the program or another hook");
      }
      all_feeds.push_back(std::move(each));
    }
    for (std::string& each : wishes.fetches) all_fetches.push_back(std::move(each));
    ends.push_back(all_fetches.size());
  }
  MR_ASSIGN(auto values, session_->run(std::move(all_feeds), std::move(all_fetches), args));
  size_t from = fetches.size();
  for (size_t i = 0; i < options_.hooks.size(); ++i) {
    const std::span<const Tensor> own = std::span(values).subspan(from, ends[i] - from);
    MR_ASSIGN(const AfterStep next, options_.hooks[i]->after_step(*session_, host_, own));
    if (next == AfterStep::stop) request_stop();
    from = ends[i];
  }
  values.resize(fetches.size());
  return values;
}

Status TrainingSession::end() {
  request_stop();
  if (!session_) return failed_precondition("the training has no session to end");
  const std::unique_ptr<Session> last = std::move(session_);
  for (const auto& hook : options_.hooks) MR_TRY(hook->end(*last, host_));
  return last->close();
}

}  // namespace millrace
