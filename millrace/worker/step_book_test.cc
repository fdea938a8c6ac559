// What a worker does with steps, as transcripts: what happens, and what is done about it.
//
//   run 7 a      session a runs a graph of step 7     ended 7     that run has ended
//   peer 7       a peer asks for a tensor             answered 7  a peer got it
//                                                     gone 7      a peer left without it
//   due 7        the abort that was put off is due    clean 7     the master is done with the step
//   close a      session a is closed                  book        what is known
//
// "ended", "answered", "gone" and "due" mean the opening of the step in which the run or peer came
// that is meant: of several, the oldest.
#include "millrace/worker/step_book.h"

#include <deque>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

namespace millrace {
namespace {

class Script {
 public:
  std::string run(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string verb;
      if (words >> verb) perform(verb, words);
    }
    return out_;
  }

 private:
  void perform(const std::string& verb, std::istringstream& words) {
    StepBook::Actions actions;
    std::string session;
    int64_t step = 0;
    if (verb == "close") {
      words >> session;
      book_.on_session_closed(session, &actions);
    } else if (verb == "book") {
      for (const std::string& line : book_.describe()) str_append(&out_, line, "\n");
    } else {
      words >> step >> session;
      visit(verb, step, session, &actions);
    }
    for (const auto& action : actions) str_append(&out_, to_string(action), "\n");
  }

  void visit(const std::string& verb, int64_t step, const std::string& session,
             StepBook::Actions* actions) {
    if (verb == "run") runs_[step].push_back(book_.on_run(step, session, actions));
    if (verb == "peer") peers_[step].push_back(book_.on_peer(step, actions));
    if (verb == "ended") book_.on_run_ended(oldest(runs_[step]), actions);
    if (verb == "answered") book_.on_peer_answered(oldest(peers_[step]), actions);
    if (verb == "gone") book_.on_peer_gone(last_peer_ = oldest(peers_[step]), actions);
    if (verb == "due") book_.on_abort_due(last_peer_, actions);
    if (verb == "clean") book_.on_cleanup(step, actions);
  }

  using Visits = std::deque<StepBook::Visit>;
  static StepBook::Visit oldest(Visits& visits) {
    REQUIRE_FALSE(visits.empty());
    const StepBook::Visit first = visits.front();
    visits.pop_front();
    return first;
  }

  StepBook book_;
  std::map<int64_t, Visits> runs_, peers_;
  StepBook::Visit last_peer_;
  std::string out_;
};

std::string run(const std::string& script) { return Script().run(script); }

TEST_CASE(
    "a step is kept after its run has ended, for peers that come late, until it is cleaned up") {
  CHECK(run("run 7 a \n ended 7 \n peer 7 \n answered 7 \n book \n clean 7 \n book") ==
        "open 7\n"
        "step 7 of session a: 0 running, 0 peers\n"
        "forget 7\n");
}

TEST_CASE("a peer may come before the step") {
  CHECK(run("peer 7 \n book \n run 7 a \n answered 7 \n book") ==
        "open 7\n"
        "step 7: 0 running, 1 peers\n"
        "step 7 of session a: 1 running, 0 peers\n");
}

TEST_CASE("steps that never run are forgotten with the last peer, answered or gone") {
  CHECK(run("peer 7 \n peer 7 \n gone 7 \n book \n gone 7 \n peer 8 \n answered 8 \n book") ==
        "open 7\n"
        "step 7: 0 running, 1 peers\n"
        "forget 7\n"
        "open 8\n"
        "forget 8\n");
}

TEST_CASE("a peer that goes takes a step that runs with it, a while later and once") {
  CHECK(run("run 7 a \n peer 7 \n peer 7 \n gone 7 \n gone 7 \n due 7") ==
        "open 7\n"
        "abort later 7\n"
        "abort 7: ABORTED: Step 7 cancelled.  Cancelling rendezvous.\n");
}

TEST_CASE("an abort that is due after the step was cleaned up does nothing") {
  CHECK(run("run 7 a \n peer 7 \n gone 7 \n clean 7 \n due 7") ==
        "open 7\n"
        "abort later 7\n"
        "abort 7: ABORTED: Cleanup 7\n"
        "forget 7\n");
}

TEST_CASE("cleaning up is fine for steps that are not known, twice, and while the step runs") {
  CHECK(run("clean 7") == "");
  CHECK(run("run 7 a \n clean 7 \n clean 7 \n ended 7 \n book") ==
        "open 7\n"
        "abort 7: ABORTED: Cleanup 7\n"
        "forget 7\n");
}

TEST_CASE("what began before a step was cleaned up does not end the step that a late peer opens") {
  CHECK(run("run 7 a \n peer 7 \n clean 7 \n peer 7 \n answered 7 \n ended 7 \n book \n gone 7 \n "
            "book") ==
        "open 7\n"
        "abort 7: ABORTED: Cleanup 7\n"
        "forget 7\n"
        "open 7\n"
        "step 7: 0 running, 1 peers\n"
        "forget 7\n");
}

TEST_CASE("several graphs of one step run in one entry") {
  CHECK(run("run 7 a \n run 7 a \n ended 7 \n book") ==
        "open 7\n"
        "step 7 of session a: 1 running, 0 peers\n");
}

TEST_CASE("closing a session drops its steps, those of others and those without one stay") {
  CHECK(run("run 2 a \n run 1 a \n run 3 b \n peer 4 \n close a \n book") ==
        "open 2\n"
        "open 1\n"
        "open 3\n"
        "open 4\n"
        "abort 1: ABORTED: The session of step 1 was closed.\n"
        "forget 1\n"
        "abort 2: ABORTED: The session of step 2 was closed.\n"
        "forget 2\n"
        "step 3 of session b: 1 running, 0 peers\n"
        "step 4: 0 running, 1 peers\n");
}

TEST_CASE("aborts are consequences: whoever caused them reports it") {
  StepBook book;
  StepBook::Actions actions;
  (void)book.on_run(1, "a", &actions);
  const StepBook::Visit peer = book.on_peer(1, &actions);
  book.on_peer_gone(peer, &actions);
  book.on_abort_due(peer, &actions);
  book.on_cleanup(1, &actions);
  int aborts = 0;
  for (const auto& action : actions) {
    if (action.kind != StepBook::Action::Kind::abort) continue;
    ++aborts;
    CHECK(action.why.is_consequence());
  }
  CHECK(aborts == 2);
}

}  // namespace
}  // namespace millrace
