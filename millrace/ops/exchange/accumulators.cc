// Part of families.h: register_accumulators.
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/exchange/accumulator.h"
#include "millrace/ops/exchange/families.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

// What an accumulator's node says.
struct AccumulatorNode {
  using Kind = Accumulator;
  AccumulatorSpec spec;

  static Result<AccumulatorNode> read(const KernelSpec& node) {
    AccumulatorNode made;
    MR_ASSIGN(made.spec.dtype, node.attrs.type("dtype"));
    MR_ASSIGN(made.spec.shape, node.attrs.shape("shape"));
    MR_ASSIGN(const std::string reduction, node.attrs.string("reduction_type"));
    made.spec.is_mean = reduction == "MEAN";
    made.spec.is_sparse = node.attrs.op().name == "SparseConditionalAccumulator";
    return made;
  }
  Result<std::shared_ptr<Accumulator>> make(const std::string& name, KernelContext&) const {
    return std::make_shared<Accumulator>(spec, name);
  }
  Status check(const Accumulator& found) const { return found.check_same(spec); }
};

Result<int64_t> scalar_step(const Tensor& tensor, std::string_view what) {
  if (!tensor.shape().is_scalar()) {
    return invalid("Argument ", what, " must be scalar, but had bad shape ",
                   tensor.shape().to_string());
  }
  return read_integer(tensor, what);
}

Status check_kind(const KernelContext& context, const Accumulator& accumulator, DType dtype,
                  bool is_sparse) {
  const AccumulatorSpec& spec = accumulator.spec();
  if (spec.is_sparse != is_sparse) {
    return invalid("'", context.node_name(), "' is for a ", is_sparse ? "sparse" : "dense",
                   " accumulator, but its handle is of a ", spec.is_sparse ? "sparse" : "dense",
                   " one");
  }
  if (spec.dtype == dtype) return {};
  return invalid("Signature mismatch, have: ", dtype_name(dtype), " at '", context.node_name(),
                 "', expected: ", dtype_name(spec.dtype), ", the accumulator's type");
}

Status apply_dense(KernelContext& context, Accumulator& accumulator) {
  MR_TRY(check_kind(context, accumulator, context.input(2).dtype(), false));
  MR_ASSIGN(const int64_t step, scalar_step(context.input(1), "local_step"));
  return accumulator.apply(step, context.take_input(2));
}

// The attribute says whether the last input means something.
Result<std::unique_ptr<Kernel>> make_apply_rows(const KernelSpec& spec) {
  MR_ASSIGN(const bool has_shape, spec.attrs.boolean("has_known_shape"));
  return resource_kernel<Accumulator>(
      [has_shape](KernelContext& context, Accumulator& accumulator) -> Status {
        MR_TRY(check_kind(context, accumulator, context.input(3).dtype(), true));
        MR_ASSIGN(const int64_t step, scalar_step(context.input(1), "local_step"));
        GradientRows rows{context.take_input(2), context.take_input(3), std::nullopt};
        if (has_shape) rows.shape = context.take_input(4);
        return accumulator.apply(step, rows);
      })(spec);
}

Status count(KernelContext& context, Accumulator& accumulator) {
  context.set_output(0, Tensor::scalar(accumulator.count()));
  return {};
}

Status set_step(KernelContext& context, Accumulator& accumulator) {
  MR_ASSIGN(const int64_t step, scalar_step(context.input(1), "new_global_step"));
  accumulator.set_global_step(step);
  return {};
}

Result<int64_t> number_required(KernelContext& context, const Accumulator& accumulator) {
  const bool is_sparse = context.num_outputs() == 3;
  MR_TRY(check_kind(context, accumulator, context.output_dtype(is_sparse ? 1 : 0), is_sparse));
  MR_ASSIGN(const int64_t required, scalar_step(context.input(1), "num_required"));
  if (required <= 0) return invalid("Argument num_required must be positive, but got ", required);
  return required;
}

void take(KernelContext& context, Accumulator& accumulator, Done<void> done) {
  const auto required = number_required(context, accumulator);
  if (!required.ok()) return done(required.status());
  accumulator.take(
      *required, context.step().cancellation,
      Done<GradientRows>([&context, done = std::move(done)](Result<GradientRows> rows) mutable {
        if (!rows.ok()) return done(rows.status());
        if (rows->shape) {
          context.set_output(0, std::move(rows->indices));
          context.set_output(1, std::move(rows->values));
          context.set_output(2, *std::move(rows->shape));
        } else {
          context.set_output(0, std::move(rows->values));
        }
        done({});
      }));
}

