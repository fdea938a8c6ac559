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

Status check_scalars(const KernelContext& context, std::span<const std::string_view> names) {
  for (size_t slot = 0; slot < names.size(); ++slot) {
    const Shape& shape = context.input(static_cast<int>(slot)).shape();
    if (!shape.is_scalar())
      return invalid(names[slot], " must be a scalar, got shape ", shape.to_string());
  }
  return {};
}

Result<Tensor> sharded_name(KernelContext& context) {
  constexpr std::string_view kNames[] = {"basename", "shard", "num_shards"};
  MR_TRY(check_scalars(context, kNames));
  return Tensor::scalar(str_cat(context.input(0).item<std::string>(), "-",
                                five_digits(context.input(1).item<int32_t>()), "-of-",
                                five_digits(context.input(2).item<int32_t>())));
}

Result<Tensor> sharded_pattern(KernelContext& context) {
  constexpr std::string_view kNames[] = {"basename", "num_shards"};
  MR_TRY(check_scalars(context, kNames));
  return Tensor::scalar(str_cat(context.input(0).item<std::string>(), "-", std::string(5, '?'),
                                "-of-", five_digits(context.input(1).item<int32_t>())));
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
