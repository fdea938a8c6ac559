// Reducing: which axes go, and the loops that fold them. Each element of the output has an
// accumulator, wider than the element type where that keeps sums accurate; the input is walked
// once, in order, folding straight runs into one accumulator or adding them to a run of
// accumulators. What is a piece of a shared input follows from the shapes alone, so that the result
// does, too.
#pragma once

#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/tensor/tensor.h"

namespace millrace::cpu {

struct ReduceLoops {
  // Folds n elements: all into *accumulators if step is 0, each into its own if 1.
  void (*fold)(const void* in, int64_t n, void* accumulators, int64_t step) = nullptr;
  // Sets n accumulators to what folding nothing gives.
  void (*reset)(void* accumulators, int64_t n) = nullptr;
  // Folds n accumulators into as many others.
  void (*merge)(const void* from, void* accumulators, int64_t n) = nullptr;
  // Turns n accumulators, into each of which `count` elements were folded, into output elements.
  void (*finish)(const void* accumulators, void* out, int64_t n, int64_t count) = nullptr;
  DType accumulator = DType::invalid;
};

// The shape that is left when the axes go, or become 1.
enum class KeepDims : uint8_t { no, yes };
// Errors: INVALID_ARGUMENT for an axis out of range or named twice.
Result<PartialShape> reduced_shape(const PartialShape& input, std::span<const int64_t> axes,
                                   KeepDims keep);

// Long inputs are shared with the step's pool. Where one output is made of elements in several
// pieces, each piece has an accumulator of its own, and these are merged in order.
Result<Tensor> reduce(KernelContext& context, const Tensor& input, std::span<const int64_t> axes,
                      KeepDims keep, const ReduceLoops& loops);

// A kernel of "input, axes -> output | keep_dims". `loops_for` gives loops without a fold for a
// type that it does not know.
KernelFactory reducing(ReduceLoops (*loops_for)(DType));
// Its shape rule.
Status infer_reduced(InferContext& context);

}  // namespace millrace::cpu
