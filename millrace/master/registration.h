// Registration: how the parts of a step get known to their workers, as a state machine.
//
// Every part is registered at its worker, all at the same time, and the step can be run once all
// are. If a worker refuses, there is no step: once all have answered, those that took their part
// are told to forget it, and who asked for the step gets the first cause. They are told as well
// when nobody can run the step any more.
//
// Pure: no thread, clock or socket. The caller feeds events one at a time. register_step
// (step_registration.h) is the shell around it; registration_test.cc drives it with transcripts.
#pragma once

#include <cstddef>

#include "absl/container/inlined_vector.h"

#include "millrace/base/first_cause.h"

namespace millrace {

class Registration {
 public:
  struct Actions {
    // The parts whose workers are to be told; each is named once at most.
    absl::InlinedVector<size_t, 4> forget = {};
    // Answer who asked for the step with outcome(). Once.
    bool answer = false;
  };

  // At least one part; all have been sent off.
  explicit Registration(size_t parts) : states_(parts, State::asked), missing_(parts) {}

  // Part `index` was registered (OK) or refused. A second answer of one part is ignored.
  Actions on_reply(size_t index, Status status);
  // Nobody can run the step any more. What is registered later is forgotten at once.
  Actions on_let_go();

  // OK if the step can be run. Requires that all have answered.
  const Status& outcome() const { return failure_.status(); }

 private:
  enum class State : uint8_t { asked, registered, gone };

  void forget_registered(Actions& actions);

  absl::InlinedVector<State, 4> states_;
  size_t missing_;  // answers
  FirstCause failure_;
  bool is_let_go_ = false;
};

}  // namespace millrace
