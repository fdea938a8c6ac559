// Part of families.h: register_compressed_elements.
//
// TensorFlow packs elements that go from one process to another, from its data service to a worker.
// Here a packed element stays where it is made: its tensors are held as they are, and unpacking
// costs nothing.
#include <utility>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/data/families.h"
#include "millrace/tensor/boxes.h"

namespace millrace::data {
namespace {

constexpr std::string_view kCompressed = "tensorflow.data.CompressedElement";

Result<Tensor> compress(KernelContext& context) {
  std::vector<Tensor> components;
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    // Kept longer than the step, maybe.
    MR_ASSIGN(Tensor kept, context.input(slot).kept());
    components.push_back(std::move(kept));
  }
  MR_ASSIGN(Variant made, boxed(kCompressed, std::move(components)));
  return Tensor::scalar(std::move(made));
}

Status uncompress(KernelContext& context) {
  const Tensor& given = context.input(0);
  if (given.num_elements() != 1 || given.flat<Variant>()[0].type_name != kCompressed)
    return invalid("Input does not contain a compressed element. Instead got tensor ",
                   given.to_string(3));
  const std::vector<Tensor>& components = given.flat<Variant>()[0].tensors;
  const auto outputs = static_cast<size_t>(context.num_outputs());
  if (components.size() != outputs)
    return failed_precondition("Expected ", outputs, " outputs from uncompress, but got ",
                               components.size());
  for (size_t i = 0; i < outputs; ++i) {
    const DType wanted = context.output_dtype(static_cast<int>(i));
    if (components[i].dtype() != wanted)
      return failed_precondition("Expected a tensor of type ", dtype_name(wanted),
                                 " for component ", i, " but got a tensor of type ",
                                 dtype_name(components[i].dtype()));
  }
  for (size_t i = 0; i < outputs; ++i) context.set_output(static_cast<int>(i), components[i]);
  return {};
}

Status infer_uncompressed(InferContext& context) {
  MR_ASSIGN(const auto shapes, context.attrs().shapes("output_shapes"));
  if (shapes.size() != static_cast<size_t>(context.num_outputs()))
    return invalid("output_shapes has ", shapes.size(), " shapes for ", context.num_outputs(),
                   " output_types; each component has one of both");
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    context.set_output(slot, shapes[static_cast<size_t>(slot)]);
  return {};
}

}  // namespace

Status register_compressed_elements(OpRegistry& ops) {
  const char* const why = "an element in a variant is no number";
  MR_TRY(ops.add({.name = "CompressElement",
                  .doc = "The tensors of an element of a dataset in one variant.",
                  .signature = "components: input_types -> compressed: variant | "
                               "input_types: list(type) >= 1",
                  .infer = infer::scalar,
                  .cpu = kernel(compress),
                  .not_differentiable = why,
                  .foldable = false,
                  .cost = Cost::cheap}));
  return ops.add({.name = "UncompressElement",
                  .doc = "The tensors that CompressElement has put into a variant.",
                  .signature = "compressed: variant -> components: output_types | "
                               "output_types: list(type) >= 1, output_shapes: list(shape) >= 1",
                  .infer = infer_uncompressed,
                  .cpu = kernel(uncompress),
                  .not_differentiable = why,
                  .foldable = false,
                  .cost = Cost::cheap});
}

}  // namespace millrace::data
