#include "millrace/api/scope.h"

#include <utility>

#include "millrace/api/build_state.h"
#include "millrace/op/device_name.h"

namespace millrace {

std::string Operation::name() const { return has_value() ? state_->graph[id_].name : ""; }

std::string Output::name() const { return has_value() ? str_cat(op_.name(), ":", index_) : ""; }

DType Output::dtype() const {
  if (!has_value()) return DType::invalid;
  return op_.state()->graph[op_.id()].output_types[index_].dtype;
}

GraphBuilder::GraphBuilder(const OpRegistry& ops) : state_(std::make_shared<BuildState>(ops)) {}
Scope GraphBuilder::root() const { return Scope(state_); }
const Status& GraphBuilder::status() const { return state_->error; }
const Graph& GraphBuilder::graph() const { return state_->graph; }

Scope::Scope(std::shared_ptr<BuildState> state) : state_(std::move(state)) {}

Scope Scope::named(std::string_view prefix) const {
  Scope inner = *this;
  inner.prefix_ = str_cat(state_->names.claim(str_cat(prefix_, prefix)), "/");
  inner.name_.clear();
  return inner;
}

Scope Scope::with_name(std::string_view name) const {
  Scope inner = *this;
  inner.name_ = name;
  return inner;
}

Scope Scope::device(std::string_view device) const {
  Scope inner = *this;
  auto outer = DeviceName::parse(device_);
  auto wanted = DeviceName::parse(device);
  if (!wanted.ok()) {
    fail(wanted.status(), str_cat("device scope '", device, "'"));
  } else {
    inner.device_ = outer->overridden_by(*wanted).to_string();
  }
  return inner;
}

Scope Scope::after(std::span<const Operation> operations) const {
  Scope inner = *this;
  for (const Operation& operation : operations) {
    if (!operation.has_value()) {
      fail(invalid("a control dependency is no node"), "scope");
    } else if (operation.state() != state_) {
      fail(invalid("node '", operation.name(), "' belongs to another graph"), "scope");
    } else {
      inner.control_inputs_.push_back(operation.id());
    }
  }
  return inner;
}

Scope Scope::colocated_with(const Operation& operation) const {
  Scope inner = *this;
  if (!operation.has_value()) {
    fail(invalid("nothing to be colocated with"), "scope");
  } else {
    inner.colocation_.push_back(str_cat("loc:@", operation.name()));
    inner.device_.clear();  // the other node's device counts
  }
  return inner;
}

Scope Scope::for_constants() const {
  Scope plain(state_);
  plain.prefix_ = prefix_;
  plain.device_ = device_;
  return plain;
}

const Status& Scope::status() const { return state_->error; }

void Scope::fail(Status error, std::string_view context) const {
  if (state_->error.ok()) state_->error = error.with(context);
}

const OpDef* Scope::find_op(std::string_view op) const { return state_->graph.ops().find(op); }

std::string Scope::unique_name(std::string_view suggestion) const {
  return state_->names.claim(str_cat(prefix_, suggestion));
}

Operation Scope::add(std::string_view op, std::vector<Output> inputs, Attrs attrs) const {
  if (!state_->error.ok()) return {};
  Graph::NewNode node{.name = unique_name(name_.empty() ? op : std::string_view(name_)), .op = op};
  for (const Output& input : inputs) {
    if (!input.has_value() || input.op().state() != state_) {
      fail(
          invalid(input.has_value() ? "an input belongs to another graph" : "an input is no value"),
          str_cat("node '", node.name, "' (", op, ")"));
      return {};
    }
    node.inputs.push_back(input.endpoint());
  }
  node.control_inputs = control_inputs_;
  if (!colocation_.empty()) attrs.set("_class", colocation_);
  node.attrs = std::move(attrs);
  node.device = device_;
  const std::string name = node.name;
  auto id = state_->graph.add(std::move(node));
  if (!id.ok()) {
    fail(id.status(), str_cat("node '", name, "'"));
    return {};
  }
  return Operation(state_, *id);
}

}  // namespace millrace
