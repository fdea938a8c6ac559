#include "tests/simulation/world.h"

#include <algorithm>

namespace millrace::simulation {

World::Actor::~Actor() { world_.forget(*this); }

void World::Actor::post_work(Task task) {
  if (delay_ > Clock::Duration::zero()) {
    at(world_.now() + delay_, Kind::timer, std::move(task));
  } else {
    post(std::move(task));
  }
}

World::Key World::Actor::at(Clock::Time when, Kind kind, Task task) {
  const Key key{std::max(when, world_.now_), ++world_.last_event_};
  world_.events_.emplace(key, Event{this, kind, std::move(task)});
  world_.under_way_ += kind == Kind::under_way;
  return key;
}

void World::Actor::cancel(const Key& key) {
  // What a task holds may make or cancel other events as it goes, so it goes last.
  Task dropped;
  if (const auto event = world_.events_.find(key); event != world_.events_.end()) {
    dropped = std::move(world_.take(event).task);
    return;
  }
  const auto overdue = std::ranges::find(overdue_, key, &std::pair<Key, Task>::first);
  if (overdue == overdue_.end()) return;
  dropped = std::move(overdue->second);
  overdue_.erase(overdue);
}

void World::Actor::thaw() {
  is_frozen_ = false;
  for (Task& task : std::exchange(parked_, {})) world_.make_ready(*this, std::move(task));
  // Under the same keys: whoever waits may still cancel.
  for (auto& [key, task] : std::exchange(overdue_, {}))
    world_.events_.emplace(key, Event{this, Kind::timer, std::move(task)});
}

void World::Actor::run_alone() {
  // A process that does not come to its end shows as something left over.
  constexpr int kMost = 100'000;
  delay_ = Clock::Duration::zero();
  thaw();
  for (int i = 0; i < kMost; ++i) {
    const auto work = std::ranges::find(world_.ready_, this, &Work::actor);
    if (work != world_.ready_.end()) {
      Task task = std::move(work->task);
      world_.ready_.erase(work);
      task();
      continue;
    }
    const auto event = std::ranges::find_if(
        world_.events_, [this](const auto& event) { return event.second.actor == this; });
    if (event == world_.events_.end()) return;
    world_.take(event).task();
  }
}

size_t World::Actor::num_waiting() const {
  const auto count = [this](const auto& items, auto actor_of) {
    return static_cast<size_t>(
        std::ranges::count_if(items, [&](const auto& item) { return actor_of(item) == this; }));
  };
  return parked_.size() + overdue_.size() +
         count(world_.ready_, [](const Work& work) { return work.actor; }) +
         count(world_.events_, [](const auto& event) { return event.second.actor; });
}

World::World(uint64_t seed, Order order) : order_(order), random_(seed) {}
World::~World() = default;

void World::make_ready(Actor& actor, Task task) {
  if (actor.is_frozen_) {
    actor.parked_.push_back(std::move(task));
  } else {
    ready_.push_back({&actor, std::move(task)});
  }
}

void World::forget(const Actor& actor) {
  // Dropping work may make more of it.
  std::vector<Task> dropped;
  for (auto& work : ready_)
    if (work.actor == &actor) dropped.push_back(std::move(work.task));
  std::erase_if(ready_, [&](const Work& work) { return work.actor == &actor; });
  for (auto event = events_.begin(); event != events_.end();) {
    const auto next = std::next(event);
    if (event->second.actor == &actor) dropped.push_back(take(event).task);
    event = next;
  }
}

World::Event World::take(std::map<Key, Event>::iterator event) {
  Event taken = std::move(event->second);
  events_.erase(event);
  under_way_ -= taken.kind == Kind::under_way;
  return taken;
}

bool World::step(Clock::Time end) {
  if (ready_.empty()) return jump(end);
  ++steps_;
  const size_t index = order_ == Order::drawn ? draw(ready_.size()) : 0;
  Work work = std::move(ready_[index]);
  ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(index));
  if (work.actor->is_frozen_) {
    work.actor->parked_.push_back(std::move(work.task));
  } else {
    work.task();
  }
  return true;
}

bool World::jump(Clock::Time end) {
  const auto first = events_.begin();
  if (first == events_.end() || first->first.when > end) return false;
  ++steps_;
  const Key key = first->first;
  now_ = std::max(now_, key.when);
  Event event = take(first);
  if (event.actor->is_frozen_) {
    event.actor->overdue_.emplace_back(key, std::move(event.task));
  } else {
    // Here and now, so that nobody cancels a timer that has come due and finds it running later.
    event.task();
  }
  return true;
}

void World::settle() {
  while (!ready_.empty() || under_way_ > 0)
    if (!step(Clock::Time::max())) return;
}

void World::run_until(Clock::Time end) {
  while (step(end)) {
  }
  now_ = std::max(now_, end);
}

bool World::chance(double probability) {
  return static_cast<double>(draw(1 << 20)) < probability * (1 << 20);
}

Clock::Duration World::between(Clock::Duration least, Clock::Duration most) {
  if (most <= least) return least;
  return least + Clock::Duration(
                     static_cast<int64_t>(draw(static_cast<uint64_t>((most - least).count()) + 1)));
}

size_t World::num_timers() const { return events_.size() - under_way_; }

}  // namespace millrace::simulation
