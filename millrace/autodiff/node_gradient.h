// One node's side of the walk: what its gradient function sees, and what it has said.
#pragma once

#include <functional>
#include <vector>

#include "millrace/autodiff/between.h"
#include "millrace/autodiff/placed_nodes.h"
#include "millrace/op/gradient.h"

namespace millrace {

class NodeGradient final : public GradContext {
 public:
  // `arriving`: an entry per output of `node`.
  NodeGradient(PlacedNodes& nodes, const Between& between, NodeId node,
               std::vector<Gradient> arriving);

  // Asks the source, if it has the node's gradient, else the op. The gradients of the inputs, in
  // slot order, each of the type and, as far as that is known, the shape of its input. Errors: see
  // add_gradients().
  Result<std::vector<Gradient>> ask(GradientSource* source);

  AttrView attrs() const override { return node().attr_view(); }
  int num_inputs() const override { return static_cast<int>(node().inputs.size()); }
  int num_outputs() const override { return node().num_outputs(); }
  Endpoint input(int slot) const override { return node().inputs[static_cast<size_t>(slot)]; }
  Endpoint output(int slot) const override { return {id_, slot}; }
  DType dtype(Endpoint of) const override;
  PartialShape shape(Endpoint of) const override;
  std::optional<Tensor> constant(Endpoint of) const override;
  bool has_grad(int slot) const override {
    return arriving_[static_cast<size_t>(slot)].has_value();
  }
  Endpoint grad(int slot) override;
  std::optional<IndexedSlices> sparse_grad(int slot) const override {
    return arriving_[static_cast<size_t>(slot)].slices;
  }
  bool is_needed(int slot) const override {
    return between_.leads_to_x(nodes_.graph(), input(slot));
  }
  void set_input_grad(int slot, Endpoint gradient) override {
    if (is_needed(slot)) leaving_[static_cast<size_t>(slot)] = {.dense = gradient};
  }
  void set_input_grad(int slot, IndexedSlices gradient) override {
    if (is_needed(slot)) leaving_[static_cast<size_t>(slot)] = {.slices = gradient};
  }

 private:
  const Node& node() const { return nodes_.graph()[id_]; }
  std::string who() const;  // for errors
  Result<Endpoint> make(std::string_view op, std::span<const Endpoint> inputs,
                        Attrs attrs) override;
  Status ask_op();
  Status ask_source(GradientSource& source);
  Status check_input_grad(int slot);

  PlacedNodes& nodes_;
  const Between& between_;
  const NodeId id_;
  std::vector<Gradient> arriving_;
  std::vector<Gradient> leaving_;
};

}  // namespace millrace
