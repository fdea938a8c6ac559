#include "millrace/launch/yarn/application_master.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr int kMostStarts = 3;

}  // namespace

std::vector<MasterAction> ApplicationMaster::on(const MasterEvent& event) {
  Actions actions;
  std::visit([&](const auto& it) { take(it, actions); }, event);
  return actions;
}

const AllocateRequest& ApplicationMaster::next_request() {
  if (said_) return *said_;
  said_.emplace();
  said_->response_id = response_id_;
  said_->given_back = std::exchange(given_back_, {});
  for (const int priority : std::exchange(changed_, {}))
    said_->asks.push_back({.wish = wishes_[priority], .count = num_waiting(priority)});
  return *said_;
}

bool ApplicationMaster::is_eager() const {
  return !changed_.empty() || !given_back_.empty() ||
         std::ranges::any_of(errands_, [](const auto& entry) {
           return entry.second.stage != Stage::running || entry.second.is_ending;
         });
}

void ApplicationMaster::take(const Wanted& event, Actions& actions) {
  if (abandoned_) return actions.push_back(TellEnd{event.errand, *abandoned_});
  errands_[event.errand] = {.wish = event.wish};
  wishes_[event.wish.priority] = event.wish;
  changed_.insert(event.wish.priority);
}

void ApplicationMaster::take(const EndWished& event, Actions& actions) {
  const auto found = errands_.find(event.errand);
  if (found == errands_.end() || found->second.is_ending) return;
  Errand& errand = found->second;
  errand.is_ending = true;
  if (errand.stage == Stage::running)
    actions.push_back(SignalContainer{errand.container.id, errand.container.node});
  if (errand.stage != Stage::waiting) return;
  actions.push_back(TellEnd{event.errand, never_began()});
  forget(found);
}

void ApplicationMaster::take(const ErrandGone& event, Actions& actions) {
  const auto found = errands_.find(event.errand);
  if (found == errands_.end()) return;
  const Errand& errand = found->second;
  // A start that is under way is undone by the giving back.
  if (errand.stage == Stage::running)
    actions.push_back(StopContainer{errand.container.id, errand.container.node});
  if (errand.stage != Stage::waiting) given_back_.push_back(errand.container.id);
  forget(found);
}

void ApplicationMaster::take(const Answered& event, Actions& actions) {
  response_id_ = event.answer.response_id;
  if (said_ && !event.answer.given.empty()) {
    // What was given meanwhile was not known when the numbers were said.
    for (const ContainerAsk& ask : said_->asks) changed_.insert(ask.wish.priority);
  }
  said_.reset();
  for (const GivenContainer& container : event.answer.given) give(container, actions);
  for (const EndedContainer& container : event.answer.ended) end(container, actions);
}

void ApplicationMaster::give(const GivenContainer& container, Actions& actions) {
  const auto found = std::ranges::find_if(errands_, [&](const auto& entry) {
    const Errand& errand = entry.second;
    return errand.stage == Stage::waiting && errand.wish.priority == container.priority;
  });
  if (found == errands_.end()) {
    given_back_.push_back(container.id);
    return;
  }
  found->second.stage = Stage::starting;
  found->second.container = container;
  by_container_[container.id.text] = found->first;
  actions.push_back(StartContainer{container, found->first});
}

void ApplicationMaster::end(const EndedContainer& container, Actions& actions) {
  const auto found = errand_of(container.id.text);
  if (found == errands_.end()) return;
  actions.push_back(TellEnd{found->first, container_end(container.status, container.diagnostics,
                                                        found->second.container.node.host)});
  forget(found);
}

void ApplicationMaster::take(const AsksRefused& event, Actions& actions) {
  give_back_said();
  for (auto it = errands_.begin(); it != errands_.end();) {
    const auto errand = it++;
    if (errand->second.stage != Stage::waiting) continue;
    actions.push_back(TellEnd{errand->first, never_started(event.status.message())});
    errands_.erase(errand);
  }
}

void ApplicationMaster::take(const Abandoned& event, Actions& actions) {
  abandoned_ = taken_away(event.status.message());
  for (const auto& [id, errand] : errands_) {
    if (errand.stage == Stage::running)
      actions.push_back(StopContainer{errand.container.id, errand.container.node});
    actions.push_back(TellEnd{id, *abandoned_});
  }
  errands_.clear();
  by_container_.clear();
}

void ApplicationMaster::take(const RegisteredAgain&, Actions&) {
  give_back_said();
  response_id_ = 0;
  for (const auto& [id, errand] : errands_)
    if (errand.stage == Stage::waiting) changed_.insert(errand.wish.priority);
}

void ApplicationMaster::give_back_said() {
  if (said_)
    given_back_.insert(given_back_.end(), said_->given_back.begin(), said_->given_back.end());
  said_.reset();
}

void ApplicationMaster::take(const StartAnswered& event, Actions& actions) {
  const auto found = errand_of(event.container);
  if (found == errands_.end() || found->second.stage != Stage::starting) return;
  Errand& errand = found->second;
  const GivenContainer& container = errand.container;
  if (event.status.ok()) {
    errand.stage = Stage::running;
    actions.push_back(TellRuns{found->first, container.id.text, container.node.host});
    if (errand.is_ending) actions.push_back(SignalContainer{container.id, container.node});
    return;
  }
  given_back_.push_back(container.id);
  if (errand.is_ending || ++errand.failed_starts == kMostStarts) {
    actions.push_back(
        TellEnd{found->first, errand.is_ending
                                  ? never_began()
                                  : never_started(str_cat("the container on ", container.node.host,
                                                          ": ", event.status.message()))});
    forget(found);
    return;
  }
  by_container_.erase(container.id.text);
  errand.stage = Stage::waiting;
  errand.container = {};
  changed_.insert(errand.wish.priority);
}

void ApplicationMaster::take(const SignalAnswered& event, Actions& actions) {
  const auto found = errand_of(event.container);
  if (event.status.ok() || found == errands_.end()) return;
  const GivenContainer& container = found->second.container;
  actions.push_back(StopContainer{container.id, container.node});
}

ApplicationMaster::Errands::iterator ApplicationMaster::errand_of(const std::string& container) {
  const auto known = by_container_.find(container);
  return known == by_container_.end() ? errands_.end() : errands_.find(known->second);
}

int ApplicationMaster::num_waiting(int priority) const {
  return static_cast<int>(std::ranges::count_if(errands_, [&](const auto& entry) {
    return entry.second.stage == Stage::waiting && entry.second.wish.priority == priority;
  }));
}

void ApplicationMaster::forget(Errands::iterator errand) {
  if (errand->second.stage == Stage::waiting) changed_.insert(errand->second.wish.priority);
  by_container_.erase(errand->second.container.id.text);
  errands_.erase(errand);
}

}  // namespace millrace
