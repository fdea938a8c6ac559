// Optimizer: what changes variables so that a loss falls.
//
//   AdamOptimizer adam(0.001);
//   const Operation train = adam.minimize(model, loss, {.global_step = model.global_step()});
//
// It adds nodes and keeps which slots (variables beside a variable) it has made; it runs nothing.
// The ops, slots, names and defaults are TensorFlow's: a checkpoint of a program in Python has the
// slots that this one restores. Gradients of some rows stay rows (autodiff/scope_gradients.h). A
// class of one's own says what becomes of a variable in `apply`. One thread builds; an optimizer
// belongs to the graph that it is first used with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/autodiff/scope_gradients.h"
#include "millrace/train/variable_scope.h"

namespace millrace {

struct GradientAndVariable {
  ScopeGradient gradient = {};  // without a value: the loss does not depend on the variable
  Variable variable = {};
};

struct ComputeGradientsOptions {
  std::vector<Variable> variables = {};  // none: all trainable ones
  Output grad_loss = {};                 // what arrives at the loss; ones without a value
  Aggregation aggregation = Aggregation::add_n;
  bool gate_gradients = true;  // an op's gradients are used when all of them are there
  bool colocate_gradients_with_ops = false;
};

struct ApplyGradientsOptions {
  std::optional<Variable> global_step = std::nullopt;  // counts, after the variables have changed
  std::string name = {};                               // of the operation; "": the optimizer's
};

struct MinimizeOptions {
  std::optional<Variable> global_step = std::nullopt;
  std::vector<Variable> variables = {};
  bool colocate_gradients_with_ops = false;
  std::string name = {};
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::string& name() const { return name_; }

  // compute_gradients and apply_gradients in one.
  Operation minimize(const VariableScope& scope, const Output& loss, MinimizeOptions options = {});
  // The gradients of a loss by each variable, in their order.
  // Errors: INVALID_ARGUMENT if there is no variable, or for types that have no gradient.
  virtual std::vector<GradientAndVariable> compute_gradients(const VariableScope& scope,
                                                             const Output& loss,
                                                             ComputeGradientsOptions options = {});
  // An operation that changes the variables; those without a gradient are left out.
  // Errors: INVALID_ARGUMENT if none has one.
  virtual Operation apply_gradients(const VariableScope& scope,
                                    const std::vector<GradientAndVariable>& pairs,
                                    ApplyGradientsOptions options = {});

  // The variable in which it keeps what it knows of `variable`; without a value if there is none.
  Variable slot(const Variable& variable, std::string_view slot_name) const;

 protected:
  explicit Optimizer(std::string name, bool use_locking = false)
      : name_(std::move(name)), use_locking_(use_locking) {}

  bool use_locking() const { return use_locking_; }

  // Makes what slots these variables need, and other variables of the optimizer.
  virtual void create_slots(const VariableScope& /*scope*/,
                            const std::vector<Variable>& /*variables*/) {}
  // Adds nodes of its parameters in the scope of the nodes that use them.
  virtual void prepare(const Scope& /*scope*/) {}
  // An operation that changes a variable; the scope is beside it. If the gradient is rows, none
  // comes twice unless takes_repeated_rows().
  virtual Operation apply(const Scope& scope, const ScopeGradient& gradient,
                          const Variable& variable) = 0;
  virtual bool takes_repeated_rows() const { return false; }
  // More that belongs to a step of all variables, after `updates`: they join them.
  virtual std::vector<Operation> finish(const Scope& /*scope*/,
                                        const std::vector<Operation>& /*updates*/) {
    return {};
  }

  // A slot that begins with a number everywhere, made once.
  Variable make_slot(const VariableScope& scope, const Variable& variable,
                     std::string_view slot_name, double value);
  // A parameter as a value of the graph: a number becomes a float constant, as in TensorFlow.
  static Output parameter(const Scope& scope, std::string_view name, const Input& given);
  // A parameter in the type of a variable.
  static Output typed(const Scope& scope, const Output& parameter, const Variable& variable);
  // The op "Apply<rule>", or "SparseApply<rule>" for rows, of a variable, its slots, and `before`
  // and `after` the gradient.
  Operation apply_rule(const Scope& scope, std::string_view rule, const Variable& variable,
                       const std::vector<std::string_view>& slots, const ScopeGradient& gradient,
                       const std::vector<Output>& before, const std::vector<Output>& after = {},
                       Attrs attrs = {}) const;

 private:
  const std::string name_;
  const bool use_locking_;
  std::map<std::pair<std::string, std::string>, Variable> slots_;  // (slot, variable's name)
};

}  // namespace millrace
