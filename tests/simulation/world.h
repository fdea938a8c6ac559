// World: one clock and one line of work for every process of a simulation.
//
// Nothing here has a thread. Work that may run is ready, and which of it runs next is drawn from
// the seed; when none is ready, time jumps to the next event. So a run is decided by its seed and
// by what the program under test does, and can be repeated.
//
// Work belongs to an actor, in most cases a process: one that is frozen does nothing until it is
// thawed, one that is slow does its work later, one that is gone never does anything again.
//
// One thread; not to be called from any other.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/runner.h"
#include "millrace/base/timers.h"

namespace millrace::simulation {

// In which order work that is ready at the same time runs: as it came, or as the seed draws.
enum class Order : uint8_t { first_come, drawn };

class World {
 public:
  // What an event is to settle(): something under way, or a time that somebody waits for.
  enum class Kind : uint8_t { under_way, timer };
  // Where an event stands among all events. Never that of another one.
  using Key = Timers::Key;

  // Who work belongs to. Owned by a process, which outlives its work.
  class Actor {
   public:
    explicit Actor(World& world) : world_(world) {}
    // Drops what it has not done.
    ~Actor();
    Actor(const Actor&) = delete;
    Actor& operator=(const Actor&) = delete;

    // Runs soon, never inside this call.
    void post(Task task) { world_.make_ready(*this, std::move(task)); }
    // The same for work that takes its time if the actor is slow: what is planned and computed.
    void post_work(Task task);
    Key at(Clock::Time when, Kind kind, Task task);
    // Forgets an event of this actor, which may have happened already.
    void cancel(const Key& key);

    void freeze() { is_frozen_ = true; }
    void thaw();
    bool is_frozen() const { return is_frozen_; }
    // All its work takes so much longer.
    void slow_down(Clock::Duration by) { delay_ = by; }
    // Runs what it has posted, in order, without asking who else is ready or frozen: for a process
    // that is being taken apart. Time stands still, and timers fire when nothing else is left to
    // do.
    void run_alone();
    // Work and timers that it has.
    size_t num_waiting() const;

    World& world() { return world_; }

   private:
    friend class World;
    World& world_;
    bool is_frozen_ = false;
    Clock::Duration delay_{};
    // What became ready and what came due while it was frozen.
    std::vector<Task> parked_;
    std::vector<std::pair<Key, Task>> overdue_;
  };

  World(uint64_t seed, Order order);
  ~World();

  Clock::Time now() const { return now_; }
  // Since the world began.
  Clock::Duration elapsed() const { return now_ - kBeginning; }

  // Runs until nothing is ready or under way; timers fire as they come due meanwhile.
  void settle();
  // Runs until this time.
  void run_until(Clock::Time end);
  // Runs one thing; false if nothing ever happens any more, or not before `end`.
  bool step(Clock::Time end);

  // Uniform in [0, limit).
  uint64_t draw(uint64_t limit) { return random_.next() % limit; }
  // True with this probability.
  bool chance(double probability);
  Clock::Duration between(Clock::Duration least, Clock::Duration most);
  Random& random() { return random_; }

  size_t num_ready() const { return ready_.size(); }
  size_t num_timers() const;
  uint64_t num_steps() const { return steps_; }

 private:
  struct Work {
    Actor* actor;
    Task task;
  };
  struct Event {
    Actor* actor;
    Kind kind;
    Task task;
  };
  // Not the clock's zero: code that takes that for "no time" should show itself.
  static constexpr Clock::Time kBeginning = Clock::Time(std::chrono::hours(1));

  void make_ready(Actor& actor, Task task);
  void forget(const Actor& actor);
  bool jump(Clock::Time end);
  Event take(std::map<Key, Event>::iterator event);

  const Order order_;
  SeededRandom random_;
  Clock::Time now_ = kBeginning;
  std::deque<Work> ready_;
  std::map<Key, Event> events_;
  uint64_t last_event_ = 0;
  size_t under_way_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace millrace::simulation
