// Part of families.h: register_tensor_summaries.
#include "millrace/format/shape_codec.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/summary/families.h"
#include "millrace/ops/summary/summary_message.h"

namespace millrace {
namespace {

// A TensorProto as TensorFlow's encoder for summaries writes it: the bytes of elements in one
// piece, strings one by one, and the shape also of scalars.
Status put_tensor(const Tensor& tensor, std::string* out) {
  if (tensor.dtype() == DType::resource || tensor.dtype() == DType::variant) {
    return unimplemented("a summary can't hold a tensor of type ", dtype_name(tensor.dtype()),
                         ": give it numbers or strings");
  }
  const wire::NestedField message(out, summary::kTensor, tensor.num_bytes());
  summary::put_number(out, summary::kDType, static_cast<int64_t>(tensor.dtype()));
  {
    // Not wire::put_shape, which writes dims of 0: TensorFlow's encoder leaves them out.
    const wire::NestedField shape(out, summary::kShape);
    for (const int64_t size : tensor.shape().dims()) {
      const wire::NestedField dim(out, wire::shape_fields::kDim);
      summary::put_number(out, wire::shape_fields::kDimSize, size);
    }
  }
  if (tensor.dtype() != DType::string) {
    summary::put_text(out, summary::kContent, tensor.bytes());
    return {};
  }
  for (const std::string& text : tensor.flat<std::string>())
    wire::put_bytes_field(out, summary::kStrings, text);
  return {};
}

Status tensor_summary(KernelContext& context) {
  std::string message;
  {
    const wire::NestedField value(&message, summary::kValue);
    summary::put_text(&message, summary::kNodeName, context.node_name());
    MR_TRY(put_tensor(context.input(0), &message));
  }
  summary::set_summary(context, std::move(message));
  return {};
}

Status tensor_summary_v2(KernelContext& context) {
  MR_ASSIGN(const std::string tag, summary::scalar_text(context.input(0), "tag"));
  MR_ASSIGN(const std::string metadata,
            summary::scalar_text(context.input(2), "serialized_summary_metadata"));
  wire::Reader reader(metadata);
  for (wire::Field field; reader.next(&field);) {
  }
  std::string message;
  {
    const wire::NestedField value(&message, summary::kValue);
    summary::put_text(&message, summary::kTag, tag);
    MR_TRY(put_tensor(context.input(1), &message));
    // TensorFlow takes no offence at bytes that are no such message, and writes an empty one.
    wire::put_bytes_field(&message, summary::kMetadata, reader.ok() ? metadata : "");
  }
  summary::set_summary(context, std::move(message));
  return {};
}

}  // namespace

Status register_tensor_summaries(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "TensorSummary",
      .doc = "A Summary with a tensor as it is, known by the name of its node.",
      .signature = "tensor: T -> summary: string | T: type, description: string = '', "
                   "labels: list(string) = {}, display_name: string = ''",
      .infer = infer::scalar,
      .cpu = kernel_with(tensor_summary),
      .not_differentiable = "its result is a message",
      .examples = {"[1 2]"},
  }));
  return ops.add({
      .name = "TensorSummaryV2",
      .doc = "A Summary with a tensor as it is, and what says how to show it.",
      .signature = "tag: string, tensor: T, serialized_summary_metadata: string -> summary: string "
                   "| T: type",
      .infer = infer::scalar,
      .cpu = kernel_with(tensor_summary_v2),
      .not_differentiable = "its result is a message",
      .examples = {"'tag', [1 2], ''"},
  });
}

}  // namespace millrace
