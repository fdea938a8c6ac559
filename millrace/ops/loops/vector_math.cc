#include "millrace/ops/loops/vector_math.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <type_traits>

namespace millrace::cpu {
namespace {

// What a vector's element is, without the reference that indexing gives.
template <class T>
using Unvectored = std::remove_cvref_t<T>;

#if defined(__x86_64__)
namespace with_avx2 {

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define MR_FLOATS 8
#define MR_DOUBLES 4
#define MR_OF_FLOATS(arguments, name) _ZGVdN8##arguments##name##f
#define MR_OF_DOUBLES(arguments, name) _ZGVdN4##arguments##name
#define MR_SQRT_OF_FLOATS _mm256_sqrt_ps
#define MR_SQRT_OF_DOUBLES _mm256_sqrt_pd
#include "millrace/ops/loops/vector_math_loops.h"
#undef MR_FLOATS
#undef MR_DOUBLES
#undef MR_OF_FLOATS
#undef MR_OF_DOUBLES
#undef MR_SQRT_OF_FLOATS
#undef MR_SQRT_OF_DOUBLES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace with_avx2

namespace with_avx512 {

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif
#define MR_FLOATS 16
#define MR_DOUBLES 8
#define MR_OF_FLOATS(arguments, name) _ZGVeN16##arguments##name##f
#define MR_OF_DOUBLES(arguments, name) _ZGVeN8##arguments##name
#define MR_SQRT_OF_FLOATS _mm512_sqrt_ps
#define MR_SQRT_OF_DOUBLES _mm512_sqrt_pd
#include "millrace/ops/loops/vector_math_loops.h"
#undef MR_FLOATS
#undef MR_DOUBLES
#undef MR_OF_FLOATS
#undef MR_OF_DOUBLES
#undef MR_SQRT_OF_FLOATS
#undef MR_SQRT_OF_DOUBLES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace with_avx512
#endif

// What a table has at a place, for the element type and the instructions.
template <class Loop>
Loop loop_at([[maybe_unused]] size_t at, [[maybe_unused]] DType dtype,
             [[maybe_unused]] Instructions has) {
#if defined(__x86_64__)
  if (has == Instructions::plain) return nullptr;
  const bool is_avx2 = has == Instructions::avx2;
  if (dtype == DType::f32) {
    return is_avx2 ? with_avx2::kLoops<Loop, with_avx2::Floats>[at]
                   : with_avx512::kLoops<Loop, with_avx512::Floats>[at];
  }
  if (dtype == DType::f64) {
    return is_avx2 ? with_avx2::kLoops<Loop, with_avx2::Doubles>[at]
                   : with_avx512::kLoops<Loop, with_avx512::Doubles>[at];
  }
#endif
  return nullptr;
}

}  // namespace

VectorLoop vector_loop(VectorFunction function, DType dtype, Instructions has) {
  if (function == VectorFunction::none) return nullptr;
  return loop_at<VectorLoop>(static_cast<size_t>(function), dtype, has);
}

VectorPairLoop vector_loop(VectorPair function, DType dtype, Instructions has) {
  if (function == VectorPair::none) return nullptr;
  return loop_at<VectorPairLoop>(static_cast<size_t>(function), dtype, has);
}

ExponentialsLoop exponentials_loop(DType dtype, Instructions has) {
  return loop_at<ExponentialsLoop>(0, dtype, has);
}

}  // namespace millrace::cpu
