#include "millrace/ops/state/applied_book.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {

bool AppliedBook::Queue::has_ended(uint64_t number) const {
  return number < horizon && !std::ranges::binary_search(open, number);
}

// Leases arrive out of order, and what has ended stays ended: an element is open if neither says
// otherwise.
void AppliedBook::Queue::hear(const Lease& lease) {
  if (lease.horizon == horizon && lease.open == open) return;  // as most steps under one lease say
  is_changed = true;
  std::vector<uint64_t> now_open;
  for (const uint64_t number : lease.open)
    if (!has_ended(number)) now_open.push_back(number);
  for (const uint64_t number : open)
    if (number >= lease.horizon) now_open.push_back(number);
  open = std::move(now_open);
  horizon = std::max(horizon, lease.horizon);
  std::erase_if(elements, [&](const auto& entry) { return has_ended(entry.first); });
}

AppliedBook::Queue& AppliedBook::queue_of(uint64_t incarnation) {
  auto known = queues_.find(incarnation);
  if (known == queues_.end()) {
    if (queues_.size() >= most_queues_) {
      has_forgotten_ = true;
      queues_.erase(std::ranges::min_element(
          queues_, {}, [](const auto& entry) { return entry.second.last_heard; }));
    }
    known = queues_.try_emplace(incarnation).first;
  }
  known->second.last_heard = ++times_heard_;
  return known->second;
}

AppliedBook::Verdict AppliedBook::begin(const Lease& lease, std::string_view update) {
  Queue& queue = queue_of(lease.queue);
  queue.hear(lease);
  if (queue.has_ended(lease.number)) return Verdict::done;
  Element& element = queue.elements[lease.number];
  Updates::node_type left = element.settle(lease.settled);
  if (lease.step < element.settled) return Verdict::done;
  const auto at = element.updates.find(StepUpdateView(lease.step, update));
  if (at != element.updates.end())
    return at->second == State::applied ? Verdict::done : Verdict::wait;
  if (left.empty()) {
    element.updates.emplace(StepUpdate{lease.step, std::string(update)}, State::running);
  } else {
    left.key().step = lease.step;
    left.key().update = update;
    left.mapped() = State::running;
    element.updates.insert(std::move(left));
  }
  return Verdict::run;
}

AppliedBook::Updates::node_type AppliedBook::Element::settle(uint64_t below) {
  Updates::node_type last;
  if (below <= settled) return last;
  settled = below;
  while (!updates.empty() && updates.begin()->first.step < below)
    last = updates.extract(updates.begin());
  return last;
}

void AppliedBook::end(const Lease& lease, std::string_view update, Outcome outcome) {
  const auto queue = queues_.find(lease.queue);
  if (queue == queues_.end()) return;
  const auto element = queue->second.elements.find(lease.number);
  // Ended or settled meanwhile, by another attempt that waited for nobody.
  if (element == queue->second.elements.end()) return;
  const auto found = element->second.updates.find(StepUpdateView(lease.step, update));
  if (found == element->second.updates.end()) return;
  if (outcome == Outcome::applied) {
    found->second = State::applied;
    queue->second.is_changed = true;
  } else {
    element->second.updates.erase(found);
  }
}

void AppliedBook::note_applied(const UpdateName& name) {
  Queue& queue = queue_of(name.queue);
  if (queue.has_ended(name.number)) return;
  Element& element = queue.elements[name.number];
  if (name.step < element.settled) return;
  element.updates[{name.step, name.update}] = State::applied;
  queue.is_changed = true;
}

AppliedBook::Part AppliedBook::Queue::part(uint64_t incarnation) const {
  Part part{.queue = incarnation, .horizon = horizon, .open = open};
  for (const auto& [number, element] : elements) {
    Part::Element told{.number = number, .settled = element.settled};
    for (const auto& [name, state] : element.updates)
      if (state == State::applied) told.applied.push_back({name.step, name.update});
    if (told.settled > 0 || !told.applied.empty()) part.elements.push_back(std::move(told));
  }
  return part;
}

AppliedBook::Changes AppliedBook::take_changes(bool all) {
  Changes changes{.is_all = all || has_forgotten_, .parts = {}};
  has_forgotten_ = false;
  // In the order in which they were heard of, so that it is the same once they are put back.
  std::map<uint64_t, uint64_t> by_time;
  for (auto& [incarnation, queue] : queues_) {
    if (std::exchange(queue.is_changed, false) || changes.is_all)
      by_time[queue.last_heard] = incarnation;
  }
  for (const auto& [heard, incarnation] : by_time)
    changes.parts.push_back(queues_.at(incarnation).part(incarnation));
  return changes;
}

void AppliedBook::put_back(const Part& part) {
  Queue& queue = queue_of(part.queue);
  queue.horizon = part.horizon;
  queue.open = part.open;
  queue.elements.clear();
  for (const Part::Element& told : part.elements) {
    Element& element = queue.elements[told.number];
    element.settled = told.settled;
    for (const auto& each : told.applied)
      element.updates[{each.step, each.update}] = State::applied;
  }
}

size_t AppliedBook::num_updates() const {
  size_t count = 0;
  for (const auto& [incarnation, queue] : queues_)
    for (const auto& [number, element] : queue.elements) count += element.updates.size();
  return count;
}

size_t AppliedBook::num_elements() const {
  size_t count = 0;
  for (const auto& [incarnation, queue] : queues_)
    count += queue.elements.size() + queue.open.size();
  return count;
}

std::string AppliedBook::description() const {
  std::string text;
  for (const auto& [incarnation, queue] : queues_) {
    str_append(&text, text.empty() ? "" : "\n", "queue ", incarnation, ": all below ",
               queue.horizon);
    for (const uint64_t number : queue.open)
      str_append(&text, number == queue.open.front() ? " but " : ", ", number);
    for (const auto& [number, element] : queue.elements) {
      str_append(&text, "; ", number, ": settled ", element.settled);
      for (const auto& [key, state] : element.updates) {
        str_append(&text, ", ", key.step, " ", key.update,
                   state == State::applied ? " applied" : " running");
      }
    }
  }
  return text;
}

}  // namespace millrace
