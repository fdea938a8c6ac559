// Part of families.h: register_gathers.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/gather.h"

namespace millrace {
namespace {

Result<Tensor> gather_rows(KernelContext& context) {
  return gather(context, context.input(0), context.input(1), 0, 0);
}

Status infer_gather_rows(InferContext& context) {
  return context.set_output(0, gathered_shape(context.input(0), context.input(1), 0, 0));
}

Result<Tensor> gather_along(KernelContext& context, int64_t batch_dims) {
  MR_ASSIGN(const int64_t axis, read_integer(context.input(2), "gather's axis"));
  return gather(context, context.input(0), context.input(1), axis, batch_dims);
}

Status infer_gather(InferContext& context) {
  MR_ASSIGN(const int64_t batch_dims, context.attrs().integer("batch_dims"));
  const PartialShape& params = context.input(0);
  const PartialShape& indices = context.input(1);
  const Tensor* axis = context.constant(2);
  if (axis == nullptr) {
    if (params.has_rank() && params.rank() == 0)
      return invalid("params must be at least rank 1 but is a scalar");
    if (params.has_rank() && indices.has_rank() && batch_dims == 0)
      context.set_output(0, PartialShape::of_rank(params.rank() - 1 + indices.rank()));
    return {};
  }
  MR_ASSIGN(const int64_t at, read_integer(*axis, "gather's axis"));
  return context.set_output(0, gathered_shape(params, indices, at, batch_dims));
}

std::optional<KnownElements> elements_of_gather(const InferContext& context) {
  const auto from = context.elements(0);
  const auto indices = context.all_elements(1), axis = context.all_elements(2);
  const auto batch_dims = context.attrs().integer("batch_dims");
  if (!from || context.input(0).rank() != 1 || !indices || !axis || axis->size() != 1 ||
      (axis->front() != 0 && axis->front() != -1) || !batch_dims.ok() || *batch_dims != 0)
    return std::nullopt;
  KnownElements some;
  for (const int64_t index : *indices) {
    if (index < 0 || index >= std::ssize(*from)) return std::nullopt;
    some.push_back((*from)[static_cast<size_t>(index)]);
  }
  return some;
}

}  // namespace

Status register_gathers(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Gather",
      .doc = "The rows of params that indices name.",
      .signature = "params: Tparams, indices: Tindices -> output: Tparams | "
                   "validate_indices: bool = true, Tparams: type, Tindices: {int32, int64}",
      .infer = infer_gather_rows,
      .cpu = kernel(gather_rows),
      .grad = grad::gather,
      .examples = {"[[1 2] [3 4] [5 6]], [2 0] -> [[5 6] [1 2]]"},
  }));
  return ops.add({
      .name = "GatherV2",
      .doc = "The slices of params along axis that indices name; the first batch_dims axes of both "
             "go together.",
      .signature = "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams | "
                   "batch_dims: int = 0, Tparams: type, Tindices: {int16, int32, int64}, "
                   "Taxis: {int32, int64}",
      .infer = infer_gather,
      .cpu = kernel_with(gather_along, integer("batch_dims")),
      .grad = grad::gather_v2,
      .elements = elements_of_gather,
      .examples = {"[1 2 3], 2, 0 -> 3", "[[1 2] [3 4]], [1 0], 1 -> [[2 1] [4 3]]",
                   "[[1 2] [3 4]], [[1] [0]], 1 -> [[2] [3]] | batch_dims = 1"},
  });
}

}  // namespace millrace
