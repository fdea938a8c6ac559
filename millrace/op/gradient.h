// What the gradient of an op sees: handles on nodes, never a graph.
//
//   .grad = [](GradContext& g) -> Status {             // y = a * b
//     if (g.is_needed(0)) g.set_input_grad(0, g.add("Mul", {g.grad(), g.input(1)}));
//     if (g.is_needed(1)) g.set_input_grad(1, g.add("Mul", {g.grad(), g.input(0)}));
//     return {};
//   }
//
// A gradient function adds nodes and says which of their outputs are the gradients of the inputs.
// It keeps nothing and runs no kernel. What it adds is named and placed beside the op whose
// gradient it is. Errors of adding are kept here: after the first one nothing is added, and what
// `add` answers stands for nothing, so that a function reads as the formula that it is. Whoever
// walks the graph implements this interface; one thread at a time.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/op/attrs.h"
#include "millrace/op/endpoint.h"
#include "millrace/op/op_def.h"

namespace millrace {

// Some rows of a tensor of shape `dense_shape`, all others being 0: row indices[i] is values[i]. An
// index that comes twice stands for the sum. What a gather has for a gradient.
struct IndexedSlices {
  Endpoint values;
  Endpoint indices;      // int32 or int64, a vector
  Endpoint dense_shape;  // an integer vector
};

// A scalar of a number's type. Errors: INVALID_ARGUMENT for other types.
Result<Tensor> scalar_of(DType dtype, double value);

class GradContext {
 public:
  virtual ~GradContext() = default;

  // The node whose gradient is wanted: its attributes, valid until something is added, and its
  // inputs and outputs in slot order.
  virtual AttrView attrs() const = 0;
  virtual int num_inputs() const = 0;
  virtual int num_outputs() const = 0;
  virtual Endpoint input(int slot) const = 0;
  virtual Endpoint output(int slot) const = 0;

  // Of any endpoint. What stands for nothing has no type and an unknown shape.
  virtual DType dtype(Endpoint of) const = 0;
  virtual PartialShape shape(Endpoint of) const = 0;
  // The value, if it is known without running anything.
  virtual std::optional<Tensor> constant(Endpoint of) const = 0;

  // False if no gradient arrives at output `slot`.
  virtual bool has_grad(int slot) const = 0;
  // The sum of the gradients that arrive at output `slot`: zeros of its shape if none do.
  virtual Endpoint grad(int slot = 0) = 0;
  // The same where it has come as slices; none if it is dense.
  virtual std::optional<IndexedSlices> sparse_grad(int slot = 0) const = 0;
  // False if nobody asks for the gradient of input `slot`; one that is set nevertheless is dropped.
  virtual bool is_needed(int slot) const = 0;

  // Inputs without one have no gradient.
  virtual void set_input_grad(int slot, Endpoint gradient) = 0;
  virtual void set_input_grad(int slot, IndexedSlices gradient) = 0;

  // Output 0 of a new node; its other outputs have the same node.
  Endpoint add(std::string_view op, std::span<const Endpoint> inputs, Attrs attrs = {});
  Endpoint add(std::string_view op, std::initializer_list<Endpoint> inputs, Attrs attrs = {}) {
    return add(op, std::span(inputs.begin(), inputs.size()), std::move(attrs));
  }
  // Constants: a scalar of a number's type, and vectors.
  Endpoint scalar(DType dtype, double value);
  Endpoint vector(std::span<const int64_t> values);
  Endpoint vector(std::initializer_list<int64_t> values) {
    return vector(std::span(values.begin(), values.size()));
  }
  // A Shape node, or a constant where the shape is known.
  Endpoint shape_node(Endpoint of);
  // The first error of adding.
  const Status& status() const { return status_; }

 protected:
  // Errors: as for a node of a graph.
  virtual Result<Endpoint> make(std::string_view op, std::span<const Endpoint> inputs,
                                Attrs attrs) = 0;
  // The endpoint; or the error is kept.
  Endpoint keep(Result<Endpoint> made);

 private:
  Endpoint add_constant(Result<Tensor> value);

  Status status_;
};

}  // namespace millrace
