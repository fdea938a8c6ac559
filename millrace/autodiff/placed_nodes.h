// Adds the nodes of gradients: all in the surroundings in which the program asked for them, under
// the scope and beside the op that is being worked on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/api/builder.h"
#include "millrace/autodiff/gradients.h"

namespace millrace {

// The inside of a reversed loop, where gradients of what is in the loop are made.
class ReversedPlace : public FlowContext {
 public:
  // Output 0 of an op that reads no element of `of`, only its shape, made beside `of` in the loop
  // itself: so that the shape is kept, and not the value. None if `of` is not computed there.
  virtual Result<std::optional<Endpoint>> told_of(Endpoint of, std::string_view op,
                                                  const Attrs& attrs) = 0;
};

class PlacedNodes {
 public:
  PlacedNodes(Builder& builder, const GradientOptions& options);

  Builder& builder() { return builder_; }
  const Builder& builder() const { return builder_; }
  const Graph& graph() const { return builder_.graph(); }
  DType dtype(Endpoint of) const { return graph()[of.node].output_types()[of.output].dtype; }

  // What the program called this, made unique: "gradients_1".
  const std::string& root() const { return root_; }
  // From now on nodes run inside of `place`; null: where the program is. Returns where they ran.
  std::shared_ptr<ReversedPlace> run_in(std::shared_ptr<ReversedPlace> place);
  // Lets a value in where the program is.
  Result<Endpoint> let_in(Endpoint value);

  // From now on nodes go where `op` is, if the options want that; kNoNode: nowhere in particular.
  void beside(NodeId op);
  // From now on nodes stand in "gradients/<op>_grad"; the scope is taken when it gets a node.
  void enter_scope_of(NodeId op);
  // From now on nodes stand in "gradients".
  void leave_scope();

  // Output 0 of a node that is called after its op, or `name`.
  Result<Endpoint> add(std::string_view op, std::span<const Endpoint> inputs, Attrs attrs = {},
                       std::string_view name = {});
  Result<Endpoint> add(std::string_view op, std::initializer_list<Endpoint> inputs,
                       Attrs attrs = {}, std::string_view name = {}) {
    return add(op, std::span(inputs.begin(), inputs.size()), std::move(attrs), name);
  }
  Result<Endpoint> add_constant(Tensor value, std::string_view name = {});
  // A node of control flow itself: it has just these inputs, and runs where they say.
  struct Plumbing {
    std::string_view op;
    std::vector<Endpoint> inputs = {};
    Attrs attrs = {};
    std::string_view name = {};
    std::vector<NodeId> after = {};
  };
  Result<Endpoint> add_plumbing(Plumbing node);
  Result<Endpoint> zeros(DType type, const Shape& shape);
  // Zeros of the type and shape of a tensor.
  Result<Endpoint> zeros_like(Endpoint of);
  // Runs what adds nodes through the builder as a program does: they stand where those of `add` do.
  template <class Run>
  auto as_program(Run&& run) {
    claim_scope();
    Surroundings here = around_;
    here.name_scope = scope_;
    std::swap(builder_.current(), here);
    auto made = std::forward<Run>(run)();
    std::swap(builder_.current(), here);
    return made;
  }

 private:
  void claim_scope();

  Builder& builder_;
  const bool colocates_;
  Surroundings around_;
  const std::shared_ptr<FlowContext> flow_;  // of the program
  std::shared_ptr<ReversedPlace> place_;
  std::string root_;           // "gradients"
  std::string scope_;          // claimed, or
  NodeId scope_of_ = kNoNode;  // to be claimed for this op
};

}  // namespace millrace
