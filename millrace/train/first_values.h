// FirstValues: how variables that several tasks share come to have values: the chief gives them the
// initial ones, and the others wait for that.
//
//   FirstValues first(model);                       // before the session gets the graph
//   MR_TRY(session->extend(graph));
//   MR_TRY(is_chief ? first.give(*session) : first.wait(*session, clock, 10min));
//
// A chief that comes back finds values, and leaves them as they are. Blocks the calling thread.
#pragma once

#include <chrono>
#include <string>

#include "millrace/base/clock.h"
#include "millrace/session/session.h"
#include "millrace/train/variable_scope.h"

namespace millrace {

class FirstValues {
 public:
  // Of all variables of the model so far.
  explicit FirstValues(const VariableScope& scope);

  // Initializes all, if one has no value yet. Errors: those of the steps.
  Status give(Session& session) const;
  // Initializes all, whatever values they have.
  Status give_all(Session& session) const;
  // The names of those that have no value, "'w', 'b'"; empty if all have one.
  Result<std::string> missing(Session& session) const;
  // Returns when all have values. Errors: DEADLINE_EXCEEDED, with the names of those that had none,
  // after `patience`; those of the step, but for UNAVAILABLE: who has them may yet come.
  Status wait(Session& session, const Clock& clock, std::chrono::milliseconds patience) const;

 private:
  std::string initialize_name_, missing_name_;
};

}  // namespace millrace
