// StepBook: which steps a worker knows, and what becomes of them. Pure: it says what to do and does
// nothing; StepTable is the shell around it.
//
// A step is known from the first that is heard of it, a run of a graph or a peer that asks for one
// of its tensors, whichever comes first. A step that was only asked for is forgotten with the last
// peer's call: step ids that never run cost nothing. A step that was run is kept until the master
// cleans it up, because peers may come for its tensors after its own part has ended, or until its
// session is closed.
//
// The same step may be known anew after it was forgotten, when messages come late. Visits say which
// time is meant, so that what was begun in the first does not end something of the second.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include "millrace/base/status.h"

namespace millrace {

class StepBook {
 public:
  struct Visit {
    int64_t step = 0;
    uint64_t opening = 0;  // steps that the book had opened then, this one included
    friend bool operator==(const Visit&, const Visit&) = default;
  };

  struct Action {
    enum class Kind : uint8_t {
      open,         // make a rendezvous for the step
      forget,       // drop it
      abort,        // abort it with `why`
      abort_later,  // call on_abort_due after WorkerOptions::abort_delay
    };
    Kind kind;
    Visit visit;
    Status why = {};
  };
  using Actions = absl::InlinedVector<Action, 2>;

  // A graph of the step starts running. Requires that `session` is open.
  Visit on_run(int64_t step, const std::string& session, Actions* actions);
  void on_run_ended(const Visit& visit, Actions* actions);

  // A peer asks for a tensor; has been answered; has gone without an answer (its call was cancelled
  // or its connection broke). A peer that goes takes the step with it, for it will not end well.
  Visit on_peer(int64_t step, Actions* actions);
  void on_peer_answered(const Visit& visit, Actions* actions);
  void on_peer_gone(const Visit& visit, Actions* actions);

  void on_abort_due(const Visit& visit, Actions* actions);
  // The master is done with the step. Unknown steps are fine.
  void on_cleanup(int64_t step, Actions* actions);
  void on_session_closed(const std::string& session, Actions* actions);

  // Forgets everything; the caller aborts it.
  void clear() { entries_.clear(); }

  size_t size() const { return entries_.size(); }
  // "step 7 of session a: 1 running, 2 peers", in order of steps.
  std::vector<std::string> describe() const;

 private:
  struct Entry {
    uint64_t opening = 0;
    std::string session;  // empty: nobody has run it yet
    int running = 0;
    int peers = 0;
    bool is_doomed = false;  // an abort was decided
  };

  Entry& open(int64_t step, Actions* actions);
  Entry* find(const Visit& visit);
  void forget_if_idle(const Visit& visit, const Entry& entry, Actions* actions);

  absl::flat_hash_map<int64_t, Entry> entries_;
  uint64_t opened_ = 0;
};

// "open 7" "abort 7: ABORTED: Cleanup 7".
std::string to_string(const StepBook::Action& action);

}  // namespace millrace
