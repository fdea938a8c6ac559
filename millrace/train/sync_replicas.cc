#include "millrace/train/sync_replicas.h"

#include <utility>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/exchange.h"
#include "millrace/api/ops/flow.h"
#include "millrace/api/ops/math.h"
#include "millrace/api/ops/state.h"
#include "millrace/train/node_scopes.h"

namespace millrace {

// What goes into the accumulators and comes out of them.
struct SyncReplicasOptimizer::Exchange {
  std::vector<Operation> given = {};
  std::vector<GradientAndVariable> taken = {};
  std::vector<Operation> begun = {};  // the accumulators are in the step that the model is in
};

SyncReplicasOptimizer::SyncReplicasOptimizer(Optimizer& wrapped, SyncReplicasOptions options)
    : WrappedOptimizer(wrapped, options.name), options_([&] {
        SyncReplicasOptions made = std::move(options);
        if (made.gradients_per_step == 0) made.gradients_per_step = made.num_replicas;
        return made;
      }()) {}

SyncReplicasOptimizer::Exchange SyncReplicasOptimizer::exchange(
    const Scope& scope, const std::vector<GradientAndVariable>& pairs, const Output& local_step,
    const Output& global_step) const {
  Exchange made;
  for (const auto& [gradient, variable] : pairs) {
    if (!gradient.has_value()) continue;
    const Scope beside = scope.colocated_with(variable.op());
    const std::string shared = str_cat(variable.reference.name(), "/grad_accum");
    const Input wanted = options_.gradients_per_step;
    ScopeGradient mean;
    Output accumulator;
    if (gradient.is_slices()) {
      accumulator = ops::sparse_conditional_accumulator(beside, variable.dtype(), variable.shape,
                                                        {.shared_name = shared});
      made.given.push_back(ops::sparse_accumulator_apply_gradient(
          beside, accumulator, local_step, ops::cast(beside, gradient.indices, DType::i64),
          gradient.values, Tensor::vector<int64_t>(variable.shape.dims()), true));
      const auto rows =
          ops::sparse_accumulator_take_gradient(beside, accumulator, wanted, variable.dtype());
      mean = {rows.values, rows.indices, rows.shape};
    } else {
      accumulator = ops::conditional_accumulator(beside, variable.dtype(), variable.shape,
                                                 {.shared_name = shared});
      made.given.push_back(
          ops::accumulator_apply_gradient(beside, accumulator, local_step, gradient.values));
      mean = {.values =
                  ops::accumulator_take_gradient(beside, accumulator, wanted, variable.dtype())};
    }
    if (!scope.status().ok()) return made;
    made.taken.push_back({std::move(mean), variable});
    made.begun.push_back(ops::accumulator_set_global_step(beside, accumulator, global_step));
  }
  return made;
}

bool SyncReplicasOptimizer::makes_sense(const Scope& scope,
                                        const ApplyGradientsOptions& options) const {
  if (!scope.status().ok()) return false;
  if (!options.global_step) {
    scope.fail(invalid("a global step is required to check staleness"), name());
    return false;
  }
  const auto& [replicas, replica, wanted, own_name] = options_;
  if (wanted >= 1 && wanted <= replicas && replica >= 0 && replica < replicas) return true;
  scope.fail(invalid("replica ", replica, " of ", replicas, ", ", wanted,
                     " gradients per step: replicas count from 0, and a step takes one gradient "
                     "of each at most"),
             name());
  return false;
}

// The queue of what the chief tells a replica.
Output SyncReplicasOptimizer::tokens_of(const Scope& scope, int replica) const {
  return ops::fifo_queue(scope, {DType::i64},
                         {.shapes = std::vector<PartialShape>{PartialShape::scalar()},
                          .shared_name = str_cat(name(), "/tokens_", replica)});
}

// The new step, once all have been told of it.
Output SyncReplicasOptimizer::after_chief(const Scope& scope, const Exchange& exchanged,
                                          const Operation& update, const Variable& step) const {
  // Read here: what the variable read before may be the step before.
  const Scope updated = scope.after({update});
  const Output now = ops::identity(updated, step.reference);
  std::vector<Operation> told = exchanged.given;
  for (int replica = 1; replica < options_.num_replicas; ++replica)
    told.push_back(ops::queue_enqueue(updated, tokens_of(scope, replica), {now}));
  if (!scope.status().ok()) return {};
  return ops::identity(scope.after(told), now);
}

// The newest step that the chief has told of: once there is one that it has not heard of.
Output SyncReplicasOptimizer::after_other(const Scope& scope, const Exchange& exchanged) const {
  const Output queue = tokens_of(scope, options_.replica);
  const Scope then = scope.after(exchanged.given);
  // Nobody else takes from it, so that as many are there then, too.
  const Output number = ops::maximum(then, ops::queue_size(then, queue), 1);
  const std::vector<Output> tokens = ops::queue_dequeue_many(then, queue, number, {DType::i64});
  return tokens.empty() ? Output() : ops::max(then, tokens[0], 0);
}

Operation SyncReplicasOptimizer::beginning(const Scope& scope, const Exchange& exchanged,
                                           const Variable& local, const Variable& step) const {
  std::vector<Operation> before;
  if (options_.replica > 0) {
    // What one has not taken who was this replica before.
    const Output queue = tokens_of(scope.colocated_with(step.op()), options_.replica);
    const Scope beside = scope.colocated_with(step.op());
    for (const Output& old :
         ops::queue_dequeue_many(beside, queue, ops::queue_size(beside, queue), {DType::i64}))
      before.push_back(old.op());
  }
  if (!scope.status().ok()) return {};
  const Output now = ops::identity(scope.colocated_with(step.op()).after(before), step.reference);
  std::vector<Operation> first = {
      ops::assign(scope.colocated_with(local.op()), local.reference, now).op()};
  if (options_.replica == 0)
    first.insert(first.end(), exchanged.begun.begin(), exchanged.begun.end());
  if (!scope.status().ok()) return {};
  return group(scope, first, claim_inside(scope, "begin"));
}

Operation SyncReplicasOptimizer::apply_gradients(const VariableScope& scope,
                                                 const std::vector<GradientAndVariable>& pairs,
                                                 ApplyGradientsOptions options) {
  const Scope& place = scope;
  if (!makes_sense(place, options)) return {};
  const Variable& step = *options.global_step;
  // On the worker itself, whatever places variables.
  const Scope own = lifted(place).colocated_with(ops::no_op(lifted(place)));
  const Variable local =
      scope.in(own).local_variable("sync_rep_local_step", Tensor::scalar<int64_t>(0));
  const std::string claimed = claim_inside(place, options.name.empty() ? name() : options.name);
  const Scope inside = within(place, claimed);
  const Exchange made = exchange(inside, pairs, local, step);
  if (!place.status().ok()) return {};
  // All have the chief's nodes, so that all have the same variables.
  const Operation update =
      wrapped().apply_gradients(scope, made.taken, {.global_step = options.global_step});
  if (!place.status().ok()) return {};
  const Scope beside_step = inside.colocated_with(step.op());
  const Output next = options_.replica == 0 ? after_chief(beside_step, made, update, step)
                                            : after_other(beside_step, made);
  begin_ = beginning(inside, made, local, step);
  const Scope here = inside.colocated_with(local.op());
  const Output trained = ops::assign(here, local.reference, next);
  return add_claimed(here, claimed, "Identity", {trained}, {});
}

}  // namespace millrace
