// Ranking the elements along one axis, whatever their type: what TopK and its kin share.
#pragma once

#include <bit>
#include <type_traits>

#include "millrace/op/kernel.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/instructions.h"
#include "millrace/ops/loops/row_folds.h"

namespace millrace {

// An element as an integer that is in the order of the elements: NaN comes after everything, and
// zeros of both signs are one.
template <class T>
uint64_t rank_key(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    // Without a branch: loops of it become vectors.
    constexpr uint64_t kSign = uint64_t{1} << 63;
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(x) + 0.0);  // of -0 those of 0
    const uint64_t turned = (bits & kSign) != 0 ? ~bits : bits | kSign;
    return x != x ? ~uint64_t{0} : turned;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(x)) ^ (uint64_t{1} << 63);
  } else {
    return x;
  }
}

// How elements of one type are ranked.
struct RankLoops {
  void (*keys)(const void* in, int64_t n, uint64_t* keys);
  // The place of the first of the largest, which is sooner found than by keys; null if it is not.
  int64_t (*first_largest)(const void* in, int64_t n);
};

template <class T>
void write_rank_keys(const void* in, int64_t n, uint64_t* keys) {
  const T* x = static_cast<const T*>(in);
  const auto write = [=]() MR_LAMBDA_BODY {
    for (int64_t i = 0; i < n; ++i) keys[i] = rank_key(static_cast<cpu::Math<T>>(x[i]));
  };
  if constexpr (std::is_floating_point_v<T>) {
    cpu::in_widest(write);
  } else {
    write();
  }
}

// Where the first block of kBlock elements begins of which one `is_wanted`; else where less than a
// block is left.
template <int64_t kBlock, class T, class Wanted>
int64_t first_block(const T* x, int64_t n, Wanted is_wanted) {
  int64_t begin = 0;
  // Copies of what it reads, and one result: else compilers keep all of it in memory.
  cpu::in_widest([&begin, x, n, is_wanted]() MR_LAMBDA_BODY {
    int64_t at = 0;
    for (; at + kBlock <= n; at += kBlock) {
      int32_t found = 0;
      for (int64_t i = 0; i < kBlock; ++i) found |= is_wanted(x[at + i]) ? 1 : 0;
      if (found != 0) break;
    }
    begin = at;
  });
  return begin;
}

// The first element that `is_wanted`; n if none is.
template <class T, class Wanted>
int64_t first_place(const T* x, int64_t n, Wanted is_wanted) {
  int64_t i = first_block<64>(x, n, is_wanted);
  while (i < n && !is_wanted(x[i])) ++i;
  return i;
}

template <class T>
int64_t first_largest(const void* in, int64_t n) {
  const T* x = static_cast<const T*>(in);
  if constexpr (std::is_floating_point_v<T>) {
    const int64_t nan = first_place(x, n, [](T value) MR_LAMBDA_BODY { return value != value; });
    if (nan < n) return nan;
  }
  const T largest = cpu::best_of<cpu::Larger>(x[0], x, n);
  return first_place(x, n, [=](T value) MR_LAMBDA_BODY { return value == largest; });
}

template <class T>
constexpr RankLoops rank_loops() {
  if constexpr (cpu::kIsNarrowFloat<T>) {
    return {&write_rank_keys<T>, nullptr};
  } else {
    return {&write_rank_keys<T>, &first_largest<T>};
  }
}
template <class T>
inline constexpr RankLoops kRankLoops = rank_loops<T>();

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
  const RankLoops* loops = nullptr;  // of the input's type
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
