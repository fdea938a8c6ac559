// Part of optimizers.h: Adam, which has variables of its own beside its slots.
#include <algorithm>
#include <utility>

#include "millrace/api/ops/math.h"
#include "millrace/api/ops/state.h"
#include "millrace/train/node_scopes.h"
#include "millrace/train/optimizers.h"

namespace millrace {

AdamOptimizer::AdamOptimizer(Input learning_rate, AdamOptions options)
    : Optimizer(options.name.empty() ? "Adam" : options.name, options.use_locking),
      learning_rate_(std::move(learning_rate)),
      options_(std::move(options)) {}

void AdamOptimizer::create_slots(const VariableScope& scope,
                                 const std::vector<Variable>& variables) {
  if (!beta1_power_.has_value()) {
    // The same place whichever order the variables come in: tasks that build one graph share it.
    const Variable& first = *std::ranges::min_element(variables, {}, &Variable::name);
    if (!first.has_value()) return;
    const VariableScope beside = scope.in(scope.scope().colocated_with(first.op()));
    beta1_power_ = beside.variable("beta1_power", options_.beta1, false);
    beta2_power_ = beside.variable("beta2_power", options_.beta2, false);
  }
  for (const Variable& variable : variables) {
    make_slot(scope, variable, "m", 0);
    make_slot(scope, variable, "v", 0);
  }
}

void AdamOptimizer::prepare(const Scope& scope) {
  rate_ = parameter(scope, "learning_rate", learning_rate_);
  beta1_ = parameter(scope, "beta1", options_.beta1);
  beta2_ = parameter(scope, "beta2", options_.beta2);
  epsilon_ = parameter(scope, "epsilon", options_.epsilon);
}

Operation AdamOptimizer::apply(const Scope& scope, const ScopeGradient& gradient,
                               const Variable& variable) {
  std::vector<Output> parameters;
  for (const Output& each :
       {beta1_power_.value, beta2_power_.value, rate_, beta1_, beta2_, epsilon_})
    parameters.push_back(typed(scope, each, variable));
  if (gradient.is_slices()) return apply_rows(scope, gradient, variable, parameters);
  return apply_rule(scope, "Adam", variable, {"m", "v"}, gradient, parameters);
}

Operation AdamOptimizer::apply_rows(const Scope& scope, const ScopeGradient& rows,
                                    const Variable& variable,
                                    const std::vector<Output>& parameters) {
  const Output& beta1 = parameters[3];
  const Output& beta2 = parameters[4];
  const Output unbiased = ops::sqrt(scope, ops::sub(scope, 1, parameters[1]));
  const Output rate = ops::real_div(scope, ops::mul(scope, parameters[2], unbiased),
                                    ops::sub(scope, 1, parameters[0]));
  const Output squares = ops::mul(scope, rows.values, rows.values);
  const Output m = averaged(scope, slot(variable, "m"), beta1, rows.values, rows.indices);
  const Output v = averaged(scope, slot(variable, "v"), beta2, squares, rows.indices);
  const Output divisor = ops::add_v2(scope, ops::sqrt(scope, v), parameters[5]);
  const Output difference = ops::real_div(scope, ops::mul(scope, rate, m), divisor);
  const Operation update =
      ops::assign_sub(scope, variable.reference, difference, {.use_locking = use_locking()}).op();
  if (!scope.status().ok()) return {};
  return group(scope, std::vector<Operation>{update, m.op(), v.op()},
               claim_inside(scope, "group_deps"));
}

// A reference to a running mean after these rows have joined it.
Output AdamOptimizer::averaged(const Scope& scope, const Variable& mean, const Output& beta,
                               const Output& values, const Output& indices) const {
  const Operation faded = ops::assign(scope, mean.reference, ops::mul(scope, mean.value, beta),
                                      {.use_locking = use_locking()})
                              .op();
  if (!faded.has_value()) return {};
  const Scope then = scope.after({faded});
  const Output added = ops::mul(then, values, ops::sub(then, 1, beta));
  return ops::scatter_add(then, mean.reference, indices, added, {.use_locking = use_locking()});
}

std::vector<Operation> AdamOptimizer::finish(const Scope& scope,
                                             const std::vector<Operation>& updates) {
  const Scope then = scope.after(updates).colocated_with(beta1_power_.op());
  std::vector<Operation> powers;
  for (const auto& [power, beta] : {std::pair(&beta1_power_, &beta1_), {&beta2_power_, &beta2_}}) {
    const Output next = ops::mul(then, power->value, *beta);
    powers.push_back(
        ops::assign(then, power->reference, next, {.use_locking = use_locking()}).op());
  }
  return powers;
}

}  // namespace millrace
