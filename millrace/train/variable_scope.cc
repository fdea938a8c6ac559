#include "millrace/train/variable_scope.h"

#include <utility>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/state.h"
#include "millrace/train/node_scopes.h"

namespace millrace {

// The full names of the scopes that were opened in one scope. Who enters a scope again finds none
// of them taken, and so the same default names as the first time.
struct VariableScope::Opened {
  std::set<std::string> names = {};
  std::shared_ptr<const Opened> around = nullptr;

  bool has(const std::string& name) const {
    return names.contains(name) || (around != nullptr && around->has(name));
  }
};

struct VariableScope::Model {
  Collections collections = {};
  std::map<std::string, Variable> by_name = {};
};

namespace {

PartialShape partial(const Shape& shape) { return PartialShape(shape); }

// The nodes of a variable whose name has been claimed; `initial` adds its value in the scope it
// gets.
Variable make_variable(const Scope& scope, const std::string& name,
                       const std::function<Output(const Scope&)>& initial) {
  const Scope inside = within(lifted(scope), name);
  const Output value = initial(inside);
  if (!is_given(inside, value, "the initial value")) return {};
  const auto shape = shape_of(value).to_shape();
  if (!shape) {
    scope.fail(invalid("the initial value has shape ", shape_of(value).to_string(),
                       "; all of it must be known"),
               str_cat("variable '", name, "'"));
    return {};
  }
  Variable made{.name = name, .initial_value = value, .shape = *shape, .saved_name = name};
  made.reference = Output(add_claimed(lifted(scope), name, "VariableV2", {},
                                      {{"shape", partial(*shape)}, {"dtype", value.dtype()}}),
                          0);
  if (!made.has_value()) return {};
  const Scope beside = inside.colocated_with(made.op());
  made.initializer = ops::assign(beside.with_name("Assign"), made.reference, value).op();
  made.value = ops::identity(beside.with_name("read"), made.reference);
  return made;
}

// Where the value of a variable is computed before that is there: beside it, by its name.
Scope beside_future(const Scope& scope, const std::string& name) {
  Surroundings around = within(scope, claim_inside(scope, "Initializer")).surroundings();
  around.devices = {};
  around.groups = {str_cat("loc:@", name)};
  return Scope(scope.state(), std::move(around));
}

Scope grouped(const Scope& scope, const std::string& name) {
  Surroundings around = scope.surroundings();
  around.groups = {str_cat("loc:@", name)};
  return Scope(scope.state(), std::move(around));
}

Initializer default_initializer(DType dtype) {
  return is_floating(dtype) ? initializers::glorot_uniform() : initializers::zeros();
}

}  // namespace

std::string Variable::device() const { return device_of(op()); }

VariableScope::VariableScope(const Scope& scope)
    : scope_(scope), model_(std::make_shared<Model>()), opened_(std::make_shared<Opened>()) {}

Collections& VariableScope::collections() const { return model_->collections; }

std::string VariableScope::full_name(std::string_view name) const {
  if (name.empty()) return name_;
  return name_.empty() ? std::string(name) : str_cat(name_, "/", name);
}

std::string VariableScope::unused(std::string_view name) const {
  std::string full = full_name(name);
  if (!opened_->has(full)) return full;
  for (int number = 1;; ++number) {
    std::string numbered = str_cat(full, "_", number);
    if (!opened_->has(numbered)) return numbered;
  }
}

VariableScope VariableScope::opened(std::string name, Scope scope, Reuse reuse) const {
  VariableScope inner = *this;
  opened_->names.insert(name);
  inner.scope_ = std::move(scope);
  inner.name_ = std::move(name);
  if (reuse != Reuse::inherited) inner.reuse_ = reuse;
  inner.opened_ = std::make_shared<Opened>(Opened{.around = opened_});
  return inner;
}

VariableScope VariableScope::enter(std::string_view name, Reuse reuse) const {
  return opened(full_name(name), scope_.named(name), reuse);
}

VariableScope VariableScope::enter_unused(std::string_view name) const {
  return opened(unused(name), scope_.named(name), Reuse::inherited);
}

VariableScope VariableScope::for_variables_unused(std::string_view name) const {
  return opened(unused(name), scope_, Reuse::inherited);
}

VariableScope VariableScope::in(const Scope& scope) const {
  VariableScope inner = *this;
  inner.scope_ = scope;
  return inner;
}

Variable VariableScope::join(Variable variable) const {
  if (!variable.has_value()) return variable;
  model_->collections.global_variables.push_back(variable);
  if (variable.is_trainable) model_->collections.trainable_variables.push_back(variable);
  return variable;
}

Variable VariableScope::reused(const Variable& found, const Shape& shape, DType dtype) const {
  const std::string context = str_cat("variable '", found.name, "'");
  if (reuse_ == Reuse::none) {
    scope_.fail(
        invalid("it is there already; Reuse::all or Reuse::automatic in the scope shares it"),
        context);
    return {};
  }
  if (found.shape != shape || found.dtype() != dtype) {
    scope_.fail(invalid("it is there as ", dtype_name(found.dtype()), found.shape.to_string(),
                        " and can't be shared as ", dtype_name(dtype), shape.to_string()),
                context);
    return {};
  }
  return found;
}

Variable VariableScope::made(const std::string& full_name, const InitialValue& wanted,
                             const VariableOptions& options) const {
  if (const auto found = model_->by_name.find(full_name); found != model_->by_name.end())
    return reused(found->second, wanted.shape, options.dtype);
  if (reuse_ == Reuse::all) {
    scope_.fail(not_found("the scope has Reuse::all, and nobody has made it by get_variable"),
                str_cat("variable '", full_name, "'"));
    return {};
  }
  // The name is full already.
  const Scope outermost = within(scope_, "");
  const std::string own = claim_inside(outermost, full_name);
  const Initializer initialize =
      options.initializer ? options.initializer : default_initializer(options.dtype);
  Variable variable = make_variable(grouped(outermost, own), own, [&](const Scope& inside) {
    return initialize(beside_future(inside, own), wanted);
  });
  if (!variable.has_value()) return {};
  variable.is_trainable = options.is_trainable;
  if (options.beside != nullptr && !options.beside->slice.empty()) {
    variable.saved_name =
        str_cat(options.beside->saved_name, full_name.substr(full_name.rfind('/')));
    variable.slice = options.beside->slice;
  }
  model_->by_name.emplace(full_name, variable);
  if (options.regularizer) {
    const Scope beside = within(outermost, own).named("Regularizer");
    const Output loss = options.regularizer(beside, variable.value);
    if (loss.has_value()) model_->collections.regularization_losses.push_back(loss);
  }
  return variable;
}

Variable VariableScope::get_variable(std::string_view name, const Shape& shape,
                                     VariableOptions options) const {
  const std::string full = full_name(name);
  const bool is_known = model_->by_name.contains(full);
  const Variable variable =
      made(full, {.shape = shape, .dtype = options.dtype, .whole = shape}, options);
  return is_known ? variable : join(variable);
}

PartitionedVariable VariableScope::get_partitioned(std::string_view name, const Shape& shape,
                                                   int parts,
                                                   const VariableOptions& options) const {
  PartitionedVariable whole{.name = full_name(name), .shape = shape};
  if (shape.rank() == 0 || parts < 1 || shape[0] < parts) {
    scope_.fail(invalid("rows of shape ", shape.to_string(), " can't be spread over ", parts,
                        " parts: each must get one"),
                str_cat("variable '", whole.name, "'"));
    return whole;
  }
  // "300 8 100,50:0,8": the whole shape, then begin and length on each axis.
  std::string sizes, others;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    str_append(&sizes, shape[axis], " ");
    if (axis > 0) str_append(&others, ":0,", shape[axis]);
  }
  int64_t begin = 0;
  for (int number = 0; number < parts; ++number) {
    const int64_t rows = shape[0] / parts + (number < shape[0] % parts ? 1 : 0);
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims[0] = rows;
    const auto own_shape = Shape::create(dims);
    const std::string own_name = str_cat(whole.name, "/part_", number);
    const bool is_known = model_->by_name.contains(own_name);
    Variable part = made(
        own_name, {.shape = own_shape.value(), .dtype = options.dtype, .whole = shape}, options);
    if (!part.has_value()) return whole;
    part.saved_name = whole.name;
    part.slice = str_cat(sizes, begin, ",", rows, others);
    model_->by_name[own_name] = part;
    whole.parts.push_back(is_known ? part : join(part));
    begin += rows;
  }
  return whole;
}

