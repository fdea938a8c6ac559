// Gradients: nodes in, nodes out. What a program calls tf.gradients is this and no more.
//
// The walk goes from the ys back to the xs, over the nodes that lie between, and asks each op for
// its gradient (op/gradient.h); what it adds stands in a scope of its own
// ("gradients/MatMul_grad/…"). It costs by how many nodes the ys are computed from, and it runs
// nothing. A gradient of a gather stays sparse until an op wants it dense. It knows neither
// sessions nor devices that exist; it adds by the builder's rules, in the surroundings where the
// program is. One thread at a time, as the builder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/api/builder.h"
#include "millrace/op/gradient.h"

namespace millrace {

// The gradient of one x: nothing, a tensor, or slices of one.
struct Gradient {
  Endpoint dense = {};
  std::optional<IndexedSlices> slices = {};

  bool has_value() const { return slices.has_value() || dense.node != kNoNode; }
};

// How gradients that arrive at one output from several sides are added up.
enum class Aggregation : uint8_t {
  add_n,  // all at once, when the last one is there
  tree,   // two by two, so that less memory is held at a time
};

// Gradients that a program has for nodes of its own: asked before the op is. A front-end's answer
// to `tf.RegisterGradient` and `gradient_override_map`.
class GradientSource {
 public:
  virtual ~GradientSource() = default;
  // True if this source has the gradient of a node. Asked of each node that a gradient arrives at.
  virtual bool has(NodeId node) = 0;
  // The gradients of the node's inputs, an entry for each; without a value where there is none.
  // `arriving` has an entry for each output, zeros for those of types with gradients that nothing
  // arrives at. What it adds through the builder stands where the walk's own nodes would.
  virtual Result<std::vector<Gradient>> gradients(NodeId node,
                                                  std::span<const Gradient> arriving) = 0;
};

struct GradientOptions {
  std::string name = "gradients";
  // What arrives at each y: ones where there is none, or if there are none at all.
  std::vector<Endpoint> grad_ys = {};
  // Outputs that count as constants: what their nodes are computed from has no gradient by them.
  std::vector<Endpoint> stop_gradients = {};
  Aggregation aggregation = Aggregation::add_n;
  // Nodes go where the op is whose gradient they are; otherwise where the program is.
  bool colocate_with_ops = false;
  // No gradient of an op's inputs is used before all of them are there.
  bool gate_gradients = false;
  // An x that no y depends on has zeros; otherwise nothing.
  bool zeros_if_unconnected = false;
  // Asked before the ops; null for nobody. Outlives the call.
  GradientSource* source = nullptr;
};

// Adds the gradients of the sum of `ys` by each x, in order.
//
// Errors: NOT_FOUND for an op on the way that has no gradient; UNIMPLEMENTED for loops and calls
// of functions on the way, and for what a gradient function can't do yet; INVALID_ARGUMENT
// for endpoints that don't exist, a grad_y that doesn't fit its y or is missing for a complex one,
// a gradient that doesn't fit; what the source says. All name the node and its op. What was added
// until then stays.
Result<std::vector<Gradient>> add_gradients(Builder& builder, std::span<const Endpoint> ys,
                                            std::span<const Endpoint> xs,
                                            const GradientOptions& options = {});

}  // namespace millrace
