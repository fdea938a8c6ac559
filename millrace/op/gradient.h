// What the gradient of an op sees: handles on nodes, never a graph.
//
//   .grad = [](GradContext& g) -> Status {             // y = a * b
//     MR_ASSIGN(const Endpoint by_a, g.add("Mul", {g.grad(0), g.input(1)}));
//     MR_ASSIGN(const Endpoint by_b, g.add("Mul", {g.grad(0), g.input(0)}));
//     g.set_input_grad(0, by_a);
//     g.set_input_grad(1, by_b);
//     return {};
//   }
//
// A gradient function adds nodes and says which of their outputs are the gradients of the inputs.
// It keeps nothing, runs no kernel, and need not ask is_needed(): what nobody needs is pruned.
// Nodes that it adds are named and placed beside the op whose gradient they are. Whoever walks the
// graph implements this interface; one thread at a time.
#pragma once

#include <span>
#include <string_view>

#include "millrace/op/attrs.h"
#include "millrace/op/endpoint.h"
#include "millrace/op/op_def.h"

namespace millrace {

class GradContext {
 public:
  virtual ~GradContext() = default;

  // The node whose gradient is wanted: its attributes, inputs and outputs in slot order.
  virtual AttrView attrs() const = 0;
  virtual int num_inputs() const = 0;
  virtual int num_outputs() const = 0;
  virtual Endpoint input(int slot) const = 0;
  virtual Endpoint output(int slot) const = 0;
  // What is known of the shape of any endpoint.
  virtual PartialShape shape(Endpoint of) const = 0;

  // False if no gradient arrives at output `slot`.
  virtual bool has_grad(int slot) const = 0;
  // The sum of the gradients that arrive at output `slot`: zeros of its shape if none do.
  virtual Endpoint grad(int slot) = 0;
  // False if nobody asks for the gradient of input `slot`.
  virtual bool is_needed(int slot) const = 0;

  // Output 0 of a new node. Errors: as for a node of a graph.
  virtual Result<Endpoint> add(std::string_view op, std::span<const Endpoint> inputs,
                               Attrs attrs = {}) = 0;
  // Inputs without one have no gradient.
  virtual void set_input_grad(int slot, Endpoint gradient) = 0;
};

}  // namespace millrace
