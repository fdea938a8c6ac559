// Program: one client of a fuzz: draws what to ask next, keeps what it was told, and has the oracle
// judge each answer.
//
// Owned by the fuzz, which outlives its world's work.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/simulation/client.h"
#include "tests/simulation/oracle.h"

namespace millrace::simulation {

// The graph that every client uses: on each task a queue of numbers, one that stays empty, a
// variable, and a link of a chain through all tasks.
wire::GraphDef fuzz_graph(const Fleet& fleet, const OpRegistry& ops);
inline std::string chain_node(size_t i) { return str_cat("c", i); }

class Program {
 public:
  struct Shared {
    Fleet& fleet;
    Oracle& oracle;
    const wire::GraphDef& graph;
    std::function<void(const std::string&)> complain;
    int64_t last_id = 0;
    uint64_t calls = 0, failed = 0;
    // Sessions that end when a master's are reset.
    std::vector<class Program*> programs = {};
  };
  Program(Shared& shared, std::string name, const std::string& site);

  // Acts now and then, from now on.
  void begin() { act_later(); }
  // Asks for nothing more, and closes what is open.
  void wind_up();
  // Complains about calls that should have been answered long ago.
  void check_waiting();
  size_t num_waiting() const { return waiting_.size(); }
  const std::string& name() const { return name_; }

 private:
  // A call that has not been answered.
  struct Waiting {
    Asked asked;
    Clock::Time latest;
    std::shared_ptr<Cancellation> cancellation;
  };
  using Ticket = std::shared_ptr<Waiting>;
  // A session, from when it is asked for.
  struct Session {
    std::string handle;
    Clock::Time since;
    bool has_limit = false;
    bool is_ended = false;
    int64_t version = 0;
    int extensions = 0;
    bool is_extending = false;
    int64_t callable = 0;
    std::string partial_run;
    Clock::Time partial_since{};  // when it was asked for
    int partial_legs = 0;
    bool has_open_leg = false;  // legs that overtake each other are the program's own fault
    bool had_failed_leg = false;
    std::list<Ticket> calls;
  };
  using SessionPtr = std::shared_ptr<Session>;

  void act_later();
  void act();
  void create();
  void close();
  void reset();
  void run_chain();
  void put(size_t queues);
  void take();
  void assign();
  void read();
  void wait_in_vain();
  void call();
  void run_partially();
  void extend();
  void list();
  void leave();

  Ticket ticket(std::string what, std::chrono::milliseconds limit);
  // `take` gets what was answered, OK or not.
  template <class Reply>
  Done<Reply> judged(Ticket ticket, std::function<void(const Outcome<Reply>&)> take = {}) {
    return Done<Reply>([this, ticket = std::move(ticket), session = session_,
                        take = std::move(take)](const Outcome<Reply>& outcome) {
      Status status;
      if constexpr (std::is_void_v<Reply>) {
        status = outcome;
      } else {
        status = outcome.status();
      }
      judge(ticket, session, status);
      if (take) take(outcome);
      may_give_up_session(session, status);
    });
  }
  void judge(const Ticket& ticket, const SessionPtr& session, const Status& status);
  // One that has lost something is given up, sooner or later.
  void may_give_up_session(const SessionPtr& session, const Status& status);
  Ticket run(std::string what, RunStepRequest request, std::chrono::milliseconds limit,
             std::function<void(const Result<RunStepReply>&)> take);
  void end_session(const SessionPtr& session);
  void may_give_up(const Ticket& ticket);
  std::chrono::milliseconds draw_limit();
  std::string draw_site();
  void later(Clock::Duration delay, Task task);

  Shared& shared_;
  Fleet& fleet_;
  World& world_;
  World::Actor actor_;
  const std::string name_;
  const std::string site_;  // of its master
  SessionPtr session_;
  std::list<Ticket> waiting_;
  bool is_winding_up_ = false;
  std::unique_ptr<SimClient> client_;  // goes first, with the answers that it still owes
};

}  // namespace millrace::simulation
