// Functions of mathematics over runs of floats or doubles, eight or sixteen at once: the vector
// functions of the C library (libmvec), which it has for AVX2 and AVX-512, and what is made of
// them.
//
//   if (const UnaryLoop loop = vector_loop(VectorFunction::tanh, DType::f32)) loop(x, y, n);
//
// Results of libmvec lie within 4 units in the last place of the exact ones, what is made of them
// within 6 of floats and 8 of doubles; infinities, NaN, zeros with their signs and numbers out of
// range give what the scalar functions give, which libmvec calls for them. A result depends on its
// element alone, not on where it stands in a run or on its neighbours; but the last places may be
// others on a processor with other instructions, unlike those of plain arithmetic.
//
// Why libmvec (nanoseconds per float on one AVX-512 machine with AVX2's and AVX-512's width, and
// the largest error seen, in units in the last place):
//
//             scalar        libmvec             SLEEF 3.5 (1 ulp)
//   exp       2.1           0.31, 0.25 (2.4)    0.39, 0.19 (0.9)
//   tanh      11.6          0.63, 0.29 (1.3)    2.03, 1.02 (0.9)
//   erf       12.0          0.48, 0.38 (4.0)    3.27, 1.75 (0.7)
//   expm1     8.1           0.57, 0.27 (2.2)    1.53, 0.77 (0.5)
//   log       1.7           0.32, 0.26 (3.7)    0.92, 0.29 (0.6)
//   pow       3.3           2.01, 1.33 (0.6)    3.64, 1.72 (0.6)
//
// It is part of the C library, so it is no dependency more. Highway's own functions answer 0 for
// the exponential of NaN, know sines of small angles only, and have neither erf nor pow.
#pragma once

#include "millrace/ops/loops/instructions.h"
#include "millrace/tensor/dtype.h"

namespace millrace::cpu {

// Those of libmvec, by their names in C.
#define MR_LIBMVEC_FUNCTIONS(X) \
  X(acos)                       \
  X(acosh)                      \
  X(asin)                       \
  X(asinh)                      \
  X(atan)                       \
  X(atanh)                      \
  X(cos)                        \
  X(cosh)                       \
  X(erf)                        \
  X(erfc)                       \
  X(exp)                        \
  X(expm1)                      \
  X(log)                        \
  X(log1p)                      \
  X(sin)                        \
  X(sinh)                       \
  X(tan)                        \
  X(tanh)
// Made of them: what the ops of these names compute.
#define MR_COMPOSED_FUNCTIONS(X) \
  X(elu)                         \
  X(rsqrt)                       \
  X(selu)                        \
  X(sigmoid)                     \
  X(softplus)                    \
  X(sqrt)

enum class VectorFunction : uint8_t {
#define MR_NAME(name) name,
  MR_LIBMVEC_FUNCTIONS(MR_NAME) MR_COMPOSED_FUNCTIONS(MR_NAME)
#undef MR_NAME
      none
};

// Of two arguments.
enum class VectorPair : uint8_t { atan2, pow, softplus_grad, none };

// y[i] = f(x[i]); `x` and `y` may be the same.
using VectorLoop = void (*)(const void* x, void* y, int64_t n);
// z[i] = f(x[i], y[i]); a step of 0 means one value for all, 1 one each. `z` may be `x` or `y`.
using VectorPairLoop = void (*)(const void* x, int64_t x_step, const void* y, int64_t y_step,
                                void* z, int64_t n);

// y[i] = exp(x[i] - most), and the sum of these: what a softmax is made of. `x` and `y` may be the
// same.
using ExponentialsLoop = double (*)(const void* x, double most, void* y, int64_t n);

// Null for other types, and where the processor has too little.
VectorLoop vector_loop(VectorFunction function, DType dtype, Instructions has = instructions());
VectorPairLoop vector_loop(VectorPair function, DType dtype, Instructions has = instructions());
ExponentialsLoop exponentials_loop(DType dtype, Instructions has = instructions());

// The constants with which layers of Selu keep mean 0 and variance 1: the slope of the positive
// side, and its product with what the negative side falls to.
inline constexpr double kSeluScale = 1.0507009873554804934193349852946;
inline constexpr double kSeluScaleAlpha = 1.7580993408473768599702175208123;

}  // namespace millrace::cpu
