// PartialStepBook: what a partial step still owes to its legs, and when each is answered. A state
// machine: legs, values and ends of pieces go in, what the worker is to do comes out.
//
// A leg is answered when all that it asked for has come; the last one waits for the step to end as
// well, and so does one that failed: what the step ends with tells more than what the leg saw of
// it. A leg that fails ends the step, and one that begins in a step that was stopped has failed.
// What a leg still waits for when everything has run never comes.
//
// Pure: no thread, clock or rendezvous. The caller feeds events one at a time.
// partial_step_book_test.cc drives it with transcripts.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/first_cause.h"

namespace millrace {

class PartialStepBook {
 public:
  using Leg = uint64_t;
  enum class Kind : uint8_t { further, last };

  // In this order.
  struct Actions {
    Status cancel = {};           // the pieces that run; OK: let them be
    bool has_ended = false;       // every piece has: the table of steps is told
    bool abort_receives = false;  // of all legs: nobody is left who would send
    struct Answer {
      Leg leg;
      Status status;
    };
    std::vector<Answer> answers = {};
  };

  explicit PartialStepBook(size_t pieces) : running_(pieces) {}

  // A leg comes and asks for so many values. Until on_leg_begun it may be that not all of them have
  // been asked for yet.
  Leg on_leg(size_t values, Kind kind);
  Actions on_leg_begun(Leg leg);
  // A value of the leg has come, or its error.
  Actions on_received(Leg leg, Status status);
  // What the leg brought could not be left for the step.
  Actions on_send_failed(Leg leg, Status why);
  // A piece has run.
  Actions on_piece_ended(Status status);
  // Somebody wants the step to end.
  Actions on_stop(const Status& why);

 private:
  struct State {
    size_t missing = 0;  // values, the leg's own beginning, and the step's end if it waits for that
    FirstCause failure = {};
  };

  bool has_ended() const { return running_ == 0; }
  void wait_for_end(Leg leg);
  void fail(Leg leg, Status why, Actions* actions);
  // The leg is answered with `why` once the step has ended, unless that tells more.
  void spoil(Leg leg, Status why);
  void stop(const Status& why, Actions* actions);
  void one_less(Leg leg, Actions* actions);
  void end_if_stuck(Actions* actions) const;

  size_t running_;        // pieces
  size_t beginning_ = 0;  // legs that may still ask for values
  size_t receiving_ = 0;  // values of all legs that have not come
  Leg next_ = 1;
  absl::flat_hash_map<Leg, State> legs_;  // that are not answered
  std::vector<Leg> waiting_for_end_;
  FirstCause status_;   // of the pieces
  FirstCause stopped_;  // why it was stopped; OK if it was not
};

}  // namespace millrace
