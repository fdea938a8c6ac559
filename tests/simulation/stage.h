// Stage: what tasks say to each other's workers, for whoever watches: written down line by line,
// and held back if the play wants it.
//
// Names that are drawn anew in each run (steps, sessions, lives of devices) appear as they were
// first seen: step 1, session s1, life b/1. Owned by the play; one thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "tests/simulation/world.h"

#include "millrace/cluster/services.h"

namespace millrace::simulation {

class Stage {
 public:
  // `tell` gets each line.
  using Tell = std::function<void(const std::string& line)>;
  Stage(World& world, Tell tell) : world_(world), actor_(world), tell_(std::move(tell)) {}
  World::Actor& actor() { return actor_; }

  // What happens in between is not seen: it is of no world any more.
  void mute() { is_muted_ = true; }
  void unmute() { is_muted_ = false; }
  // Lines with the time that has passed since the last one, if one can tell it.
  void say(const std::string& line);
  // `known` appears as `alias` from now on.
  void name(const std::string& known, const std::string& alias) { aliases_[known] = alias; }
  std::string step(int64_t id);
  void name_session(const std::string& handle);

  // Calls of `method` to `to` stay on their way until they are released or answered.
  void hold(const std::string& to, const std::string& method) { held_.insert({to, method}); }
  bool holds(const std::string& to, const std::string& method) const {
    return held_.contains({to, method});
  }
  struct Held {
    std::string to, method;
    std::function<void()> release;
    std::function<void(const Status&)> answer;
  };
  // The returned call may be forgotten by its place.
  std::list<Held>::iterator keep(Held held) { return calls_.insert(calls_.end(), std::move(held)); }
  void forget(std::list<Held>::iterator call) { calls_.erase(call); }
  // The first such call goes on, or is answered in the other task's place. False if there is none.
  bool release(const std::string& to, const std::string& method);
  bool answer(const std::string& to, const std::string& method, const Status& status);
  void release_all();

  // What `from` calls `worker` by, which is at `to`.
  std::shared_ptr<WorkerService> watch(std::string from, std::string to,
                                       std::shared_ptr<WorkerService> worker);

 private:
  std::string with_aliases(std::string text) const;
  const Held* find(const std::string& to, const std::string& method) const;

  World& world_;
  World::Actor actor_;
  const Tell tell_;
  Clock::Duration last_said_{};
  std::map<std::string, std::string> aliases_;
  size_t steps_ = 0, sessions_ = 0;
  bool is_muted_ = false;
  std::set<std::pair<std::string, std::string>> held_;
  std::list<Held> calls_;
};

}  // namespace millrace::simulation
