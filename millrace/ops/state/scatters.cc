// Part of families.h: register_scatters.
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/loops/forward.h"
#include "millrace/ops/loops/gather.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/nd_rows.h"
#include "millrace/ops/loops/scatter_loops.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/made_once.h"
#include "millrace/ops/state/scatter.h"
#include "millrace/ops/state/variable_handle.h"

namespace millrace {
namespace {

// A row can't be divided by what has a 0. Asked before anything changes.
Status check_divisors(const Tensor& updates, cpu::BinaryLoop loop) {
  if (loop == nullptr || loop != quotient_loop(updates.dtype()) || !has_zero(updates)) return {};
  return invalid("updates must not contain 0");
}

// --- reference variables ---

class RefScatterKernel final : public Kernel {
 public:
  explicit RefScatterKernel(cpu::BinaryLoop loop) : loop_(loop) {}
  Status run(KernelContext& context) override {
    const TensorRef& ref = context.input_ref(0);
    {
      MutexLock lock(*ref.mutex);
      if (!ref.tensor->has_value()) return uninitialized(ref.name);
      MR_TRY(check_divisors(context.input(2), loop_));
      MR_TRY(scatter(*ref.tensor, context.input(1), context.input(2), loop_));
    }
    forward(context, 0, 0);
    return {};
  }

 private:
  const cpu::BinaryLoop loop_;  // null: replace
};

// --- resource variables ---

class ResourceGatherKernel final : public Kernel {
 public:
  explicit ResourceGatherKernel(int64_t batch_dims) : batch_dims_(batch_dims) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const Tensor params, variable_.value(context, context.output_dtype(0)));
    return context.set_output(0,
                              gather(context, params, context.input(1), batch_dims_, batch_dims_));
  }

 private:
  const int64_t batch_dims_;
  VariableHandle variable_;
};

class ResourceGatherNdKernel final : public Kernel {
 public:
  explicit ResourceGatherNdKernel(const KernelSpec&) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const Tensor params, variable_.value(context, context.output_dtype(0)));
    return context.set_output(
        0, gather_nd(params, context.input(1), BadIndices::are_errors, CancelProbe(context)));
  }

 private:
  VariableHandle variable_;
};

// What arrives, added up at the slices that it came from.
Status gather_nd_gradient(GradContext& g) {
  const Endpoint shape = g.add("VariableShape", {g.input(0)}, {{"out_type", g.dtype(g.input(1))}});
  g.set_input_grad(0, g.add("ScatterNd", {g.input(1), g.grad(), shape}));
  return {};
}

class ResourceScatterKernel final : public Kernel {
 public:
  ResourceScatterKernel(DType dtype, cpu::BinaryLoop loop) : dtype_(dtype), loop_(loop) {}
  Status run(KernelContext& context) override {
    MR_TRY(check_divisors(context.input(2), loop_));
    return variable_.change(context, dtype_, [&](Tensor& tensor) {
      return scatter(tensor, context.input(1), context.input(2), loop_);
    });
  }

 private:
  const DType dtype_;
  const cpu::BinaryLoop loop_;  // null: replace
  VariableHandle variable_;
};

// Updates are of the shape of indices followed by a row's, or a scalar.
Status infer_ref_scatter(InferContext& context) {
  const PartialShape& params = context.input(0);
  const PartialShape& indices = context.input(1);
  const PartialShape& updates = context.input(2);
  context.set_output(0, params);
  if (!params.has_rank() || !indices.has_rank() || !updates.has_rank()) return {};
  if (params.rank() == 0) return invalid("a scalar has no rows to scatter into");
  if (updates.rank() == 0) return {};
  std::vector<int64_t> dims(indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), params.dims().begin() + 1, params.dims().end());
  MR_ASSIGN(const PartialShape expected, PartialShape::create(dims));
  return expected.merge(updates).with("updates").status();
}

// What the scattering ops do to a row that is there.
struct Change {
  std::string suffix, doc, types;
  cpu::BinaryLoop (*loop_for)(DType);
  std::string_view use_locking;
  std::string_view reference_types = {};  // if not `types`
};

// The loop of a change; none where it replaces.
struct BoundChange {
  cpu::BinaryLoop (*loop_for)(DType);
  Result<cpu::BinaryLoop> read(const KernelSpec& spec) const {
    if (loop_for == nullptr) return cpu::BinaryLoop();
    return cpu::LoopFor{loop_for, 2}.read(spec);
  }
};

