// Replica: one client of a fuzz of collectives: the program of one member of a group. It runs the
// same step again and again with a session of its own task, which meets those of the other members,
// and goes on after an error as training programs do: in a new session, or in the one that it has.
//
// Owned by the fuzz, which outlives its world's work.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/client.h"
#include "tests/simulation/meetings.h"

namespace millrace::simulation {

class Replica {
 public:
  // What all replicas of a fuzz do.
  struct Plan {
    std::vector<Meetings::Kind> kinds;
    size_t source = 0;            // who gives in a broadcast
    int64_t width = 1;            // of what is summed up, by member
    int64_t timeout_seconds = 0;  // of each collective; 0: none
  };
  struct Shared {
    Fleet& fleet;
    const OpRegistry& ops;
    Meetings& meetings;
    const Plan& plan;
    std::function<void(const std::string&)> complain;
    // Empty if the error of a call that was made at `since` is explained.
    std::function<std::string(Clock::Time since, bool has_limit, const Status&)> explain;
    Clock::Time last_given_up{};  // by any of them
    bool is_prompt = false;       // they lose no time between steps, and set no limits
    bool is_over = false;         // all of them wind up
    uint64_t calls = 0, failed = 0;
  };
  Replica(Shared& shared, size_t member);

  void begin() { create(); }
  // Asks for nothing more, and closes what is open.
  void wind_up();
  // Complains if what it waits for should have been answered long ago.
  void check_waiting();
  bool is_waiting() const { return waiting_ != nullptr; }

 private:
  struct Waiting {
    std::string what;
    Clock::Time since, latest;
    bool has_limit = false;
    bool is_given_up = false;
    Cancellation cancellation;
  };
  using Ticket = std::shared_ptr<Waiting>;

  wire::GraphDef graph() const;
  void create();
  void close();
  void run();
  void soon(void (Replica::*act)());
  Ticket ask(std::string what, std::chrono::milliseconds limit);
  // Judges an answer. False if nothing follows.
  bool answered(const Ticket& ticket, const Status& status);
  void go_on_after(const Status& status);

  Shared& shared_;
  Fleet& fleet_;
  World& world_;
  World::Actor actor_;
  const size_t member_;
  const std::string name_, site_;
  std::string session_;
  Ticket waiting_;
  std::unique_ptr<SimClient> client_;  // goes first, with the answers that it still owes
};

}  // namespace millrace::simulation
