#include "millrace/master/partial_run.h"

#include <algorithm>
#include <utility>

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
      book_(step_->feeds, step_->fetches) {}

void PartialRun::run_leg(RunStepRequest request, const Call& call, Done<RunStepReply> done) {
  const std::shared_ptr<MasterSession> session = session_.lock();
  if (!session) {
    done(failed_precondition("Session is closed."));
    return;
  }
  const StepRequestNames names = names_of(request);
  auto booked = [&] {
    MutexLock lock(mutex_);
    return book_.on_leg(
        names, [&](const std::string& fetch) { return graph_.feeds_needed(fetch, step_->feeds); });
  }();
  const Leg leg = booked.ok() ? *booked : Leg::further;
  Done<RunStepReply> finish([self = shared_from_this(), session, leg,
                             done = std::move(done)](Result<RunStepReply> reply) mutable {
    self->leg_ended(session, leg, reply.status());
    done(std::move(reply));
  });
  if (!booked.ok()) {
    finish(booked.status());
    return;
  }
  std::vector<Tensor> feeds;
  for (NamedTensor& feed : request.feeds) feeds.push_back(std::move(feed.tensor));
  const auto kind = leg == Leg::last ? StepLeg::Kind::last_leg : StepLeg::Kind::leg;
  auto running = StepRun::start(session, leg_step(names), std::move(feeds), request.options, call,
                                std::move(finish), {.step_id = step_id_, .kind = kind});
  MutexLock lock(mutex_);
  std::erase_if(legs_, [](const auto& other) { return other.expired(); });
  legs_.push_back(std::move(running));
}

void PartialRun::leg_ended(const std::shared_ptr<MasterSession>& session, Leg leg,
                           const Status& status) {
  PartialRunBook::End end{};
  std::vector<std::weak_ptr<StepRun>> legs;
  {
    MutexLock lock(mutex_);
    end = book_.on_leg_ended(leg, status);
    if (end == PartialRunBook::End::clean_up) legs.swap(legs_);
  }
  if (end == PartialRunBook::End::not_yet) return;
  session->forget_partial_run(handle_);
  // Before the workers drop the step: what they say of that is no reason.
  const Status failed = status.with("another leg of the partial run failed");
  for (const auto& other : legs)
    if (auto running = other.lock(); running && !status.ok()) running->stop(failed);
  clean_up_step(session->context(), *step_, step_id_, session);
}

void PartialRun::abandon() {
  const auto session = session_.lock();
  if (!session) return;
  PartialRunBook::End end{};
  {
    MutexLock lock(mutex_);
    end = book_.on_session_closed();
  }
  if (end == PartialRunBook::End::clean_up)
    clean_up_step(session->context(), *step_, step_id_, session);
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

}  // namespace millrace
