#include "millrace/api/scope.h"

#include <utility>

#include "millrace/api/build_state.h"
#include "millrace/op/device_name.h"

namespace millrace {

std::string Operation::name() const {
  return has_value() ? std::string(state_->builder->graph()[id_].name) : "";
}

std::string Output::name() const { return has_value() ? str_cat(op_.name(), ":", index_) : ""; }

DType Output::dtype() const {
  if (!has_value()) return DType::invalid;
  return op_.state()->builder->graph()[op_.id()].output_types()[index_].dtype;
}

GraphBuilder::GraphBuilder(const OpRegistry& ops)
    : state_(std::make_shared<BuildState>(std::make_shared<Builder>(ops))) {}
Scope GraphBuilder::root() const { return Scope(state_); }
const Status& GraphBuilder::status() const { return state_->error; }
const Graph& GraphBuilder::graph() const { return state_->builder->graph(); }

Scope::Scope(std::shared_ptr<BuildState> state, Surroundings around)
    : state_(std::move(state)), around_(std::move(around)) {}

Scope Scope::named(std::string_view prefix) const {
  Scope inner = *this;
  inner.around_.name_scope = state_->builder->claim_name(around_.inside(prefix));
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
  auto wanted = DeviceName::parse(device);
  if (!wanted.ok()) {
    fail(wanted.status(), str_cat("device scope '", device, "'"));
  } else {
    inner.around_.devices =
        around_.devices.with({.kind = DeviceStack::Entry::Kind::spec, .spec = *std::move(wanted)});
  }
  return inner;
}

Scope Scope::after(std::span<const Operation> operations) const {
  Scope inner = *this;
  auto controls = std::make_shared<ControlScope>();
  for (const Operation& operation : operations) {
    if (!operation.has_value()) {
      fail(invalid("a control dependency is no node"), "scope");
    } else if (operation.state() != state_) {
      fail(invalid("node '", operation.name(), "' belongs to another graph"), "scope");
    } else {
      controls->nodes.push_back(operation.id());
    }
  }
  inner.around_.controls.push_back(std::move(controls));
  return inner;
}

Scope Scope::colocated_with(const Operation& operation) const {
  Scope inner = *this;
  if (!operation.has_value()) {
    fail(invalid("nothing to be colocated with"), "scope");
  } else {
    inner.around_.colocated_with.push_back(operation.id());
    inner.around_.devices = {};  // the other node's device counts
  }
  return inner;
}

Scope Scope::for_constants() const {
  return Scope(state_, {.name_scope = around_.name_scope,
                        .devices = around_.devices,
                        .flow = around_.flow,
                        .is_plumbing = around_.is_plumbing});
}

const Status& Scope::status() const { return state_->error; }

void Scope::fail(Status error, std::string_view context) const {
  if (state_->error.ok()) state_->error = error.with(context);
}

const OpDef* Scope::find_op(std::string_view op) const {
  return state_->builder->graph().ops().find(op);
}

std::string Scope::unique_name(std::string_view suggestion) const {
  return state_->builder->claim_name(around_.inside(suggestion));
}

Operation Scope::add(std::string_view op, std::vector<Output> inputs, Attrs attrs) const {
  if (!state_->error.ok()) return {};
  Builder::NewNode node{.name = unique_name(name_.empty() ? op : std::string_view(name_)),
                        .op = op,
                        .attrs = std::move(attrs)};
  for (const Output& input : inputs) {
    if (!input.has_value() || input.op().state() != state_) {
      fail(
          invalid(input.has_value() ? "an input belongs to another graph" : "an input is no value"),
          str_cat("node '", node.name, "' (", op, ")"));
      return {};
    }
    node.inputs.push_back(input.endpoint());
  }
  const std::string name = node.name;
  auto id = state_->builder->add(std::move(node), around_);
  if (!id.ok()) {
    fail(id.status(), str_cat("node '", name, "'"));
    return {};
  }
  return Operation(state_, *id);
}

}  // namespace millrace
