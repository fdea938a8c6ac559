// Elements of neighbouring channels, computed side by side: what loops over windows keep in
// registers. For sources of this room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/instructions.h"

namespace millrace {

// Integers wrap around.
template <class T>
T added(T sum, T more) {
  if constexpr (cpu::kIsNarrowFloat<T>) {
    return T(static_cast<float>(sum) + static_cast<float>(more));
  } else {
    return cpu::add(sum, more);
  }
}
template <class T>
void add_to(T& sum, T more) {
  sum = added(sum, more);
}

// `Places` says where each of them was found.
template <class T, int kLanes>
struct Lanes {
  struct Places {
    int32_t at[kLanes];

    MR_BODY void fill(int32_t place) { std::fill_n(at, kLanes, place); }
    MR_BODY void store(int32_t* to) const { std::copy_n(at, kLanes, to); }
  };
  T at[kLanes];

  MR_BODY void fill(T value) { std::fill_n(at, kLanes, value); }
  MR_BODY void load(const T* from) { std::copy_n(from, kLanes, at); }
  MR_BODY void store(T* to) const { std::copy_n(at, kLanes, to); }

  MR_BODY void add(const T* from) {
    for (int i = 0; i < kLanes; ++i) add_to(at[i], from[i]);
  }
  MR_BODY void add_scaled(const T* from, T scale) {
    for (int i = 0; i < kLanes; ++i) at[i] += from[i] * scale;
  }
  // Those whose element of `from` equals the largest are `given`, and are zero here from then on.
  MR_BODY void give_to_equals(const T* from, const Lanes& largest, Lanes& given) {
    for (int i = 0; i < kLanes; ++i) {
      const bool equals = is_equal(from[i], largest.at[i]);
      given.at[i] = equals ? at[i] : T(0);
      at[i] = equals ? T(0) : at[i];
    }
  }
  // As ReluGrad has it: times zero where the element of `gate` is not positive.
  MR_BODY void keep_where_positive(const Lanes& gate) {
    for (int i = 0; i < kLanes; ++i)
      at[i] = is_larger(gate.at[i], T(0)) ? at[i] : T(static_cast<cpu::Math<T>>(at[i]) * 0);
  }
  MR_BODY void divide(T by) {
    for (int i = 0; i < kLanes; ++i) at[i] /= by;
  }

  // Takes what is larger; a NaN is not.
  MR_BODY void keep_larger(const T* from) {
    for (int i = 0; i < kLanes; ++i) at[i] = is_larger(from[i], at[i]) ? from[i] : at[i];
  }
  MR_BODY void keep_larger(const T* from, Places& places, int32_t here) {
    for (int i = 0; i < kLanes; ++i) {
      if (!is_larger(from[i], at[i])) continue;
      at[i] = from[i];
      places.at[i] = here;
    }
  }

 private:
  static bool is_larger(T x, T than) {
    return static_cast<cpu::Math<T>>(x) > static_cast<cpu::Math<T>>(than);
  }
  static bool is_equal(T x, T y) {
    return static_cast<cpu::Math<T>>(x) == static_cast<cpu::Math<T>>(y);
  }
};

// Spelled out in vectors: compilers see none where elements of two types are chosen, or so few.
template <int kLanes>
requires(kLanes % 8 == 0) struct Lanes<float, kLanes> {
  using Floats = float __attribute__((vector_size(32)));
  using Numbers = int32_t __attribute__((vector_size(32)));
  static constexpr int kVectors = kLanes / 8;

  struct Places {
    Numbers at[kVectors];

    MR_BODY void fill(int32_t place) {
#pragma GCC unroll 4
      for (Numbers& vector : at) vector = Numbers{} + place;
    }
    MR_BODY void store(int32_t* to) const {
#pragma GCC unroll 4
      for (int64_t i = 0; i < kVectors; ++i) std::memcpy(to + 8 * i, &at[i], sizeof(at[i]));
    }
  };
  Floats at[kVectors];

  MR_BODY void fill(float value) {
#pragma GCC unroll 4
    for (Floats& vector : at) vector = Floats{} + value;
  }
  MR_BODY void load(const float* from) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kVectors; ++i) read(from, i, at[i]);
  }
  MR_BODY void store(float* to) const {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kVectors; ++i) std::memcpy(to + 8 * i, &at[i], sizeof(at[i]));
  }

  MR_BODY void add(const float* from) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kVectors; ++i) {
      Floats x;
      read(from, i, x);
      at[i] += x;
    }
  }
  MR_BODY void add_scaled(const float* from, float scale) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kVectors; ++i) {
      Floats x;
      read(from, i, x);
      at[i] += x * scale;
    }
  }
  MR_BODY void give_to_equals(const float* from, const Lanes& largest, Lanes& given) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kVectors; ++i) {
      Floats x;
      read(from, i, x);
      const Numbers equals = x == largest.at[i], all = reinterpret_cast<Numbers>(at[i]);
      const Numbers gone = all & equals;
      given.at[i] = reinterpret_cast<Floats>(gone);
      at[i] = reinterpret_cast<Floats>(all ^ gone);
    }
  }
  MR_BODY void keep_where_positive(const Lanes& gate) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kVectors; ++i) at[i] = gate.at[i] > 0 ? at[i] : at[i] * 0;
  }
  MR_BODY void divide(float by) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kVectors; ++i) at[i] /= by;
  }

  MR_BODY void keep_larger(const float* from) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kVectors; ++i) {
      Floats x;
      read(from, i, x);
      at[i] = x > at[i] ? x : at[i];
    }
  }
  MR_BODY void keep_larger(const float* from, Places& places, int32_t here) {
    const Numbers all = Numbers{} + here;
#pragma GCC unroll 4
    for (int64_t i = 0; i < kVectors; ++i) {
      Floats x;
      read(from, i, x);
      const Numbers is_larger = x > at[i];
      at[i] = is_larger ? x : at[i];
      places.at[i] = is_larger ? all : places.at[i];
    }
  }

 private:
  // Returned vectors would be told to be another thing to callers without AVX.
  template <class Vector, class T>
  MR_BODY static void read(const T* from, int64_t i, Vector& to) {
    std::memcpy(&to, from + 8 * i, sizeof(to));
  }
};

// block.operator()<kLanes>(c) for channels [c, c + kLanes), until all of `channels` had their turn.
template <class Block>
MR_BODY void each_lanes(int64_t channels, Block block) {
  int64_t c = 0;
  for (; c + 32 <= channels; c += 32) block.template operator()<32>(c);
  for (; c + 8 <= channels; c += 8) block.template operator()<8>(c);
  for (; c < channels; ++c) block.template operator()<1>(c);
}

// Calls `body` (in_widest) if elements of type T are computed in vectors at all.
template <class T, class Body>
void in_widest_of(const Body& body) {
  if constexpr (std::is_floating_point_v<T>) {
    cpu::in_widest(body);
  } else {
    body();
  }
}

}  // namespace millrace
