#include "millrace/worker/partial_step_book.h"

#include <utility>

namespace millrace {

PartialStepBook::Leg PartialStepBook::on_leg(size_t values, Kind kind) {
  const Leg leg = next_++;
  // One more, so that the leg is not over before all of it has begun.
  legs_[leg].missing = values + 1;
  receiving_ += values;
  ++beginning_;
  if (kind == Kind::last && !has_ended()) wait_for_end(leg);
  return leg;
}

PartialStepBook::Actions PartialStepBook::on_leg_begun(Leg leg) {
  Actions actions;
  --beginning_;
  // Its call may be over before it begins. Even if it asks for nothing here it must not be answered
  // OK: its master would think that the step goes on, and the next leg would be told why it does
  // not.
  if (!stopped_.ok() && !has_ended()) spoil(leg, stopped_.status());
  end_if_stuck(&actions);
  one_less(leg, &actions);
  return actions;
}

PartialStepBook::Actions PartialStepBook::on_received(Leg leg, Status status) {
  Actions actions;
  --receiving_;
  if (!status.ok()) fail(leg, std::move(status), &actions);
  one_less(leg, &actions);
  return actions;
}

PartialStepBook::Actions PartialStepBook::on_send_failed(Leg leg, Status why) {
  Actions actions;
  fail(leg, std::move(why), &actions);
  return actions;
}

PartialStepBook::Actions PartialStepBook::on_piece_ended(Status status) {
  Actions actions;
  status_.add(std::move(status));
  if (--running_ > 0) return actions;
  // A kernel says that it was cancelled; what matters is what for.
  if (!status_.ok()) status_.add(stopped_.status());
  actions.has_ended = true;
  end_if_stuck(&actions);
  for (const Leg leg : std::exchange(waiting_for_end_, {})) one_less(leg, &actions);
  return actions;
}

PartialStepBook::Actions PartialStepBook::on_stop(const Status& why) {
  Actions actions;
  stop(why, &actions);
  return actions;
}

void PartialStepBook::wait_for_end(Leg leg) {
  ++legs_[leg].missing;
  waiting_for_end_.push_back(leg);
}

void PartialStepBook::fail(Leg leg, Status why, Actions* actions) {
  stop(why.as_consequence(), actions);
  spoil(leg, std::move(why));
}

void PartialStepBook::spoil(Leg leg, Status why) {
  FirstCause& failure = legs_[leg].failure;
  if (failure.ok() && !has_ended()) wait_for_end(leg);
  failure.add(std::move(why));
}

void PartialStepBook::stop(const Status& why, Actions* actions) {
  stopped_.add(why);
  if (!has_ended()) actions->cancel = why;
}

void PartialStepBook::one_less(Leg leg, Actions* actions) {
  const auto found = legs_.find(leg);
  if (--found->second.missing > 0) return;
  FirstCause failure = has_ended() ? status_ : FirstCause();
  failure.add(found->second.failure.status());
  legs_.erase(found);
  actions->answers.push_back({leg, failure.status()});
}

void PartialStepBook::end_if_stuck(Actions* actions) const {
  actions->abort_receives = has_ended() && beginning_ == 0 && receiving_ > 0;
}

}  // namespace millrace
