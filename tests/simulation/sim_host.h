// SimHost: the machine that one simulated process runs on: the world's clock, timers that fire when
// the world says so, runners whose work the world orders, random numbers of its own, and a log that
// is kept.
//
// Owned by its process; one thread.
#pragma once

#include <functional>
#include <string>

#include "tests/simulation/world.h"

#include "millrace/base/host.h"
#include "millrace/base/testing/no_files.h"

namespace millrace::simulation {

// Who wrote what.
using HearLog = std::function<void(LogLevel, std::string_view who, std::string_view text)>;

class SimHost {
 public:
  SimHost(World& world, std::string name, uint64_t seed, HearLog hear);

  World::Actor& actor() { return actor_; }
  const Host& get() const { return host_; }

 private:
  class SimClock final : public Clock {
   public:
    explicit SimClock(const World& world) : world_(world) {}
    Time now() const override { return world_.now(); }
    int64_t wall_micros() const override {
      return std::chrono::duration_cast<std::chrono::microseconds>(now().time_since_epoch())
          .count();
    }

   private:
    const World& world_;
  };
  class SimTimers final : public Timers {
   public:
    explicit SimTimers(World::Actor& actor) : actor_(actor) {}
    Timer at(Clock::Time when, Task task) override {
      return handle(actor_.at(when, World::Kind::timer, std::move(task)));
    }

   private:
    void cancel(const Key& key) override { actor_.cancel(key); }
    World::Actor& actor_;
  };
  class SimRunner final : public Runner {
   public:
    enum class Pace : uint8_t { of_the_task, always_quick };
    SimRunner(World::Actor& actor, Pace pace) : actor_(actor), pace_(pace) {}
    void post(Task task) override {
      pace_ == Pace::of_the_task ? actor_.post_work(std::move(task)) : actor_.post(std::move(task));
    }

   private:
    World::Actor& actor_;
    const Pace pace_;
  };
  class Sink final : public LogSink {
   public:
    explicit Sink(HearLog hear) : hear_(std::move(hear)) {}
    bool takes(LogLevel level) const override { return hear_ && level >= LogLevel::info; }
    void write(LogLevel level, std::string_view who, std::string_view text) override {
      if (hear_) hear_(level, who, text);
    }

   private:
    const HearLog hear_;
  };

  World::Actor actor_;
  SimClock clock_;
  SimTimers timers_;
  SeededRandom random_;
  SimRunner pool_, endings_;  // blocking work is as quick as endings: there is none yet
  Sink sink_;
  Log log_;
  Metrics metrics_;
  testing::NoFiles files_;
  const Host host_;
};

}  // namespace millrace::simulation
