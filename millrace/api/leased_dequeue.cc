#include "millrace/api/leased_dequeue.h"

#include <utility>

#include "millrace/api/input.h"
#include "millrace/api/ops/array.h"
#include "millrace/api/ops/state.h"
#include "millrace/base/status.h"

namespace millrace {
namespace {

Status check_lease_terms(const LeaseTerms& terms) {
  if (terms.lasts.count() <= 0 || terms.lasts > kLongestLeaseTime) {
    return invalid("a lease of ", terms.lasts.count(), " ms; it must be more than 0 and at most ",
                   kLongestLeaseTime.count(), " s");
  }
  if (terms.attempts >= 0) return {};
  return invalid(terms.attempts, " attempts; give at least 1, or 0 for no limit");
}

}  // namespace

LeasedDequeue leased_dequeue(const Scope& scope, const Output& queue, std::vector<DType> types,
                             LeaseTerms terms) {
  LeasedDequeue made{.lasts = terms.lasts};
  if (!queue.has_value()) return made;
  if (Status fault = check_lease_terms(terms); !fault.ok()) {
    scope.fail(std::move(fault), queue.op().name());
    return made;
  }
  const Scope there = scope.colocated_with(queue.op());
  const float seconds = std::chrono::duration<float>(terms.lasts).count();
  const auto lent = ops::queue_lend(scope, queue, constant(there, ""), std::move(types),
                                    {.seconds = seconds, .attempts = terms.attempts});
  made.components = lent.components;
  made.attempt = lent.attempt;
  made.lease = lent.lease;
  made.fed = ops::placeholder(scope, DType::string, {.shape = PartialShape::scalar()});
  made.held = ops::queue_extend_lease(scope, queue, made.fed, {.seconds = seconds});
  made.under = ops::step_lease(scope, made.fed).op();
  made.ended = ops::queue_end_lease(scope, queue, made.fed);
  made.given_back = ops::queue_end_lease(scope, queue, made.fed, {.gives_back = true});
  return made;
}

}  // namespace millrace
