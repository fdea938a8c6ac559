#include "millrace/ops/loops/reduce.h"

#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/share_work.h"
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
    return context.set_output(0, reduce(context, context.input(0), axes, keep_, loops_));
  }

 private:
  const ReduceLoops loops_;
  const KeepDims keep_;
};

Result<KeepDims> keep_dims_of(const AttrView& attrs) {
  MR_ASSIGN(const bool keep, attrs.boolean("keep_dims"));
  return keep ? KeepDims::yes : KeepDims::no;
}

// A part of the input into accumulators.
struct Folding {
  const ReduceLoops& loops;
  const char* in;
  int64_t in_size, accumulator_size;

  Status fold(const Walk<2>& part, char* into, CancelProbe& probe) const {
    return part.each_piece(probe, [&](const std::array<int64_t, 2>& at, int64_t n) {
      loops.fold(in + at[0] * in_size, n, into + at[1] * accumulator_size, part.run_stride(1));
    });
  }
};

// Accumulators of `shape`, into which all of the input was folded.
Result<Tensor> folded(KernelContext& context, const Tensor& input, const Shape& shape,
                      const ReduceLoops& loops, const Walk<2>& walk) {
  const Folding folding{loops, static_cast<const char*>(input.data()),
                        static_cast<int64_t>(dtype_size(input.dtype())),
                        static_cast<int64_t>(dtype_size(loops.accumulator))};
  const int64_t outputs = shape.num_elements();
  const int64_t outer = walk.outer_length();
  const int64_t cost = outer == 0 ? 0 : input.num_elements() / outer;
  // Pieces either have outputs of their own, or accumulators that are merged afterwards; as many of
  // those as cost little beside the input.
  const bool is_apart = walk.outer_stride(1) != 0;
  const int64_t most = input.num_elements() / 8 / std::max<int64_t>(1, outputs);
  const int64_t pieces =
      outer == 0 || is_apart ? 1 : std::clamp<int64_t>(most, 1, pieces_of_range(outer, cost));
  MR_ASSIGN(Tensor made, Tensor::allocate(loops.accumulator, shape));
  loops.reset(made.mutable_data(), outputs);
  char* const into = static_cast<char*>(made.mutable_data());
  if (pieces == 1 && !is_apart) {
    CancelProbe probe(context);
    MR_TRY(folding.fold(walk, into, probe));
    return made;
  }
  if (is_apart) {
    MR_TRY(share_range(context, outer, cost, [&](int64_t begin, int64_t end, CancelProbe& probe) {
      return folding.fold(walk.outer_part(begin, end), into, probe);
    }));
    return made;
  }
  MR_ASSIGN(Tensor more, Tensor::allocate(loops.accumulator, {pieces - 1, outputs}));
  loops.reset(more.mutable_data(), (pieces - 1) * outputs);
  char* const others = static_cast<char*>(more.mutable_data());
  const int64_t bytes = outputs * folding.accumulator_size;
  MR_TRY(share_work(context, pieces, [&](int64_t piece, CancelProbe& probe) {
    const auto border = [&](int64_t i) { return outer / pieces * i + outer % pieces * i / pieces; };
    return folding.fold(walk.outer_part(border(piece), border(piece + 1)),
                        piece == 0 ? into : others + (piece - 1) * bytes, probe);
  }));
  for (int64_t piece = 1; piece < pieces; ++piece)
    loops.merge(others + (piece - 1) * bytes, into, outputs);
  return made;
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

Result<Tensor> reduce(KernelContext& context, const Tensor& input, std::span<const int64_t> axes,
                      KeepDims keep, const ReduceLoops& loops) {
  const Shape& shape = input.shape();
  MR_ASSIGN(const std::vector<bool> gone, reduced_axes(axes, shape.rank()));
  MR_ASSIGN(const PartialShape known, reduced_shape(shape, axes, keep));
  MR_ASSIGN(const PartialShape kept, reduced_shape(shape, axes, KeepDims::yes));

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
  MR_ASSIGN(const Tensor accumulators,
            folded(context, input, *kept.to_shape(), loops, Walk<2>(shape.dims(), {from, to})));
  MR_ASSIGN(Tensor output, Tensor::allocate(input.dtype(), *known.to_shape()));
  loops.finish(accumulators.data(), output.mutable_data(), output.num_elements(), count);
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
