// VariableScope: where a model is built: a Scope for its nodes, and a place in the names of its
// variables.
//
//   GraphBuilder graph(ops);
//   const VariableScope model(graph.root());
//   const Variable w = model.get_variable("w", {784, 10});
//   const Output logits = layers::dense(model.enter("head"), x, 10);   // head/dense/kernel
//   const Operation init = global_variables_initializer(model);
//
// A cheap value, as Scope is: narrowing gives another one. All that are made from one share what
// the model adds up to, its Collections; there is no hidden default. It stands for its Scope
// wherever an op function wants one. Names, and what is made once and shared on request, are as
// tf.get_variable and tf.variable_scope have them, so that the same model has the same checkpoints
// in every language. Building never fails on the spot (api/scope.h). One thread builds.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/train/initializers.h"
#include "millrace/train/variable.h"

namespace millrace {

// What a model adds up to, in the order in which it was made.
struct Collections {
  std::vector<Variable> global_variables = {};
  std::vector<Variable> trainable_variables = {};
  std::vector<Variable> local_variables = {};  // of this task: in no checkpoint
  std::vector<Output> losses = {};
  std::vector<Output> regularization_losses = {};
  std::vector<Operation> update_ops = {};  // what a step of training has to run with it
  std::optional<Variable> global_step = std::nullopt;
};

// A function of a variable's value that gives a scalar, which joins the losses.
using Regularizer = std::function<Output(const Scope&, const Output&)>;

struct VariableOptions {
  DType dtype = DType::f32;
  // None: glorot_uniform for floating types, zeros for others.
  Initializer initializer = nullptr;
  Regularizer regularizer = nullptr;
  bool is_trainable = true;
  // Of the same shape, and what the new one is kept for: if this one is a part, so is that, in
  // checkpoints. Null: none. Read while the variable is made.
  const Variable* beside = nullptr;
};

// What get_variable does where a name is there already, or is not.
enum class Reuse : uint8_t {
  inherited,  // as the scope around has it
  none,       // makes it; an error if it is there
  all,        // gives it; an error if it is not there
  automatic,  // gives it, and makes it first if need be
};

class VariableScope {
 public:
  explicit VariableScope(const Scope& scope);

  // NOLINTNEXTLINE(google-explicit-constructor): it stands for its scope.
  operator const Scope&() const { return scope_; }
  const Scope& scope() const { return scope_; }
  const std::string& name() const { return name_; }
  Collections& collections() const;

  // Names of variables and of nodes go on with `name`: variables "name/w", each time.
  VariableScope enter(std::string_view name, Reuse reuse = Reuse::inherited) const;
  // The same with a name of its own: `name`, or name_1, name_2 … if one was entered here before.
  VariableScope enter_unused(std::string_view name) const;
  // enter_unused for variables alone: nodes are named as they were.
  VariableScope for_variables_unused(std::string_view name) const;
  // The same names of variables, and nodes that are made in `scope`.
  VariableScope in(const Scope& scope) const;
  VariableScope device(std::string_view device) const { return in(scope_.device(device)); }

  // The variable "scope/name": a new one, or where the scope reuses, the one that is there. Nodes
  // of a regularizer stand beside it. Errors: INVALID_ARGUMENT for a name that is there, or is not,
  // against Reuse; for another type or shape than it has.
  Variable get_variable(std::string_view name, const Shape& shape,
                        VariableOptions options = {}) const;
  // The same with its rows spread over `parts` variables "scope/name/part_0" …, which a checkpoint
  // has as one. Errors: as there; for a scalar, or fewer rows than parts.
  PartitionedVariable get_partitioned(std::string_view name, const Shape& shape, int parts,
                                      const VariableOptions& options = {}) const;
  // A variable that begins with this value, called `name`, or name_1, name_2 …, after the scope of
  // nodes: tf.Variable. Its shape must be known.
  Variable variable(std::string_view name, const Input& initial_value,
                    bool is_trainable = true) const;
  // The same for a variable of this task alone, which joins local_variables and no others: whoever
  // has it gives it its first value.
  Variable local_variable(std::string_view name, const Input& initial_value) const;
  // The variable "global_step", which counts the steps of training; made when it is first asked
  // for.
  Variable global_step() const;

 private:
  struct Opened;
  struct Model;

  VariableScope opened(std::string name, Scope scope, Reuse reuse) const;
  std::string full_name(std::string_view name) const;
  std::string unused(std::string_view name) const;
  Variable reused(const Variable& found, const Shape& shape, DType dtype) const;
  Variable loose(std::string_view name, const Input& initial_value) const;
  Variable made(const std::string& full_name, const InitialValue& wanted,
                const VariableOptions& options) const;
  Variable join(Variable variable) const;

  Scope scope_;
  std::string name_;
  Reuse reuse_ = Reuse::none;
  std::shared_ptr<Model> model_;    // of all scopes of one model
  std::shared_ptr<Opened> opened_;  // the scopes that were opened in this one
};

// An operation that gives all variables their initial values.
Operation global_variables_initializer(const VariableScope& scope);
// The same for some of them, as an operation `name`.
Operation variables_initializer(const Scope& scope, const std::vector<Variable>& variables,
                                std::string_view name = "init");
// The names of those that have no value yet, a vector of strings.
Output report_uninitialized_variables(const Scope& scope, const std::vector<Variable>& variables);

}  // namespace millrace
