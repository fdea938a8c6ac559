// Part of families.h: register_file_names.
#include <cstdio>

#include "millrace/op/infer.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/files/file_kernel.h"

namespace millrace {
namespace {

std::string five_digits(int32_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "%05d", number);
  return text;
}

Result<int32_t> scalar_number(const Tensor& tensor, std::string_view what) {
  if (tensor.num_elements() == 1) return tensor.item<int32_t>();
  return invalid(what, " should be a scalar tensor, got ", tensor.shape().to_string(), " instead.");
}

Result<Tensor> sharded_name(KernelContext& context) {
  MR_ASSIGN(const std::string base, scalar_text(context.input(0), "basename"));
  MR_ASSIGN(const int32_t shard, scalar_number(context.input(1), "shard"));
  MR_ASSIGN(const int32_t count, scalar_number(context.input(2), "num_shards"));
  return Tensor::scalar(str_cat(base, "-", five_digits(shard), "-of-", five_digits(count)));
}

Result<Tensor> sharded_pattern(KernelContext& context) {
  MR_ASSIGN(const std::string base, scalar_text(context.input(0), "basename"));
  MR_ASSIGN(const int32_t count, scalar_number(context.input(1), "num_shards"));
  return Tensor::scalar(str_cat(base, "-", std::string(5, '?'), "-of-", five_digits(count)));
}

}  // namespace

Status register_file_names(OpRegistry& ops) {
  constexpr const char* kNoGradient = "it makes a name";
  MR_TRY(ops.add({
      .name = "ShardedFilename",
      .doc = "The name of one shard of a file: basename-00003-of-00010.",
      .signature = "basename: string, shard: int32, num_shards: int32 -> filename: string",
      .infer = infer::scalar,
      .cpu = kernel(sharded_name),
      .not_differentiable = kNoGradient,
      .cost = Cost::cheap,
      .examples = {"'m', 3, 10 -> 'm-00003-of-00010'"},
  }));
  return ops.add({
      .name = "ShardedFilespec",
      .doc = "The pattern that means all shards of a file: basename-????\?-of-00010.",
      .signature = "basename: string, num_shards: int32 -> filename: string",
      .infer = infer::scalar,
      .cpu = kernel(sharded_pattern),
      .not_differentiable = kNoGradient,
      .cost = Cost::cheap,
      .examples = {"'m', 10 -> 'm-????\?-of-00010'"},
  });
}

}  // namespace millrace
