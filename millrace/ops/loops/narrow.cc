#include "millrace/ops/loops/narrow.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>

#include "millrace/ops/loops/instructions.h"

namespace millrace {
namespace {

template <class From, class To>
MR_BODY void convert(const From* from, To* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}
template <class From, class To>
void convert_plain(const From* from, To* to, int64_t n) {
  convert(from, to, n);
}

bool has_avx2() { return cpu::instructions() >= cpu::Instructions::avx2; }

#if defined(__x86_64__)
template <class From, class To>
MR_AVX2 void convert_avx2(const From* from, To* to, int64_t n) {
  convert(from, to, n);
}

// Every processor with AVX2 converts halves, too. A rest is filled up to a whole vector, so that
// also the bits of a NaN don't depend on where it stands.
__attribute__((target("avx2,f16c"))) void convert_f16c(const Half* from, float* to, int64_t n) {
  for (; n >= 8; n -= 8, from += 8, to += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm256_storeu_ps(to, _mm256_cvtph_ps(halves));
  }
  if (n == 0) return;
  __m128i halves = _mm_setzero_si128();
  std::memcpy(&halves, from, static_cast<size_t>(n) * sizeof(*from));
  const __m256 floats = _mm256_cvtph_ps(halves);
  std::memcpy(to, &floats, static_cast<size_t>(n) * sizeof(*to));
}
__attribute__((target("avx2,f16c"))) void convert_f16c(const float* from, Half* to, int64_t n) {
  for (; n >= 8; n -= 8, from += 8, to += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
  }
  if (n == 0) return;
  __m256 floats = _mm256_setzero_ps();
  std::memcpy(&floats, from, static_cast<size_t>(n) * sizeof(*from));
  const __m128i halves = _mm256_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT);
  std::memcpy(static_cast<void*>(to), &halves, static_cast<size_t>(n) * sizeof(*to));
}

// As BFloat16(float): to the nearest, ties to even, and a NaN stays one.
MR_AVX2 __m256i upper_halves(__m256 floats) {
  const __m256i words = _mm256_castps_si256(floats), upper = _mm256_srli_epi32(words, 16);
  const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i more = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(words, more), 16);
  const __m256i nan = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(floats, floats, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(rounded, nan, is_nan);
}
MR_AVX2 void convert_avx2(const float* from, BFloat16* to, int64_t n) {
  for (; n >= 16; n -= 16, from += 16, to += 16) {
    const __m256i packed = _mm256_packus_epi32(upper_halves(_mm256_loadu_ps(from)),
                                               upper_halves(_mm256_loadu_ps(from + 8)));
    // It packs each half by itself.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, 0xD8));
  }
  convert(from, to, n);
}
#else
template <class From, class To>
void convert_avx2(const From* from, To* to, int64_t n) {
  convert(from, to, n);
}
template <class From, class To>
void convert_f16c(const From* from, To* to, int64_t n) {
  convert(from, to, n);
}
#endif

template <class From, class To>
Result<Tensor> converted(const Tensor& from, CancelProbe& probe) {
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<To>, from.shape()));
  const From* x = from.flat<From>().data();
  To* y = made.mutable_flat<To>().data();
  MR_TRY(probe.in_pieces(from.num_elements(), [&](int64_t begin, int64_t count) {
    if constexpr (std::is_same_v<To, float>) {
      widen(x + begin, y + begin, count);
    } else {
      narrow(x + begin, y + begin, count);
    }
  }));
  return made;
}

}  // namespace

void widen(const Half* from, float* to, int64_t n) {
  has_avx2() ? convert_f16c(from, to, n) : convert_plain(from, to, n);
}
void widen(const BFloat16* from, float* to, int64_t n) {
  has_avx2() ? convert_avx2(from, to, n) : convert_plain(from, to, n);
}
void narrow(const float* from, Half* to, int64_t n) {
  has_avx2() ? convert_f16c(from, to, n) : convert_plain(from, to, n);
}
void narrow(const float* from, BFloat16* to, int64_t n) {
  has_avx2() ? convert_avx2(from, to, n) : convert_plain(from, to, n);
}

DType wide_type(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

Result<Tensor> widened(const Tensor& tensor, CancelProbe probe) {
  if (tensor.dtype() == DType::f16) return converted<Half, float>(tensor, probe);
  if (tensor.dtype() == DType::bf16) return converted<BFloat16, float>(tensor, probe);
  return tensor;
}

Result<Tensor> narrowed(const Tensor& tensor, DType dtype, CancelProbe probe) {
  if (dtype == DType::f16) return converted<float, Half>(tensor, probe);
  if (dtype == DType::bf16) return converted<float, BFloat16>(tensor, probe);
  return tensor;
}

}  // namespace millrace
