#include "millrace/worker/step_book.h"

#include <algorithm>

namespace millrace {

StepBook::Entry& StepBook::open(int64_t step, Actions* actions) {
  const auto [it, is_new] = entries_.try_emplace(step);
  if (is_new) {
    it->second.opening = ++opened_;
    actions->push_back({Action::Kind::open, {step, it->second.opening}});
  }
  return it->second;
}

StepBook::Entry* StepBook::find(const Visit& visit) {
  const auto it = entries_.find(visit.step);
  return it != entries_.end() && it->second.opening == visit.opening ? &it->second : nullptr;
}

StepBook::Visit StepBook::on_run(int64_t step, const std::string& session, Actions* actions) {
  Entry& entry = open(step, actions);
  entry.session = session;
  ++entry.running;
  return {step, entry.opening};
}

void StepBook::on_run_ended(const Visit& visit, Actions*) {
  if (Entry* entry = find(visit)) --entry->running;
}

StepBook::Visit StepBook::on_peer(int64_t step, Actions* actions) {
  Entry& entry = open(step, actions);
  ++entry.peers;
  return {step, entry.opening};
}

void StepBook::on_peer_answered(const Visit& visit, Actions* actions) {
  Entry* entry = find(visit);
  if (entry == nullptr) return;
  --entry->peers;
  forget_if_idle(visit, *entry, actions);
}

void StepBook::on_peer_gone(const Visit& visit, Actions* actions) {
  Entry* entry = find(visit);
  if (entry == nullptr) return;
  --entry->peers;
  if (!entry->session.empty() && !entry->is_doomed) {
    entry->is_doomed = true;
    actions->push_back({Action::Kind::abort_later, visit});
  }
  forget_if_idle(visit, *entry, actions);
}

void StepBook::forget_if_idle(const Visit& visit, const Entry& entry, Actions* actions) {
  if (!entry.session.empty() || entry.peers > 0) return;
  entries_.erase(visit.step);
  actions->push_back({Action::Kind::forget, visit});
}

void StepBook::on_abort_due(const Visit& visit, Actions* actions) {
  if (find(visit) == nullptr) return;
  actions->push_back(
      {Action::Kind::abort, visit,
       aborted("Step ", visit.step, " cancelled.  Cancelling rendezvous.").as_consequence()});
}

void StepBook::on_cleanup(int64_t step, Actions* actions) {
  const auto it = entries_.find(step);
  if (it == entries_.end()) return;
  const Visit visit{step, it->second.opening};
  const bool is_idle = it->second.running == 0 && it->second.peers == 0;
  entries_.erase(it);
  if (!is_idle)
    actions->push_back({Action::Kind::abort, visit, aborted("Cleanup ", step).as_consequence()});
  actions->push_back({Action::Kind::forget, visit});
}

void StepBook::on_session_closed(const std::string& session, Actions* actions) {
  std::vector<Visit> steps;
  for (const auto& [step, entry] : entries_)
    if (entry.session == session) steps.push_back({step, entry.opening});
  std::ranges::sort(steps, {}, &Visit::step);
  for (const Visit& visit : steps) {
    entries_.erase(visit.step);
    actions->push_back(
        {Action::Kind::abort, visit,
         aborted("The session of step ", visit.step, " was closed.").as_consequence()});
    actions->push_back({Action::Kind::forget, visit});
  }
}

std::vector<std::string> StepBook::describe() const {
  std::vector<std::pair<int64_t, std::string>> lines;
  for (const auto& [step, entry] : entries_) {
    lines.emplace_back(step, str_cat("step ", step,
                                     entry.session.empty() ? std::string()
                                                           : str_cat(" of session ", entry.session),
                                     ": ", entry.running, " running, ", entry.peers, " peers"));
  }
  std::ranges::sort(lines);
  std::vector<std::string> texts;
  for (auto& [step, line] : lines) texts.push_back(std::move(line));
  return texts;
}

std::string to_string(const StepBook::Action& action) {
  switch (action.kind) {
    case StepBook::Action::Kind::open:
      return str_cat("open ", action.visit.step);
    case StepBook::Action::Kind::forget:
      return str_cat("forget ", action.visit.step);
    case StepBook::Action::Kind::abort:
      return str_cat("abort ", action.visit.step, ": ", action.why.to_string());
    case StepBook::Action::Kind::abort_later:
      return str_cat("abort later ", action.visit.step);
  }
  return {};
}

}  // namespace millrace
