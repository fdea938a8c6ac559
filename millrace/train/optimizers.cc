#include "millrace/train/optimizers.h"

#include <algorithm>
#include <utility>

#include "millrace/api/ops/math.h"
#include "millrace/api/ops/state.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

std::string named_or(std::string name, std::string_view usual) {
  return name.empty() ? std::string(usual) : std::move(name);
}

}  // namespace

// ---- Gradient descent ----

GradientDescentOptimizer::GradientDescentOptimizer(Input learning_rate, OptimizerOptions options)
    : Optimizer(named_or(std::move(options.name), "GradientDescent"), options.use_locking),
      learning_rate_(std::move(learning_rate)) {}

void GradientDescentOptimizer::prepare(const Scope& scope) {
  rate_ = parameter(scope, "learning_rate", learning_rate_);
}

Operation GradientDescentOptimizer::apply(const Scope& scope, const ScopeGradient& gradient,
                                          const Variable& variable) {
  const Output rate = typed(scope, rate_, variable);
  if (!gradient.is_slices())
    return apply_rule(scope, "GradientDescent", variable, {}, gradient, {rate});
  return ops::scatter_sub(scope, variable.reference, gradient.indices,
                          ops::mul(scope, gradient.values, rate), {.use_locking = use_locking()})
      .op();
}

// ---- Momentum ----

MomentumOptimizer::MomentumOptimizer(Input learning_rate, Input momentum, Kind kind,
                                     OptimizerOptions options)
    : Optimizer(named_or(std::move(options.name), "Momentum"), options.use_locking),
      learning_rate_(std::move(learning_rate)),
      momentum_(std::move(momentum)),
      kind_(kind) {}

void MomentumOptimizer::create_slots(const VariableScope& scope,
                                     const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) make_slot(scope, variable, "momentum", 0);
}

void MomentumOptimizer::prepare(const Scope& scope) {
  rate_ = parameter(scope, "learning_rate", learning_rate_);
  kept_ = parameter(scope, "momentum", momentum_);
}

Operation MomentumOptimizer::apply(const Scope& scope, const ScopeGradient& gradient,
                                   const Variable& variable) {
  return apply_rule(scope, "Momentum", variable, {"momentum"}, gradient,
                    {typed(scope, rate_, variable)}, {typed(scope, kept_, variable)},
                    {{"use_nesterov", kind_ == Kind::nesterov}});
}

// ---- Adagrad ----

AdagradOptimizer::AdagradOptimizer(Input learning_rate, double initial_accumulator_value,
                                   OptimizerOptions options)
    : Optimizer(named_or(std::move(options.name), "Adagrad"), options.use_locking),
      learning_rate_(std::move(learning_rate)),
      initial_(initial_accumulator_value) {}

void AdagradOptimizer::create_slots(const VariableScope& scope,
                                    const std::vector<Variable>& variables) {
  if (!(initial_ > 0)) {
    scope.scope().fail(invalid("initial_accumulator_value must be positive: ", initial_), name());
    return;
  }
  for (const Variable& variable : variables) make_slot(scope, variable, "accumulator", initial_);
}

void AdagradOptimizer::prepare(const Scope& scope) {
  rate_ = parameter(scope, "learning_rate", learning_rate_);
}

Operation AdagradOptimizer::apply(const Scope& scope, const ScopeGradient& gradient,
                                  const Variable& variable) {
  return apply_rule(scope, "Adagrad", variable, {"accumulator"}, gradient,
                    {typed(scope, rate_, variable)});
}

// ---- RMSProp ----

RMSPropOptimizer::RMSPropOptimizer(Input learning_rate, RMSPropOptions options)
    : Optimizer(named_or(options.name, "RMSProp"), options.use_locking),
      learning_rate_(std::move(learning_rate)),
      options_(std::move(options)) {}

void RMSPropOptimizer::create_slots(const VariableScope& scope,
                                    const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    make_slot(scope, variable, "rms", 1);
    if (options_.centered) make_slot(scope, variable, "mg", 0);
    make_slot(scope, variable, "momentum", 0);
  }
}

void RMSPropOptimizer::prepare(const Scope& scope) {
  rate_ = parameter(scope, "learning_rate", learning_rate_);
  decay_ = parameter(scope, "decay", options_.decay);
  momentum_ = parameter(scope, "momentum", options_.momentum);
  epsilon_ = parameter(scope, "epsilon", options_.epsilon);
}

Operation RMSPropOptimizer::apply(const Scope& scope, const ScopeGradient& gradient,
                                  const Variable& variable) {
  const std::vector<Output> before = {typed(scope, rate_, variable), typed(scope, decay_, variable),
                                      typed(scope, momentum_, variable),
                                      typed(scope, epsilon_, variable)};
  if (options_.centered)
    return apply_rule(scope, "CenteredRMSProp", variable, {"mg", "rms", "momentum"}, gradient,
                      before);
  return apply_rule(scope, "RMSProp", variable, {"rms", "momentum"}, gradient, before);
}

}  // namespace millrace
