#include "millrace/ops/loops/reduce.h"

#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strides.h"

namespace millrace::cpu {
namespace {

Result<std::vector<bool>> reduced_axes(std::span<const int64_t> axes, int rank) {
  for (const int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return invalid("Invalid reduction dimension (", axis, " for input with ", rank,
                     " dimension(s)");
    }
  }
  return resolve_axes(axes, rank, "Invalid reduction arguments: reduction_indices");
}

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(ReduceLoops loops, KeepDims keep) : loops_(loops), keep_(keep) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::vector<int64_t> axes,
              read_integers(context.input(1), "reduction_indices"));
    CancelProbe probe(context);
    return context.set_output(0, reduce(context.input(0), axes, keep_, loops_, probe));
  }

 private:
  const ReduceLoops loops_;
  const KeepDims keep_;
};

Result<KeepDims> keep_dims_of(const AttrView& attrs) {
  MR_ASSIGN(const bool keep, attrs.boolean("keep_dims"));
  return keep ? KeepDims::yes : KeepDims::no;
}

}  // namespace

Result<PartialShape> reduced_shape(const PartialShape& input, std::span<const int64_t> axes,
                                   KeepDims keep) {
  MR_ASSIGN(const std::vector<bool> gone, reduced_axes(axes, input.rank()));
  std::vector<int64_t> dims;
  for (int axis = 0; axis < input.rank(); ++axis) {
    if (!gone[axis]) {
      dims.push_back(input.dim(axis));
    } else if (keep == KeepDims::yes) {
      dims.push_back(1);
    }
  }
  return PartialShape::create(dims);
}

Result<Tensor> reduce(const Tensor& input, std::span<const int64_t> axes, KeepDims keep,
                      const ReduceLoops& loops, CancelProbe& probe) {
  const Shape& shape = input.shape();
  MR_ASSIGN(const std::vector<bool> gone, reduced_axes(axes, shape.rank()));
  MR_ASSIGN(const PartialShape known, reduced_shape(shape, axes, keep));
  MR_ASSIGN(const PartialShape kept, reduced_shape(shape, axes, KeepDims::yes));
  MR_ASSIGN(Tensor accumulators, Tensor::allocate(loops.accumulator, *kept.to_shape()));
  const int64_t outputs = accumulators.num_elements();
  loops.reset(accumulators.mutable_data(), outputs);

  // Along axes that go the accumulators stand still. Neighbours of one kind merge in the walk, so
  // that a run either folds into one accumulator or adds itself to a run of them.
  Strides to = row_major_strides(kept.dims());
  int64_t count = 1;  // elements per accumulator
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!gone[axis]) continue;
    to[axis] = 0;
    count *= shape.dim(axis);
  }
  const Strides from = row_major_strides(shape);
  const Walk<2> walk(shape.dims(), {from, to});
  const auto in_size = static_cast<int64_t>(dtype_size(input.dtype()));
  const auto acc_size = static_cast<int64_t>(dtype_size(loops.accumulator));
  const char* in = static_cast<const char*>(input.data());
  char* acc = static_cast<char*>(accumulators.mutable_data());
  MR_TRY(walk.each_piece(probe, [&](const std::array<int64_t, 2>& at, int64_t n) {
    loops.fold(in + at[0] * in_size, n, acc + at[1] * acc_size, walk.run_stride(1));
  }));

  MR_ASSIGN(Tensor output, Tensor::allocate(input.dtype(), *known.to_shape()));
  loops.finish(accumulators.data(), output.mutable_data(), outputs, count);
  return output;
}

KernelFactory reducing(ReduceLoops (*loops_for)(DType)) {
  return [loops_for](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    const ReduceLoops loops = loops_for(spec.inputs[0].dtype);
    if (loops.fold == nullptr) return no_loop(spec, spec.inputs[0].dtype);
    MR_ASSIGN(const KeepDims keep, keep_dims_of(spec.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<ReduceKernel>(loops, keep));
  };
}

Status infer_reduced(InferContext& context) {
  const PartialShape& input = context.input(0);
  MR_ASSIGN(const KeepDims keep, keep_dims_of(context.attrs()));
  MR_ASSIGN(const auto axes, constant_integers(context, 1, "reduction_indices"));
  if (!input.has_rank()) return {};
  if (axes) {
    MR_TRY(context.set_output(0, reduced_shape(input, *axes, keep)));
  } else if (keep == KeepDims::yes) {
    context.set_output(0, PartialShape::of_rank(input.rank()));
  }
  return {};
}

}  // namespace millrace::cpu
