#include "millrace/master/partial_run.h"

#include <algorithm>
#include <utility>

#include "millrace/base/shown.h"
#include "millrace/master/master_session.h"
#include "millrace/master/step_run.h"

namespace millrace {

PartialRun::PartialRun(std::shared_ptr<MasterSession> session, std::string handle,
                       std::shared_ptr<const PreparedStep> step, const SessionGraph& graph)
    : session_(session),
      handle_(std::move(handle)),
      step_(std::move(step)),
      graph_(graph),
      step_id_(session->context().next_step_id()),
      feeds_to_come_(step_->feeds.begin(), step_->feeds.end()),
      fetches_to_go_(step_->fetches.begin(), step_->fetches.end()) {}

void PartialRun::run_leg(RunStepRequest request, const Call& call, Done<RunStepReply> done) {
  const std::shared_ptr<MasterSession> session = session_.lock();
  if (!session) {
    done(failed_precondition("Session is closed."));
    return;
  }
  auto leg = book(request);
  if (!leg.ok()) {
    end(session);
    done(leg.status());
    return;
  }
  Done<RunStepReply> finish([self = shared_from_this(), session, is_last = leg->is_last,
                             done = std::move(done)](Result<RunStepReply> reply) mutable {
    if (is_last || !reply.ok()) self->end(session);
    done(std::move(reply));
  });
  StepRun::start(
      session, leg->step, std::move(leg->feeds), request.options, call, std::move(finish),
      {.step_id = step_id_, .kind = leg->is_last ? StepLeg::Kind::last_leg : StepLeg::Kind::leg});
}

Result<PartialRun::Leg> PartialRun::book(RunStepRequest& request) {
  const StepRequestNames names = names_of(request);
  Leg leg;
  MutexLock lock(mutex_);
  if (!names.targets.empty())
    return invalid("a partial run takes its targets at setup; this leg names '",
                   shown(names.targets[0]), "'");
  for (const std::string& feed : names.feeds) {
    if (feeds_to_come_.erase(feed) > 0) continue;
    if (std::binary_search(step_->feeds.begin(), step_->feeds.end(), feed))
      return invalid("The feed ", shown(feed), " has already been fed.");
    return invalid("The feed ", shown(feed), " was not specified in partial_run_setup.");
  }
  for (const std::string& fetch : names.fetches) {
    MR_TRY(check_fetch(fetch));
    fetches_to_go_.erase(fetch);
  }
  leg.is_last = feeds_to_come_.empty() && fetches_to_go_.empty();
  leg.step = leg_step(names);
  for (NamedTensor& feed : request.feeds) leg.feeds.push_back(std::move(feed.tensor));
  return leg;
}

Status PartialRun::check_fetch(const std::string& fetch) {
  if (!fetches_to_go_.contains(fetch)) {
    if (std::binary_search(step_->fetches.begin(), step_->fetches.end(), fetch))
      return invalid("The fetch ", shown(fetch), " has already been fetched.");
    return invalid("The fetch ", shown(fetch), " was not specified in partial_run_setup.");
  }
  MR_ASSIGN(const std::vector<std::string> needed, graph_.feeds_needed(fetch, step_->feeds));
  for (const std::string& feed : needed) {
    if (feeds_to_come_.contains(feed)) {
      return invalid("Fetch ", fetch,
                     " can't be computed from the feeds that have been fed so far: ", feed,
                     " is missing.");
    }
  }
  return {};
}

// The step with only this leg's share of every part's transfers.
std::shared_ptr<const OrderedStep> PartialRun::leg_step(const StepRequestNames& names) const {
  auto step = std::make_shared<PreparedStep>();
  step->feeds = names.feeds;
  step->fetches = names.fetches;
  std::sort(step->feeds.begin(), step->feeds.end());
  std::sort(step->fetches.begin(), step->fetches.end());
  const auto place_in = [](const std::vector<std::string>& sorted, const std::string& name) {
    const auto found = std::lower_bound(sorted.begin(), sorted.end(), name);
    return found != sorted.end() && *found == name ? found - sorted.begin() : -1;
  };
  for (const PreparedPart& whole : step_->parts) {
    PreparedPart part = whole;
    auto keys = std::make_shared<StepKeys>();
    part.feeds.clear();
    part.fetches.clear();
    for (size_t i = 0; i < whole.feeds.size(); ++i) {
      const auto at = place_in(step->feeds, step_->feeds[whole.feeds[i]]);
      if (at < 0) continue;
      part.feeds.push_back(static_cast<uint32_t>(at));
      keys->send.push_back(whole.keys->send[i]);
    }
    for (size_t i = 0; i < whole.fetches.size(); ++i) {
      const auto at = place_in(step->fetches, step_->fetches[whole.fetches[i]]);
      if (at < 0) continue;
      part.fetches.push_back(static_cast<uint32_t>(at));
      keys->receive.push_back(whole.keys->receive[i]);
    }
    part.keys = std::move(keys);
    step->parts.push_back(std::move(part));
  }
  for (const PreparedPart& part : step->parts)
    step->tracked.push_back({part.worker_name, part.where});
  step->registration = step_->registration;
  return std::make_shared<const OrderedStep>(in_order_of(std::move(step), names));
}

void PartialRun::end(const std::shared_ptr<MasterSession>& session) {
  session->forget_partial_run(handle_);
  clean_up_step(session->context(), *step_, step_id_, session);
}

void PartialRun::abandon() {
  if (auto session = session_.lock()) clean_up_step(session->context(), *step_, step_id_, session);
}

}  // namespace millrace
