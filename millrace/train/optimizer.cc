#include "millrace/train/optimizer.h"

#include "millrace/api/op_call.h"
#include "millrace/api/ops/array.h"
#include "millrace/api/ops/math.h"
#include "millrace/api/ops/state.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

bool is_trainable_type(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

// Each row once: those of an index that comes several times are summed. A rule squares gradients or
// keeps momentum, and two halves of a row's gradient, one after the other, would not be the row's.
ScopeGradient summed_by_row(const Scope& scope, const ScopeGradient& rows) {
  const auto unique = ops::unique(scope, rows.indices);
  return {ops::unsorted_segment_sum(scope, rows.values, unique.idx, ops::size(scope, unique.y)),
          unique.y, rows.dense_shape};
}

std::string names_of(const std::vector<GradientAndVariable>& pairs) {
  std::string all;
  for (const auto& [gradient, variable] : pairs)
    str_append(&all, all.empty() ? "'" : ", '", variable.name, "'");
  return all;
}

Operation counted(const Scope& scope, const Variable& global_step, std::string claimed_name) {
  const Scope beside = scope.colocated_with(global_step.op());
  const Output one = constant(beside.with_name("value"), 1, global_step.dtype());
  return add_claimed(beside, std::move(claimed_name), "AssignAdd", {global_step.reference, one},
                     {});
}

}  // namespace

Operation Optimizer::minimize(const VariableScope& scope, const Output& loss,
                              MinimizeOptions options) {
  const auto pairs =
      compute_gradients(scope, loss,
                        {.variables = std::move(options.variables),
                         .colocate_gradients_with_ops = options.colocate_gradients_with_ops});
  return apply_gradients(
      scope, pairs,
      {.global_step = std::move(options.global_step), .name = std::move(options.name)});
}

std::vector<GradientAndVariable> Optimizer::compute_gradients(const VariableScope& scope,
                                                              const Output& loss,
                                                              ComputeGradientsOptions options) {
  std::vector<Variable> variables = std::move(options.variables);
  if (variables.empty()) variables = scope.collections().trainable_variables;
  if (!scope.scope().status().ok()) return {};
  if (variables.empty()) {
    scope.scope().fail(invalid("no variables to optimize"), name_);
    return {};
  }
  std::vector<Output> references;
  for (const Variable& variable : variables) {
    if (variable.has_value() && !is_trainable_type(variable.dtype())) {
      scope.scope().fail(invalid("variable '", variable.name, "' is ", dtype_name(variable.dtype()),
                                 "; only half, bfloat16, float and double can be optimized"),
                         name_);
      return {};
    }
    references.push_back(variable.reference);
  }
  if (!is_trainable_type(loss.dtype())) {
    scope.scope().fail(invalid("the loss '", loss.name(), "' is ", dtype_name(loss.dtype()),
                               "; it must be half, bfloat16, float or double"),
                       name_);
    return {};
  }
  const auto found = gradients(scope, {loss}, references,
                               {.grad_ys = {options.grad_loss},
                                .aggregation = options.aggregation,
                                .colocate_with_ops = options.colocate_gradients_with_ops,
                                .gate_gradients = options.gate_gradients});
  std::vector<GradientAndVariable> pairs;
  for (size_t i = 0; i < variables.size(); ++i) pairs.push_back({found[i], variables[i]});
  return pairs;
}

Operation Optimizer::apply_gradients(const VariableScope& scope,
                                     const std::vector<GradientAndVariable>& pairs,
                                     ApplyGradientsOptions options) {
  const Scope& place = scope;
  if (!place.status().ok()) return {};
  std::vector<Variable> variables;
  for (const auto& [gradient, variable] : pairs)
    if (gradient.has_value()) variables.push_back(variable);
  if (variables.empty()) {
    place.fail(invalid("no gradients provided for any variable: ", names_of(pairs)), name_);
    return {};
  }
  create_slots(scope.in(lifted(place)), variables);
  const std::string own = claim_inside(place, options.name.empty() ? name_ : options.name);
  const Scope inside = within(place, own);
  prepare(inside);
  std::vector<Operation> updates;
  for (const auto& [gradient, variable] : pairs) {
    if (!gradient.has_value() || !place.status().ok()) continue;
    const Scope beside =
        inside.named(str_cat("update_", variable.name)).colocated_with(variable.op());
    const bool is_summed = !gradient.is_slices() || takes_repeated_rows();
    updates.push_back(
        apply(beside, is_summed ? gradient : summed_by_row(beside, gradient), variable));
  }
  if (!place.status().ok()) return {};
  for (Operation& more : finish(inside, updates)) updates.push_back(std::move(more));
  if (!place.status().ok()) return {};
  if (!options.global_step) return group(place, updates, own);
  const Operation updated = group(inside, updates, claim_inside(inside, "update"));
  return counted(inside.after({updated}), *options.global_step, own);
}

Variable Optimizer::slot(const Variable& variable, std::string_view slot_name) const {
  const auto found = slots_.find({std::string(slot_name), variable.name});
  return found == slots_.end() ? Variable() : found->second;
}

Variable Optimizer::make_slot(const VariableScope& scope, const Variable& variable,
                              std::string_view slot_name, double value) {
  std::pair key(std::string(slot_name), variable.name);
  if (const auto found = slots_.find(key); found != slots_.end()) return found->second;
  if (!variable.has_value()) return {};
  const Scope beside = scope.scope().colocated_with(variable.op());
  Variable made = scope.in(beside)
                      .for_variables_unused(str_cat(variable.name, "/", name_))
                      .get_variable("", variable.shape,
                                    {.dtype = variable.dtype(),
                                     .initializer = initializers::constant(value),
                                     .is_trainable = false,
                                     .beside = &variable});
  return slots_.emplace(std::move(key), std::move(made)).first->second;
}

Output Optimizer::parameter(const Scope& scope, std::string_view name, const Input& given) {
  return constant(scope.with_name(name), given,
                  given.literal() != nullptr ? DType::f32 : DType::invalid);
}

Output Optimizer::typed(const Scope& scope, const Output& parameter, const Variable& variable) {
  if (!parameter.has_value() || parameter.dtype() == variable.dtype()) return parameter;
  return ops::cast(scope, parameter, variable.dtype());
}

Operation Optimizer::apply_rule(const Scope& scope, std::string_view rule, const Variable& variable,
                                const std::vector<std::string_view>& slots,
                                const ScopeGradient& gradient, const std::vector<Output>& before,
                                const std::vector<Output>& after, Attrs attrs) const {
  std::vector<InputList> inputs = {{variable.reference}};
  for (const std::string_view name : slots) inputs.push_back({slot(variable, name).reference});
  for (const Output& each : before) inputs.push_back({each});
  inputs.push_back({gradient.values});
  if (gradient.is_slices()) inputs.push_back({gradient.indices});
  for (const Output& each : after) inputs.push_back({each});
  attrs.set("use_locking", use_locking_);
  return call_op(scope, str_cat(gradient.is_slices() ? "SparseApply" : "Apply", rule),
                 std::move(inputs), std::move(attrs));
}

}  // namespace millrace
