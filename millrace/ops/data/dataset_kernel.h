// DatasetKernel: what ops do whose output is a dataset. Each says how one is made of its inputs;
// nothing is read or computed before somebody walks along it.
//
//   ops.add(dataset_op("TakeDataset", "The first `count` elements of a dataset.",
//                      "input_dataset: variant, count: int64", "", [](DatasetInputs& in) { … }));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/op/kernel.h"
#include "millrace/op/registry.h"
#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// A node's attributes, kept beyond the making of its kernel.
struct DatasetNode {
  std::string name;
  const OpDef* op;
  Attrs attrs;
  std::shared_ptr<FunctionSpace> functions;  // null: none were given

  AttrView attr_view() const { return {*op, attrs}; }
};

// One run of a dataset's kernel: its inputs, read by slot, with TensorFlow's words for what they
// must be.
class DatasetInputs {
 public:
  DatasetInputs(KernelContext& context, const DatasetNode& node) : context_(context), node_(node) {}

  KernelContext& context() { return context_; }
  AttrView attrs() const { return node_.attr_view(); }
  // From "output_types" (or another list of types) and "output_shapes".
  // Errors: INVALID_ARGUMENT if they differ in number.
  Result<Dataset::Components> components(std::string_view types = "output_types") const;
  Result<DatasetPtr> dataset(int slot = 0) const;
  // Errors: INVALID_ARGUMENT "<what> must be a scalar".
  template <class T>
  Result<T> scalar(int slot, std::string_view what) const {
    const Tensor& given = context_.input(slot);
    if (given.shape().rank() != 0) return invalid(what, " must be a scalar");
    return given.item<T>();
  }
  // The tensors of an input that is a list, by its name.
  Result<std::vector<Tensor>> list(std::string_view input) const;
  // The function that the attribute names, with the tensors of the list input `captured`.
  Result<CapturedPtr> function(std::string_view attr = "f",
                               std::string_view captured = "other_arguments") const;

 private:
  KernelContext& context_;
  const DatasetNode& node_;
};

using MakeDataset = std::function<Result<DatasetPtr>(DatasetInputs&)>;

// The kernel of an op that makes a dataset.
KernelFactory dataset_kernel(MakeDataset make);

// "output_types: list(type) >= 1, output_shapes: list(shape) >= 1"
inline constexpr const char* kOutputs =
    "output_types: list(type) >= 1, output_shapes: list(shape) >= 1";

// Whether a dataset's op says, as TensorFlow's do, that it must not be folded: a source.
enum class Kind : uint8_t { source, derived };

// An op of inputs and attributes in signature.h's words; `attrs` may be kOutputs and more. As
// TensorFlow's it has `metadata` last, unless it is an old name, or one of those that rewrite.
OpDef dataset_op(std::string name, std::string doc, const std::string& inputs,
                 const std::string& attrs, MakeDataset make, Kind kind = Kind::derived);

}  // namespace millrace::data
