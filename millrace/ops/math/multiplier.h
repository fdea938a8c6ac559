// Products of matrices as kernels make them: whatever the type, either operand turned, in batches
// that broadcast. Large ones of float32 go to oneDNN in blocks that the step's pool shares; how
// they are cut follows from the shapes, so that one thread and many give the same bits. Immutable,
// for any thread.
#pragma once

#include "millrace/op/cancel_probe.h"
#include "millrace/op/kernel.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// How an operand is read.
enum class Side : uint8_t { as_is, transposed, adjoint };

// Sets c to the product a * b of row-major matrices, unless the step ends.
using ProductLoop = void (*)(const void* a, const void* b, void* c, int64_t rows, int64_t inner,
                             int64_t columns, CancelProbe& probe);
// Null for types that have none.
ProductLoop product_loop_for(DType dtype);

// The product's shape: batch axes broadcast, then rows of a and columns of b.
Result<PartialShape> product_shape(const PartialShape& a, Side a_side, const PartialShape& b,
                                   Side b_side);

class Multiplier {
 public:
  Multiplier(Side a, Side b, ProductLoop loop) : loop_(loop), a_side_(a), b_side_(b) {}
  // The product of two tensors of the loop's type.
  // Errors: INVALID_ARGUMENT in TensorFlow's words if they do not fit; CANCELLED.
  Result<Tensor> run(KernelContext& context, const Tensor& a, const Tensor& b) const;

 private:
  Status multiply_alone(KernelContext& context, const Tensor& raw_a, const Tensor& raw_b, Tensor& c,
                        int64_t inner) const;
  Status multiply_shared(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& c,
                         int64_t inner) const;

  const ProductLoop loop_;
  const Side a_side_, b_side_;
};

}  // namespace millrace
