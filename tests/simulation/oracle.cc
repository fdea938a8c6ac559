#include "tests/simulation/oracle.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/network.h"

namespace millrace::simulation {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// A name that is not the beginning of another one: "task:1" is not in "task:12".
bool names(const std::string& text, const std::string& name) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at) {
    const size_t end = at + name.size();
    if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0) return true;
  }
  return false;
}

}  // namespace

void Oracle::know(const std::string& site, std::vector<std::string> names) {
  names_[site] = std::move(names);
  queues_[site];
}

void Oracle::heal(const std::string& site, Clock::Time now) {
  Strikes& strikes = strikes_[site];
  strikes.open = std::max(0, strikes.open - 1);
  strikes.last = now;
}

bool Oracle::was_struck(const std::string& site, Clock::Time from) const {
  const auto found = strikes_.find(site);
  return found != strikes_.end() && (found->second.open > 0 || found->second.last >= from);
}

std::vector<std::string> Oracle::named_in(const std::string& text) const {
  std::vector<std::string> found;
  for (const auto& [site, by] : names_)
    if (std::ranges::any_of(by, [&](const auto& name) { return names(text, name); }))
      found.push_back(site);
  return found;
}

std::string Oracle::complaint(const Asked& asked, const Status& error) const {
  const std::string& text = error.message();
  const auto wrong = [&](std::string_view why) {
    return str_cat(asked.what, " at ", asked.master, ": ", why, ": ", error.to_string());
  };
  // Connections are made anew some seconds after a fault has been healed, and tasks that were
  // frozen are heard of again.
  constexpr std::chrono::seconds kAfter{20};
  const auto needed_struck = [&](Clock::Time from) {
    return was_struck(asked.master, from - kAfter) ||
           std::ranges::any_of(asked.sites,
                               [&](const auto& site) { return was_struck(site, from - kAfter); });
  };
  if (asked.had_failed_leg && has(text, "another leg of the partial run failed")) return {};
  switch (error.code()) {
    case Code::deadline_exceeded:
      if (!asked.has_limit) return wrong("no time was set");
      if (has(text, "Timed out waiting for") || has(text, "before the deadline")) return {};
      return wrong("it does not say what was waited for");
    case Code::cancelled:
      if (asked.is_given_up || asked.is_ended) return {};
      if (has(text, "lost its connection") && needed_struck(asked.since)) return {};
      return wrong("nobody cancelled it");
    case Code::failed_precondition:
      if (has(text, "Session is closed.") && asked.is_ended) return {};
      if (has(text, "uninitialized value") && !asked.reads_at.empty())
        return may_be_unset(asked.reads_at, asked.life, asked.since) ? "" : wrong("it has a value");
      return wrong("not a state that it was brought to");
    case Code::aborted:
      if (asked.is_ended) return {};
      if (has(text, "is not found") || has(text, "incarnation") || has(text, "restarted") ||
          has(text, "cleared by a reset"))
        return needed_struck(asked.session_since) ? "" : wrong("nothing was lost");
      return wrong("it names no cause");
    case Code::unavailable: {
      if (asked.is_given_up) return {};
      const auto blamed = named_in(text);
      if (blamed.empty()) return wrong("it names nobody");
      // A connection that only one of two systems has given up breaks under whoever uses it next.
      const Clock::Duration after = has(text, "Connection reset by peer")
                                        ? Network::kClientKeepalive + kAfter
                                        : Clock::Duration(kAfter);
      for (const std::string& site : blamed)
        if (was_struck(site, asked.since - after)) return {};
      return wrong("whom it names nothing happened to");
    }
    case Code::invalid_argument:
      if (has(text, "Must run PartialRunSetup") && asked.had_failed_leg) return {};
      return wrong("nothing was wrong with it");
    default:
      return wrong("no error of this kind can come of what happened");
  }
}

// ---- Queues
// --------------------------------------------------------------------------------------

void Oracle::lose(const std::string& site) {
  Queue& queue = queues_[site];
  ++queue.life;
  queue.kept.clear();
  queue.lost = 0;
  for (auto& [id, assignment] : variables_[site]) assignment.answered.reset();
}

void Oracle::may_lose_all(Clock::Time until) {
  may_be_lost_until_ = std::max(may_be_lost_until_, until);
  for (auto& [site, queue] : queues_) queue.kept.clear();
  for (auto& [site, variable] : variables_)
    for (auto& [id, assignment] : variable) assignment.answered.reset();
}

void Oracle::sends(const std::string& site, int64_t id) { queues_[site].sent.insert(id); }

void Oracle::keeps(const std::string& site, int64_t id, uint64_t life, Clock::Time sent) {
  Queue& queue = queues_[site];
  if (queue.life == life && sent > may_be_lost_until_ && !queue.taken.contains(id))
    queue.kept.insert(id);
}

uint64_t Oracle::life(const std::string& site) const { return queues_.at(site).life; }

std::string Oracle::takes(const std::string& site, int64_t id) {
  Queue& queue = queues_[site];
  if (!queue.sent.contains(id)) return str_cat(site, " gave ", id, ", which nobody put there");
  if (!queue.taken.insert(id).second) return str_cat(site, " gave ", id, " twice");
  queue.kept.erase(id);
  return {};
}

void Oracle::may_take(const std::string& site) { ++queues_[site].lost; }

std::string Oracle::ends_with(const std::string& site, const std::vector<int64_t>& ids) {
  for (const int64_t id : ids)
    if (std::string wrong = takes(site, id); !wrong.empty()) return wrong;
  const Queue& queue = queues_[site];
  if (queue.kept.size() <= queue.lost) return {};
  return str_cat(site, " lost ", *queue.kept.begin(), " and ", queue.kept.size() - 1, " more, of ",
                 queue.sent.size(), "; at most ", queue.lost, " may have been taken");
}

// ---- Variables
// -----------------------------------------------------------------------------------

void Oracle::assigns(const std::string& site, int64_t id, Clock::Time now) {
  variables_[site][id].begun = now;
}

void Oracle::has_assigned(const std::string& site, int64_t id, uint64_t life, Clock::Time now) {
  Assignment& assignment = variables_[site].at(id);
  if (queues_.at(site).life == life && assignment.begun > may_be_lost_until_)
    assignment.answered = now;
}

bool Oracle::may_be_unset(const std::string& site, uint64_t life, Clock::Time since) const {
  if (queues_.at(site).life != life || since <= may_be_lost_until_) return true;
  const auto found = variables_.find(site);
  return found == variables_.end() || std::ranges::none_of(found->second, [&](const auto& known) {
           return known.second.answered && *known.second.answered < since;
         });
}

std::string Oracle::reads(const std::string& site, int64_t id, uint64_t life,
                          Clock::Time since) const {
  const auto found = variables_.find(site);
  if (found == variables_.end() || !found->second.contains(id))
    return str_cat(site, " has the value ", id, ", which nobody assigned");
  const auto& answered = found->second.at(id).answered;
  // One that failed may still be under way.
  if (!answered || queues_.at(site).life != life) return {};
  for (const auto& [later, assignment] : found->second) {
    if (assignment.answered && assignment.begun > *answered && *assignment.answered < since)
      return str_cat(site, " has the value ", id, ", although ", later, " was assigned since");
  }
  return {};
}

}  // namespace millrace::simulation
