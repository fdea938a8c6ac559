// Part of families.h: register_json_examples.
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/parsing/families.h"
#include "millrace/ops/parsing/json_example.h"

namespace millrace {
namespace {

Result<Tensor> decode_json(KernelContext& context) {
  const Tensor& texts = context.input(0);
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::string, texts.shape()));
  CancelProbe probe(context);
  auto each = made.mutable_flat<std::string>().begin();
  for (const std::string& text : texts.flat<std::string>()) {
    MR_ASSIGN(*each++, example_of_json(text));
    if (!probe.go_on(static_cast<int64_t>(text.size()) + 1)) return probe.status();
  }
  return made;
}

}  // namespace

Status register_json_examples(OpRegistry& ops) {
  return ops.add({
      .name = "DecodeJSONExample",
      .doc = "tf.train.Example messages, as bytes, from JSON.",
      .signature = "json_examples: string -> binary_examples: string",
      .infer = infer::same_as_input,
      .cpu = kernel(decode_json),
      .not_differentiable = "its inputs are bytes",
      .examples = {"'{}' -> ''", "['{\"features\": null}' '{}'] -> ['' '']"},
  });
}

}  // namespace millrace
