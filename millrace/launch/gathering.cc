#include "millrace/launch/gathering.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "millrace/cluster/environment.h"
#include "millrace/cluster/task_record.h"
#include "millrace/launch/shared_secret.h"

namespace millrace {
namespace {

constexpr size_t kMostNamed = 8;

std::vector<Gathering::Action> refuse(Gathering::Connection who, std::string why) {
  return {Gathering::Tell{who, to_line(ArrivalAnswer(NotWanted{std::move(why)}))},
          Gathering::HangUp{who}};
}

}  // namespace

Gathering::Gathering(const JobSpec& job, std::string token, Absent absent)
    : job_(job), token_(std::move(token)), absent_(absent) {
  for (size_t role = 0; role < job_.roles.size(); ++role) {
    for (int index = 0; index < most_of(job_.roles[role]); ++index) {
      const TaskName task{job_.roles[role].name, 0, index};
      by_name_[short_name(task)] = places_.size();
      places_.push_back({.task = task, .role = role, .is_absent = index >= job_.roles[role].count});
    }
  }
}

std::vector<Gathering::Action> Gathering::said(Connection from, std::string_view line) {
  if (auto place = by_connection_.find(from); place != by_connection_.end()) {
    // Before the start nobody has anything more to say.
    if (!started_) return {};
    return {Recorded{place->second, std::string(line)}};
  }
  const Result<Arrival> arrival = parse_arrival(line);
  if (!arrival.ok()) return refuse(from, arrival.status().message());
  return arrived(from, *arrival);
}

std::vector<Gathering::Action> Gathering::arrived(Connection from, const Arrival& arrival) {
  if (!is_same_secret(arrival.token, token_))
    return refuse(from, "the token is not that of this job");
  const std::string name = short_name(arrival.task);
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) return refuse(from, str_cat("the job has no task ", name));
  Place& place = places_[known->second];
  if (place.may_come_again) return came_again(from, arrival, known->second);
  if (!place.address.empty())
    return refuse(from, str_cat(name, " has come already, at ", place.address));
  // The port of one that has left may be given to another.
  if (is_taken(arrival.address)) return {Tell{from, to_line(ArrivalAnswer(TakenAddress{}))}};
  place.address = arrival.address;
  place.is_announced = place.is_absent && absent_ == Absent::announce;
  ++num_there_;
  std::vector<Action> actions = {
      Came{known->second, place.address, arrival.machine, arrival.guests}};
  if (place.is_announced) {
    actions.push_back(Tell{from, to_line(ArrivalAnswer(LeavePlace{}))});
    actions.push_back(HangUp{from});
  } else {
    place.connection = from;
    by_connection_[from] = known->second;
  }
  if (complete()) {
    std::ranges::move(start_all(), std::back_inserter(actions));
  } else if (!place.is_announced) {
    actions.push_back(Tell{from, to_line(ArrivalAnswer(missing(kMostNamed)))});
  }
  return actions;
}

bool Gathering::is_taken(const std::string& address) const {
  return absent_ == Absent::announce &&
         std::ranges::find(places_, address, &Place::address) != places_.end();
}

std::vector<Gathering::Action> Gathering::begins(size_t task, int attempt, ForNow for_now) {
  Place& place = places_[task];
  place.attempt = attempt;
  place.is_absent = for_now == ForNow::holds;
  place.may_come_again = started_ || place.is_announced;
  if (place.connection < 0) return {};
  // Of a machine that was lost, say: nothing that comes over it is of the next attempt.
  std::vector<Action> actions = {HangUp{place.connection}};
  std::ranges::move(left(place.connection), std::back_inserter(actions));
  return actions;
}

std::vector<Gathering::Action> Gathering::came_again(Connection from, const Arrival& arrival,
                                                     size_t task) {
  Place& place = places_[task];
  if (arrival.address != place.address)
    return {Tell{from, to_line(ArrivalAnswer(BeThere{place.address}))}};
  place.connection = from;
  place.may_come_again = false;
  by_connection_[from] = task;
  return {Came{task, place.address, arrival.machine, arrival.guests},
          started_ ? told(place) : Tell{from, to_line(ArrivalAnswer(missing(kMostNamed)))}};
}

AllThere Gathering::all_there(const Place& place) const {
  AllThere all;
  for (const Place& other : places_)
    // The names are those of a job that was checked, the addresses were parsed.
    (void)all.cluster.add_task(other.task.job, other.task.task, other.address);
  all.environment = environment_of(job_, job_.roles[place.role]);
  all.environment.emplace_back(kAttemptVariable, std::to_string(place.attempt));
  return all;
}

std::vector<Gathering::Action> Gathering::wanted(size_t task) {
  Place& place = places_[task];
  place.is_absent = false;
  // Who has not come yet is told then.
  if (!started_ || place.connection < 0) return {};
  return {told(place)};
}

Gathering::Action Gathering::told(const Place& place) const {
  if (place.is_absent) return Tell{place.connection, to_line(ArrivalAnswer(HoldPlace{}))};
  return Tell{place.connection, to_line(ArrivalAnswer(all_there(place)))};
}

std::vector<Gathering::Action> Gathering::start_all() {
  started_ = true;
  std::vector<Action> actions;
  // One line for a whole role, but for those that come a second time: that of a large job is long.
  std::string line;
  std::optional<size_t> role;
  for (const Place& place : places_) {
    if (place.connection < 0) continue;
    if (place.attempt > 1 || place.is_absent) {
      actions.push_back(told(place));
      continue;
    }
    if (role != place.role) line = to_line(ArrivalAnswer(all_there(place)));
    role = place.role;
    actions.push_back(Tell{place.connection, line});
  }
  actions.push_back(Note{str_cat("all ", places_.size(), " tasks are there")});
  return actions;
}

std::vector<Gathering::Action> Gathering::left(Connection who) {
  auto found = by_connection_.find(who);
  if (found == by_connection_.end()) return {};
  const size_t task = found->second;
  Place& place = places_[task];
  place.connection = -1;
  by_connection_.erase(found);
  // Later its end is told by its process: the others have its address.
  if (started_ || place.is_announced) return {};
  --num_there_;
  place.address.clear();
  return {Came{task, ""},
          Note{str_cat(short_name(place.task), " went away before all were there")}};
}

std::vector<Gathering::Action> Gathering::remind() const {
  std::vector<Action> actions;
  if (started_) return actions;
  for (const auto& [connection, place] : by_connection_)
    actions.push_back(Tell{connection, to_line(ArrivalAnswer(missing(kMostNamed)))});
  return actions;
}

StillMissing Gathering::missing(size_t most) const {
  StillMissing missing;
  for (const Place& place : places_) {
    if (!place.address.empty()) continue;
    if (missing.tasks.size() < most) {
      missing.tasks.push_back(short_name(place.task));
    } else {
      ++missing.more;
    }
  }
  return missing;
}

}  // namespace millrace
