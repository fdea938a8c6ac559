// Part of families.h: register_slice_writes.
#include <functional>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/forward.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/nd_rows.h"
#include "millrace/ops/loops/scatter_loops.h"
#include "millrace/ops/loops/slice_assign.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/made_once.h"
#include "millrace/ops/state/variable_handle.h"

namespace millrace {
namespace {

constexpr const char* kWrites = "it changes a variable; what it changes has no gradient";

// What is written to a variable's tensor, its buffer being nobody else's. No step's end cuts it
// short: half of it would outlive the step.
using Write = std::function<Status(KernelContext&, Tensor&)>;

class RefWriteKernel final : public Kernel {
 public:
  explicit RefWriteKernel(Write write) : write_(std::move(write)) {}
  Status run(KernelContext& context) override {
    const TensorRef& ref = context.input_ref(0);
    {
      MutexLock lock(*ref.mutex);
      if (!ref.tensor->has_value()) return uninitialized(ref.name);
      MR_TRY(unshare(*ref.tensor));
      MR_TRY(write_(context, *ref.tensor));
    }
    forward(context, 0, 0);
    return {};
  }

 private:
  const Write write_;
};

class ResourceWriteKernel final : public Kernel {
 public:
  ResourceWriteKernel(DType dtype, Write write) : dtype_(dtype), write_(std::move(write)) {}
  Status run(KernelContext& context) override {
    return variable_.change(context, dtype_, [&](Tensor& tensor) -> Status {
      MR_TRY(unshare(tensor));
      return write_(context, tensor);
    });
  }

 private:
  const DType dtype_;
  const Write write_;
  VariableHandle variable_;
};

// --- ScatterNd* ---

// TensorFlow's ops on variables take a vector of indices for slices of one coordinate each.
Result<Tensor> nd_indices(const Tensor& indices) {
  const Shape& shape = indices.shape();
  if (shape.rank() > 0 && shape.dim(shape.rank() - 1) == 0)
    return invalid("indices must have a coordinate at least, not shape ", shape.to_string());
  if (shape.rank() != 1) return indices;
  return indices.reshaped({shape.dim(0), 1});
}

struct BoundNdWrite {
  cpu::BinaryLoop (*loop_for)(DType);  // null: updates replace
  Result<Write> read(const KernelSpec& spec) const {
    cpu::BinaryLoop loop = nullptr;
    if (loop_for != nullptr) {
      MR_ASSIGN(loop, (cpu::LoopFor{loop_for, 2}.read(spec)));
    }
    MR_ASSIGN(const BadIndices bad, BoundBadIndices().read(spec));
    return Write([loop, bad](KernelContext& context, Tensor& tensor) -> Status {
      MR_ASSIGN(const Tensor indices, nd_indices(context.input(1)));
      return scatter_nd(tensor, indices, context.input(2), loop, bad, CancelProbe());
    });
  }
};

Status infer_ref_write(InferContext& context) { return infer::same_as_input(context); }

// Only updates without axes may be of no slice's shape: those are for the kernel to judge.
Status infer_nd_ref_write(InferContext& context) {
  MR_TRY(infer::same_as_input(context));
  const PartialShape& updates = context.input(2);
  if (!updates.has_rank() || updates.rank() == 0) return {};
  MR_ASSIGN(const PartialShape expected, nd_rows_shape(context.input(1), context.input(0)));
  return expected.merge(updates).with("updates").status();
}

struct NdWrite {
  std::string suffix, doc;
  cpu::BinaryLoop (*loop_for)(DType);
  std::string_view types, ref_locking;
};

Status add_nd_writes(OpRegistry& ops, const NdWrite& row) {
  constexpr std::string_view kBad = ", bad_indices_policy: string = ''";
  MR_TRY(ops.add({
      .name = "ScatterNd" + row.suffix,
      .doc = row.doc,
      .signature = str_cat(
          "ref: ref(T), indices: Tindices, updates: T -> output_ref: ref(T) | T: ", row.types,
          ", Tindices: {int32, int64}, use_locking: bool = ", row.ref_locking, kBad),
      .infer = infer_nd_ref_write,
      .cpu = made_once(kernel_from<RefWriteKernel>(BoundNdWrite{row.loop_for})),
      .not_differentiable = kWrites,
      .stateful = true,
      .foldable = false,
  }));
  return ops.add({
      .name = "ResourceScatterNd" + row.suffix,
      .doc = row.doc,
      .signature = str_cat("ref: resource, indices: Tindices, updates: T -> | T: type, "
                           "Tindices: {int32, int64}, use_locking: bool = true",
                           kBad),
      .infer = infer::no_outputs,
      .cpu = made_once(kernel_from<ResourceWriteKernel>(type("T"), BoundNdWrite{row.loop_for})),
      .not_differentiable = kWrites,
      .stateful = true,
      .foldable = false,
  });
}

// --- StridedSliceAssign ---

struct BoundSliceWrite {
  Result<Write> read(const KernelSpec& spec) const {
    MR_ASSIGN(const SliceMasks masks, SliceMasks::from(spec.attrs));
    return Write([masks](KernelContext& context, Tensor& tensor) -> Status {
      MR_ASSIGN(const SliceArguments arguments, read_slice_arguments(context, masks));
      return assign_slice(tensor, arguments, context.input(4), CancelProbe());
    });
  }
};

Status register_slice_assigns(OpRegistry& ops) {
  constexpr std::string_view kDoc =
      "Puts value, which is repeated to fit, into the slice of a variable.";
  constexpr std::string_view kMasks =
      "T: type, Index: {int32, int64}, begin_mask: int = 0, end_mask: int = 0, "
      "ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0";
  MR_TRY(ops.add({
      .name = "StridedSliceAssign",
      .doc = std::string(kDoc),
      .signature = str_cat("ref: ref(T), begin: Index, end: Index, strides: Index, value: T -> "
                           "output_ref: ref(T) | ",
                           kMasks),
      .infer = infer_ref_write,
      .cpu = made_once(kernel_from<RefWriteKernel>(BoundSliceWrite())),
      .not_differentiable = kWrites,
      .stateful = true,
      .foldable = false,
  }));
  return ops.add({
      .name = "ResourceStridedSliceAssign",
      .doc = std::string(kDoc),
      .signature = str_cat(
          "ref: resource, begin: Index, end: Index, strides: Index, value: T -> | ", kMasks),
      .infer = infer::no_outputs,
      .cpu = made_once(kernel_from<ResourceWriteKernel>(type("T"), BoundSliceWrite())),
      .not_differentiable = kWrites,
      .stateful = true,
      .foldable = false,
  });
}

}  // namespace

Status register_slice_writes(OpRegistry& ops) {
  MR_TRY(add_nd_writes(ops, {"Update", "Puts updates in the place of slices of a variable.",
                             nullptr, "type", "true"}));
  MR_TRY(add_nd_writes(
      ops, {"Add", "Adds updates to slices of a variable.", nd_sum_loop, "number", "false"}));
  MR_TRY(add_nd_writes(ops, {"Sub", "Subtracts updates from slices of a variable.",
                             cpu::subtraction_loop, "number", "false"}));
  MR_TRY(add_nd_writes(
      ops, {"Min", "Lowers slices of a variable to updates.", minimum_loop, "number", "false"}));
  MR_TRY(add_nd_writes(
      ops, {"Max", "Raises slices of a variable to updates.", maximum_loop, "number", "false"}));
  return register_slice_assigns(ops);
}

}  // namespace millrace
