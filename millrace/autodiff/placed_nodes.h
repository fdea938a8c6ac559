// Adds the nodes of gradients: all in the surroundings in which the program asked for them, under
// the scope and beside the op that is being worked on.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "millrace/api/builder.h"
#include "millrace/autodiff/gradients.h"

namespace millrace {

class PlacedNodes {
 public:
  PlacedNodes(Builder& builder, const GradientOptions& options);

  Builder& builder() { return builder_; }
  const Builder& builder() const { return builder_; }
  const Graph& graph() const { return builder_.graph(); }
  DType dtype(Endpoint of) const { return graph()[of.node].output_types()[of.output].dtype; }

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
  std::string root_;           // "gradients"
  std::string scope_;          // claimed, or
  NodeId scope_of_ = kNoNode;  // to be claimed for this op
};

}  // namespace millrace
