// Ranking the elements along one axis, whatever their type: what TopK and its kin share.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "millrace/op/kernel.h"
#include "millrace/ops/loops/cpu_loops.h"

namespace millrace {

// An element as an integer that is in the order of the elements: NaN comes after everything, and
// zeros of both signs are one.
template <class T>
uint64_t rank_key(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    if (std::isnan(x)) return ~uint64_t{0};
    const auto bits = std::bit_cast<uint64_t>(x == 0 ? 0.0 : static_cast<double>(x));
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(x)) ^ (uint64_t{1} << 63);
  } else {
    return x;
  }
}

using RankKeys = void (*)(const void* in, int64_t n, uint64_t* keys);

template <class T>
void write_rank_keys(const void* in, int64_t n, uint64_t* keys) {
  const T* x = static_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i) keys[i] = rank_key(static_cast<cpu::Math<T>>(x[i]));
}

struct Ranked {
  uint64_t key;
  int64_t place;
  // Of equal elements the first is the larger one.
  friend bool operator<(const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key > b.key : a.place < b.place;
  }
};

// Which elements are wanted: those with the largest keys or with the smallest.
enum class End : uint8_t { largest, smallest };

struct Ranking {
  RankKeys keys = nullptr;  // of the input's type
  End end = End::largest;
  int64_t k = 0;
  int axis = 0;
};

// Sets output 0 to the k first elements along an axis of input 0, in order, of equal ones the first
// first, and output 1 to where they are.
// Errors: INVALID_ARGUMENT for k that is negative or more than there are, and for more elements
// than the type of output 1 can count; CANCELLED.
Status rank_along(KernelContext& context, const Ranking& ranking);

}  // namespace millrace