Status add_scatters(OpRegistry& ops, const Change& change) {
  MR_TRY(ops.add({
      .name = "Scatter" + change.suffix,
      .doc = change.doc,
      .signature = str_cat("ref: ref(T), indices: Tindices, updates: T -> output_ref: ref(T) | T: ",
                           change.reference_types.empty() ? change.types : change.reference_types,
                           ", Tindices: {int32, int64}, use_locking: bool = ", change.use_locking),
      .infer = infer_ref_scatter,
      .cpu = made_once(kernel_from<RefScatterKernel>(BoundChange{change.loop_for})),
      .not_differentiable = "it changes a variable; what it changes has no gradient",
      .stateful = true,
      .foldable = false,
  }));
  return ops.add({
      .name = "ResourceScatter" + change.suffix,
      .doc = change.doc,
      .signature = str_cat("resource: resource, indices: Tindices, updates: dtype -> | dtype: ",
                           change.types, ", Tindices: {int32, int64}"),
      .infer = infer::no_outputs,
      .cpu = made_once(
          kernel_from<ResourceScatterKernel>(type("dtype"), BoundChange{change.loop_for})),
      .not_differentiable = "it changes a variable; what it changes has no gradient",
      .stateful = true,
      .foldable = false,
  });
}

// Slices of the variable: a row for each index.
Status gather_gradient(GradContext& g) {
  MR_ASSIGN(const int64_t batch_dims, g.attrs().integer("batch_dims"));
  if (batch_dims != 0) return unimplemented("a gather with batch_dims ", batch_dims);
  const Endpoint shape = g.add("VariableShape", {g.input(0)});
  const Endpoint one = g.vector({1}), minus_one = g.vector({-1});
  const Endpoint row = g.add("StridedSlice", {shape, one, one, one}, {{"end_mask", int64_t{1}}});
  const Endpoint rows =
      g.add("ConcatV2", {minus_one, row, g.scalar(DType::i32, 0)}, {{"N", int64_t{2}}});
  g.set_input_grad(0, IndexedSlices{g.add("Reshape", {g.grad(), rows}),
                                    g.add("Reshape", {g.input(1), minus_one}), shape});
  return {};
}

}  // namespace

Status register_scatters(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "ResourceGather",
      .doc = "The rows of a variable that indices name, without reading the rest.",
      .signature = "resource: resource, indices: Tindices -> output: dtype | batch_dims: int = 0, "
                   "validate_indices: bool = true, dtype: type, Tindices: {int32, int64}",
      .infer = infer::unknown,
      .cpu = kernel_from<ResourceGatherKernel>(integer("batch_dims")),
      .grad = gather_gradient,
      .stateful = true,
      .foldable = false,
  }));
  MR_TRY(ops.add({
      .name = "ResourceGatherNd",
      .doc = "The slices of a variable that the rows of indices name, without reading the rest.",
      .signature = "resource: resource, indices: Tindices -> output: dtype | dtype: type, "
                   "Tindices: {int32, int64}",
      .infer = infer::unknown,
      .cpu = kernel_class<ResourceGatherNdKernel>(),
      .grad = gather_nd_gradient,
      .stateful = true,
      .foldable = false,
  }));
  MR_TRY(add_scatters(ops, {"Add", "Adds updates to the rows of a variable that indices name.",
                            "number", cpu::addition_loop, "false"}));
  MR_TRY(add_scatters(ops, {"Sub", "Subtracts updates from the rows that indices name.", "number",
                            cpu::subtraction_loop, "false"}));
  MR_TRY(add_scatters(ops, {"Mul", "Multiplies the rows that indices name by updates.", "number",
                            product_loop, "false"}));
  MR_TRY(add_scatters(ops, {"Div", "Divides the rows that indices name by updates.", "number",
                            quotient_loop, "false"}));
  constexpr std::string_view kOrdered = "{half, bfloat16, float, double, int32, int64}";
  MR_TRY(add_scatters(ops, {"Min", "Lowers the rows that indices name to updates.", "number",
                            minimum_loop, "false", kOrdered}));
  MR_TRY(add_scatters(ops, {"Max", "Raises the rows that indices name to updates.", "number",
                            maximum_loop, "false", kOrdered}));
  return add_scatters(ops, {"Update", "Puts updates in the place of the rows that indices name.",
                            "type", nullptr, "true"});
}

}  // namespace millrace
