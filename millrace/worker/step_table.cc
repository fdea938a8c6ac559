#include "millrace/worker/step_table.h"

#include <algorithm>
#include <utility>

namespace millrace {

StepTable::~StepTable() { clear(aborted("the worker stopped").as_consequence()); }

void StepTable::Rest::finish() {
  for (auto& [rendezvous, why] : aborts) rendezvous->abort(why);
  dropped.clear();
}

StepTable::Rest StepTable::perform(const StepBook::Actions& actions) {
  using Kind = StepBook::Action::Kind;
  Rest rest;
  for (const StepBook::Action& action : actions) {
    const int64_t step = action.visit.step;
    switch (action.kind) {
      case Kind::open:
        records_[step] = {action.visit, std::make_shared<StepRendezvous>(step, clock_), {}};
        break;
      case Kind::forget: {
        const auto record = records_.find(step);
        rest.dropped.push_back(std::move(record->second));
        records_.erase(record);
        break;
      }
      case Kind::abort:
        rest.aborts.emplace_back(records_[step].rendezvous, action.why);
        break;
      case Kind::abort_later:
        records_[step].abort_timer = timers_.at(clock_.now() + abort_delay_,
                                                [this, visit = action.visit] { abort_due(visit); });
        break;
    }
  }
  return rest;
}

StepTable::Visit StepTable::run(int64_t step, const std::string& session) {
  StepBook::Actions actions;
  MutexLock lock(mutex_);
  const StepBook::Visit visit = book_.on_run(step, session, &actions);
  perform(actions);
  return {visit, records_[step].rendezvous};
}

StepTable::Visit StepTable::peer(int64_t step) {
  StepBook::Actions actions;
  MutexLock lock(mutex_);
  const StepBook::Visit visit = book_.on_peer(step, &actions);
  perform(actions);
  return {visit, records_[step].rendezvous};
}

template <class Event>
void StepTable::apply(Event event) {
  StepBook::Actions actions;
  Rest rest;
  {
    MutexLock lock(mutex_);
    event(book_, &actions);
    rest = perform(actions);
  }
  rest.finish();
}

void StepTable::run_ended(const Visit& visit) {
  apply([&](StepBook& book, auto* actions) { book.on_run_ended(visit.id, actions); });
}
void StepTable::peer_answered(const Visit& visit) {
  apply([&](StepBook& book, auto* actions) { book.on_peer_answered(visit.id, actions); });
}
void StepTable::peer_gone(const Visit& visit) {
  apply([&](StepBook& book, auto* actions) { book.on_peer_gone(visit.id, actions); });
}
void StepTable::abort_due(const StepBook::Visit& visit) {
  apply([&](StepBook& book, auto* actions) { book.on_abort_due(visit, actions); });
}
void StepTable::cleanup(int64_t step) {
  apply([&](StepBook& book, auto* actions) { book.on_cleanup(step, actions); });
}
void StepTable::close_session(const std::string& session) {
  apply([&](StepBook& book, auto* actions) { book.on_session_closed(session, actions); });
}

void StepTable::clear(const Status& why) {
  Rest rest;
  {
    MutexLock lock(mutex_);
    book_.clear();
    for (auto& [step, record] : records_) {
      rest.dropped.push_back(std::move(record));
    }
    records_.clear();
  }
  std::ranges::sort(rest.dropped, {}, [](const Record& record) { return record.id.step; });
  for (const Record& record : rest.dropped) rest.aborts.emplace_back(record.rendezvous, why);
  rest.finish();
}

size_t StepTable::size() const {
  MutexLock lock(mutex_);
  return book_.size();
}

std::vector<StepTable::Waits> StepTable::waits() const {
  std::vector<Waits> all;
  std::vector<std::pair<int64_t, std::shared_ptr<StepRendezvous>>> steps;
  {
    MutexLock lock(mutex_);
    for (const auto& [step, record] : records_) steps.emplace_back(step, record.rendezvous);
  }
  std::ranges::sort(steps, {}, [](const auto& step) { return step.first; });
  for (const auto& [step, rendezvous] : steps) all.push_back({step, rendezvous->waits()});
  return all;
}

}  // namespace millrace