Status infer_taken_rows(InferContext& context) {
  context.set_output(0, PartialShape::of_rank(1));
  context.set_output(2, PartialShape::of_rank(1));
  return {};
}

Status add_op(OpRegistry& ops, OpDef op) {
  op.not_differentiable = "what it gives depends on what came when, not on its inputs alone";
  return ops.add(std::move(op));
}

Status add_handles(OpRegistry& ops) {
  const std::string attrs =
      "dtype: number, shape: shape, container: string = '', shared_name: string = '', "
      "reduction_type: {'MEAN', 'SUM'} = 'MEAN'";
  const std::string dense =
      "Sums up gradients until they are taken; those that began before the current step are "
      "dropped.";
  const auto handle = [&](std::string name, std::string doc, std::string type, InferFn infer) {
    return stateful_op(std::move(name), std::move(doc), "-> handle: " + type + " | " + attrs,
                       std::move(infer), kernel_class<ResourceHandleKernel<AccumulatorNode>>(),
                       Cost::cheap);
  };
  MR_TRY(add_op(ops, handle("ConditionalAccumulator", dense, "ref(string)", infer_handle_strings)));
  MR_TRY(add_op(ops, handle("ResourceConditionalAccumulator", dense, "resource", infer::scalar)));
  return add_op(ops, handle("SparseConditionalAccumulator",
                            "Sums up gradients that are rows with indices, until they are taken.",
                            "ref(string)", infer_handle_strings));
}

// The ops on a dense accumulator, in the form with a reference or with a resource handle.
Status add_dense(OpRegistry& ops, const std::string& prefix, const std::string& handle) {
  MR_TRY(add_op(ops, stateful_op(prefix + "AccumulatorApplyGradient",
                                 "Adds a gradient, unless its step is before the accumulator's.",
                                 "handle: " + handle +
                                     ", local_step: int64, gradient: dtype -> | dtype: number",
                                 infer::no_outputs, resource_kernel<Accumulator>(apply_dense))));
  MR_TRY(add_op(ops, stateful_op(prefix + "AccumulatorNumAccumulated",
                                 "How many gradients came since the last were taken.",
                                 "handle: " + handle + " -> num_accumulated: int32", infer::scalar,
                                 resource_kernel<Accumulator>(count), Cost::cheap)));
  MR_TRY(add_op(ops,
                stateful_op(prefix + "AccumulatorSetGlobalStep",
                            "Sets the step before which gradients are stale.",
                            "handle: " + handle + ", new_global_step: int64 ->", infer::no_outputs,
                            resource_kernel<Accumulator>(set_step), Cost::cheap)));
  return add_op(
      ops, stateful_op(prefix + "AccumulatorTakeGradient",
                       "The mean (or sum) of the gradients, once num_required have come; the step "
                       "moves on by one.",
                       "handle: " + handle +
                           ", num_required: int32 -> average: dtype | "
                           "dtype: number",
                       infer::unknown, waiting_resource_kernel<Accumulator>(take)));
}

}  // namespace

Status register_accumulators(OpRegistry& ops) {
  MR_TRY(add_handles(ops));
  MR_TRY(add_dense(ops, "", "ref(string)"));
  MR_TRY(add_dense(ops, "Resource", "resource"));
  MR_TRY(add_op(ops, stateful_op("SparseAccumulatorApplyGradient",
                                 "Adds rows of a gradient, unless its step is before the "
                                 "accumulator's.",
                                 "handle: ref(string), local_step: int64, gradient_indices: int64, "
                                 "gradient_values: dtype, gradient_shape: int64 -> | "
                                 "dtype: number, has_known_shape: bool",
                                 infer::no_outputs, make_apply_rows)));
  return add_op(
      ops, stateful_op("SparseAccumulatorTakeGradient",
                       "The rows of the mean (or sum) of the gradients, once num_required have "
                       "come; a row's mean is over the gradients that had it.",
                       "handle: ref(string), num_required: int32 -> indices: int64, "
                       "values: dtype, shape: int64 | dtype: number",
                       infer_taken_rows, waiting_resource_kernel<Accumulator>(take)));
}

}  // namespace millrace
