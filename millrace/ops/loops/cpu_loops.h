// What every numeric family shares: lists of element types, the choice of a loop by dtype, and
// arithmetic that is defined for all values.
//
// A loop is a template over one element type, with untyped pointers as its interface. A kernel
// chooses its loop once, when it is made, as a function pointer; code around the loop (shapes,
// broadcasting, buffers) exists once for all types. Half and BFloat16 are computed as float.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "millrace/base/status.h"
#include "millrace/op/kernel.h"
#include "millrace/tensor/dtype.h"

// Says that the iterations of the next loop don't depend on each other, although its pointers may
// be equal (an output on its input's buffer).
#if defined(__clang__)
#define MR_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define MR_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace millrace::cpu {

template <class... T>
struct Types {};
template <class... A, class... B>
Types<A..., B...> operator+(Types<A...>, Types<B...>);
template <class A, class B>
using Join = decltype(A() + B());

using Floating = Types<BFloat16, Half, float, double>;
using Complex = Types<std::complex<float>, std::complex<double>>;
using SignedIntegers = Types<int8_t, int16_t, int32_t, int64_t>;
using Unsigned = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using Integers = Join<SignedIntegers, Unsigned>;
using Real = Join<Floating, Integers>;
using Number = Join<Real, Complex>;
using Signed = Join<Join<Floating, SignedIntegers>, Complex>;

template <class T>
inline constexpr bool kIsComplex = requires(T x) {
  x.real();
};

// The type that elements of type T are computed in.
template <class T>
inline constexpr bool kIsNarrowFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
using Math = std::conditional_t<kIsNarrowFloat<T>, float, T>;

// make.operator()<T>() for the T of the list whose dtype it is; nullptr if it is none of them.
template <class Loop, class... T, class Make>
Loop pick(Types<T...>, DType dtype, Make make) {
  Loop found = nullptr;
  ((dtype_of<T> == dtype ? static_cast<void>(found = make.template operator()<T>()) : void()), ...);
  return found;
}

// For loops that only move elements: make.operator()<T>() for a T that elements of `dtype` can be
// moved as, plain ones as words of their size.
template <class Loop, class Make>
Loop pick_storage(DType dtype, Make make) {
  struct Bytes16 {
    uint64_t halves[2];
  };
  switch (dtype) {
    case DType::string:
      return make.template operator()<std::string>();
    case DType::resource:
      return make.template operator()<ResourceHandle>();
    case DType::variant:
      return make.template operator()<Variant>();
    default:
      break;
  }
  switch (dtype_size(dtype)) {
    case 1:
      return make.template operator()<uint8_t>();
    case 2:
      return make.template operator()<uint16_t>();
    case 4:
      return make.template operator()<uint32_t>();
    case 8:
      return make.template operator()<uint64_t>();
    default:
      return make.template operator()<Bytes16>();
  }
}

// UNIMPLEMENTED: the op allows a type for which there is no loop.
Status no_loop(const KernelSpec& spec, DType dtype);

// `yes` or `no`, of which both are computed. Loops of it become vectors also where g++ would keep a
// branch, lest a side that is not wanted raised a flag of floating point.
template <class T>
T choose(bool is, T yes, T no) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    const Bits mask = Bits(0) - Bits(is);
    return std::bit_cast<T>((std::bit_cast<Bits>(yes) & mask) | (std::bit_cast<Bits>(no) & ~mask));
  } else {
    return is ? yes : no;
  }
}

// Integer arithmetic that wraps around instead of being undefined.
template <class T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    // At least unsigned int: smaller types would be promoted to int, which may overflow.
    using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}
template <class T>
T add(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x + y; });
}
template <class T>
T subtract(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x - y; });
}
template <class T>
T multiply(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x * y; });
}
template <class T>
T negate(T a) {
  return subtract(T(0), a);
}

}  // namespace millrace::cpu
