// Scope: where a C++ program adds nodes to a graph, and how they are named and placed.
//
//   GraphBuilder builder(*ops);
//   Scope root = builder.root();
//   Scope files = root.device("/job:files/task:0");
//   Output queue = ops::fifo_queue(files, {DType::string}, {.capacity = 10, .shared_name =
//   "names"}); Output total = x * 2 + y;
//
// A Scope is a cheap value: a handle on the builder plus the settings that new nodes get. Narrowing
// it gives another scope and leaves this one alone. Building never fails on the spot: the first
// error is kept in the builder, with the name of the node, everything that depends on it is
// silently left out, and status() (or the session that is given the graph) reports it.
//
// Not thread-safe: one thread builds. Outputs and scopes share the builder's graph and keep it
// alive.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/api/surroundings.h"
#include "millrace/graph/graph.h"

namespace millrace {

class Scope;
struct BuildState;  // build_state.h: the builder, and the first error

// A node that has been added; or nothing, after an error.
class Operation {
 public:
  Operation() = default;
  Operation(std::shared_ptr<BuildState> state, NodeId id) : state_(std::move(state)), id_(id) {}

  bool has_value() const { return state_ != nullptr && id_ != kNoNode; }
  // "" if there is no node.
  std::string name() const;
  NodeId id() const { return id_; }
  const std::shared_ptr<BuildState>& state() const { return state_; }

 private:
  std::shared_ptr<BuildState> state_;
  NodeId id_ = kNoNode;
};

// One value that a node makes.
class Output {
 public:
  Output() = default;
  Output(Operation op, int index) : op_(std::move(op)), index_(index) {}

  bool has_value() const { return op_.has_value(); }
  const Operation& op() const { return op_; }
  int index() const { return index_; }
  Endpoint endpoint() const { return {op_.id(), index_}; }
  // "scope/node:0", what feeds and fetches are called. "" if there is no node.
  std::string name() const;
  // DType::invalid if there is no node.
  DType dtype() const;

 private:
  // Programs hold one for each node, so the index goes where the operation has room left.
  [[no_unique_address]] Operation op_;
  int index_ = 0;
};

// Owns the graph while it is built.
class GraphBuilder {
 public:
  // `ops` outlives everything that is built.
  explicit GraphBuilder(const OpRegistry& ops);

  Scope root() const;
  // The first error of building, with the name of the node; OK if there was none.
  const Status& status() const;
  // What has been built so far. Valid as long as the builder.
  const Graph& graph() const;

 private:
  std::shared_ptr<BuildState> state_;
};

class Scope {
 public:
  explicit Scope(std::shared_ptr<BuildState> state, Surroundings around = {});

  // Inside another name: nodes are called "outer/prefix/node". A second scope of the same name
  // gets a number: "prefix_1".
  Scope named(std::string_view prefix) const;
  // The next node made with the result is called `name` (made unique) instead of after its op.
  Scope with_name(std::string_view name) const;
  // Nodes go to devices that match; parts that are not set come from the outer scope.
  Scope device(std::string_view device) const;
  // Nodes run after these, unless they read what was made in the same scope and so do anyway.
  Scope after(std::span<const Operation> operations) const;
  Scope after(std::initializer_list<Operation> operations) const {
    return after(std::span<const Operation>(operations.begin(), operations.size()));
  }
  // For the constants that literals become: names and device as here, and nothing else.
  Scope for_constants() const;
  // Nodes go where `operation` is, whatever device scopes say.
  Scope colocated_with(const Operation& operation) const;

  const std::shared_ptr<BuildState>& state() const { return state_; }
  // What it says of the nodes that are made in it.
  const Surroundings& surroundings() const { return around_; }
  const Status& status() const;
  // Keeps `error` (with `context`) if it is the first one.
  void fail(Status error, std::string_view context) const;

  // Adds a node called after with_name(), or else after its op. Generated op functions end here.
  // Inputs must belong to the same builder; an input without a value makes nothing.
  Operation add(std::string_view op, std::vector<Output> inputs, Attrs attrs) const;
  // Null if the builder's registry has no such op.
  const OpDef* find_op(std::string_view op) const;

 private:
  std::string unique_name(std::string_view suggestion) const;

  std::shared_ptr<BuildState> state_;
  Surroundings around_;
  std::string name_;  // of the next node; empty: after its op
};

}  // namespace millrace
