// leased_dequeue(): takes an element out of a queue for a time, with what ends and extends that.
//
//   LeasedDequeue names = leased_dequeue(files, queue, {DType::string}, {.attempts = 5});
//
// A session's Loan (session/loan.h) is made of it, and keeps the element as long as it works on it;
// docs/design/once.md tells what for. How many elements are lent, and what became of those that
// came back too often, say ops::queue_leases and ops::queue_dead_letter.
#pragma once

#include <chrono>
#include <vector>

#include "millrace/api/scope.h"

namespace millrace {

struct LeaseTerms {
  // How long a lease lasts without a heartbeat. More than 0, at most kLongestLeaseTime.
  std::chrono::milliseconds lasts{30'000};
  // After so many, an element that comes back is a dead letter. 0: never.
  int attempts = 0;
};
inline constexpr std::chrono::seconds kLongestLeaseTime{10'000'000};

struct LeasedDequeue {
  std::vector<Output> components;  // the element's tensors
  Output attempt;                  // int32 scalar: how often it was lent, this time included
  Output lease;                    // string scalar: bytes, which the following are fed
  Output fed;                      // a placeholder for them
  Output held;                     // extends the lease; bool scalar: whether it still lasts
  Operation under;                 // has the step made under the lease
  Operation ended, given_back;     // end it: the element has ended, or goes to the next taker
  std::chrono::milliseconds lasts{0};
};

// `queue`: what an op gave that makes a queue (a resource); `types`: those of its components.
// Errors are kept in the builder: INVALID_ARGUMENT for terms that can't be.
LeasedDequeue leased_dequeue(const Scope& scope, const Output& queue, std::vector<DType> types,
                             LeaseTerms terms = {});

}  // namespace millrace