Variable VariableScope::loose(std::string_view name, const Input& initial_value) const {
  return make_variable(scope_, claim_inside(scope_, name), [&](const Scope& inside) {
    return constant(inside.for_constants().with_name("initial_value"), initial_value);
  });
}

Variable VariableScope::variable(std::string_view name, const Input& initial_value,
                                 bool is_trainable) const {
  Variable variable = loose(name, initial_value);
  variable.is_trainable = is_trainable;
  return join(std::move(variable));
}

Variable VariableScope::local_variable(std::string_view name, const Input& initial_value) const {
  Variable variable = loose(name, initial_value);
  variable.is_trainable = false;
  if (variable.has_value()) model_->collections.local_variables.push_back(variable);
  return variable;
}

Variable VariableScope::global_step() const {
  std::optional<Variable>& step = model_->collections.global_step;
  if (!step) {
    VariableScope outermost = in(within(scope_, ""));
    outermost.name_.clear();
    outermost.reuse_ = Reuse::none;
    step = outermost.get_variable("global_step", {}, {.dtype = DType::i64, .is_trainable = false});
  }
  return *step;
}

Operation variables_initializer(const Scope& scope, const std::vector<Variable>& variables,
                                std::string_view name) {
  std::vector<Operation> initializers;
  for (const Variable& variable : variables) initializers.push_back(variable.initializer);
  if (!scope.status().ok()) return {};
  return group(scope, initializers, claim_inside(scope, name));
}

Operation global_variables_initializer(const VariableScope& scope) {
  return variables_initializer(scope, scope.collections().global_variables);
}

Output report_uninitialized_variables(const Scope& scope, const std::vector<Variable>& variables) {
  const Scope inside = scope.named("report_uninitialized_variables");
  InputList flags;
  std::vector<std::string> names;
  for (const Variable& variable : variables) {
    if (!is_given(inside, variable, "a variable")) return {};
    flags.emplace_back(
        ops::is_variable_initialized(inside.colocated_with(variable.op()), variable.reference));
    names.push_back(variable.name);
  }
  Output all = constant(inside, Tensor::vector<std::string>(names));
  if (names.empty()) return all;
  const Output lacks = Output(inside.add("LogicalNot", {ops::pack(inside, flags)}, {}), 0);
  const Output where = ops::squeeze(inside, Output(inside.add("Where", {lacks}, {}), 0),
                                    {.squeeze_dims = std::vector<int64_t>{1}});
  return ops::gather_v2(inside, all, where, 0);
}

}  // namespace millrace
