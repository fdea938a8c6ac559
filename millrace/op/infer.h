// Shape inference: from what is known of a node's inputs to what is known of its outputs.
//
// A rule is a function Status(InferContext&) on the OpDef. It may read attributes, input shapes,
// and input values where they are constants. It sets every output it knows something about. Errors
// are INVALID_ARGUMENT with the shapes in the message: a graph that can't run is refused when
// built.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

#include "millrace/op/attrs.h"
#include "millrace/op/op_def.h"

namespace millrace {

// What is known of the elements of an integer vector or scalar, in their order; nullopt for one
// that is not known. Of the shape of a batch whose size only a feed tells, all but the first.
using KnownElements = std::vector<std::optional<int64_t>>;

class InferContext {
 public:
  // Answers for what is no constant: the elements of the input in a slot, nullopt if not even their
  // number is known, or they are no integers.
  using AskElements = absl::FunctionRef<std::optional<KnownElements>(int slot)>;

  // `inputs` in slot order; `constants` has a value for inputs that are known, nullptr otherwise.
  // `ask` null: nobody knows. It outlives the context.
  InferContext(AttrView attrs, std::span<const PartialShape> inputs,
               std::span<const Tensor* const> constants, int num_outputs,
               const AskElements* ask = nullptr);

  AttrView attrs() const { return attrs_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const PartialShape& input(int slot) const { return inputs_[slot]; }
  // The value of a constant input; null if it is not known yet.
  const Tensor* constant(int slot) const;
  // What is known of an input that sizes are read from; nullopt if nothing is.
  std::optional<KnownElements> elements(int slot) const;
  // The same if all of them are known.
  std::optional<std::vector<int64_t>> all_elements(int slot) const;
  void set_output(int slot, PartialShape shape) { outputs_[slot] = std::move(shape); }
  // What may have failed: its error then.
  template <std::same_as<Result<PartialShape>> R>
  Status set_output(int slot, R shape) {
    if (!shape.ok()) return std::move(shape).status();
    set_output(slot, *std::move(shape));
    return {};
  }
  const PartialShape& output(int slot) const { return outputs_[slot]; }
  std::vector<PartialShape> take_outputs() && { return std::move(outputs_); }

  // The input's shape if it has (or may have) this rank; INVALID_ARGUMENT naming the slot if not.
  Result<PartialShape> input_of_rank(int slot, int rank) const;

 private:
  AttrView attrs_;
  std::span<const PartialShape> inputs_;
  std::span<const Tensor* const> constants_;
  const AskElements* ask_;
  std::vector<PartialShape> outputs_;
};

// Rules that many ops share.
namespace infer {
// Output 0 has the shape of input 0.
Status same_as_input(InferContext& context);
// Output 0 has what input 0 and input 1 broadcast to, by NumPy's rules.
Status broadcast(InferContext& context);
// Every output is a scalar.
Status scalar(InferContext& context);
// Output 0 has the shape of the attribute "shape".
Status shape_attr(InferContext& context);
// There are no outputs.
Status no_outputs(InferContext& context);
// Nothing is known.
Status unknown(InferContext& context);
}  // namespace infer

// For OpDef::elements: the output has the elements of input 0.
std::optional<KnownElements> elements_of_input(const InferContext& context);
// What is known of a tensor; nullopt unless it is an int32 or int64 vector or scalar of few
// elements.
std::optional<KnownElements> elements_of(const Tensor& tensor);

// NumPy's broadcasting of two shapes. Errors: INVALID_ARGUMENT naming both.
Result<PartialShape> broadcast_shapes(const PartialShape& a, const PartialShape& b);
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace millrace
