#include "millrace/master/creation_tracker.h"

#include <algorithm>
#include <utility>

#include "millrace/base/first_cause.h"

namespace millrace {

CreationTracker::Next CreationTracker::fail(Status why, Next next) {
  outcome_ = std::move(why);
  return next;
}

CreationTracker::Next CreationTracker::on_request(Status fault) {
  return fault.ok() ? Next::call_the_roll : fail(std::move(fault), Next::answer);
}

CreationTracker::Next CreationTracker::on_present(Result<std::vector<Member>> members) {
  if (!members.ok()) return fail(members.status(), Next::answer);
  members_ = std::move(members).value();
  takes_part_.assign(members_.size(), true);
  answers_.resize(members_.size());
  missing_ = members_.size();
  return Next::place;
}

CreationTracker::Next CreationTracker::on_placed(Status status) {
  if (is_created_) return status.ok() ? Next::answer : fail(std::move(status), Next::forget);
  return status.ok() ? Next::create : fail(std::move(status), Next::answer);
}

CreationTracker::Next CreationTracker::on_created(size_t index, Status status, Roll::Life life) {
  const Member& member = members_[index];
  // It was there a moment ago; whatever it says now, it is not needed.
  if (!status.ok() && life == Roll::Life::has_ended) {
    takes_part_[index] = false;
  } else {
    answers_[index] = status.with(
        str_cat("creating the session at ", member.task.to_string(), " (", member.address, ")"));
  }
  return --missing_ == 0 ? all_created() : Next::nothing;
}

CreationTracker::Next CreationTracker::all_created() {
  is_created_ = true;
  // The client's own reason, not what a cancelled call says of it.
  Status status = stopped_.ok() ? first_cause(answers_) : stopped_;
  if (!status.ok()) return fail(std::move(status), Next::forget);
  const bool all_take_part =
      std::find(takes_part_.begin(), takes_part_.end(), false) == takes_part_.end();
  return all_take_part ? Next::answer : Next::place;
}

void CreationTracker::on_stop(Status why) {
  if (stopped_.ok()) stopped_ = std::move(why);
}

}  // namespace millrace
