// Many elements of one value, as fast as memory takes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "millrace/ops/loops/instructions.h"

namespace millrace::cpu {

// `count` elements from `to` on become `value`. Values of equal bytes, as zeros are, are left to
// memset, which knows how to write past the cache what would not fit into it.
template <class T>
void fill_elements(T* to, int64_t count, T value) {
  constexpr int64_t kFew = 32;  // a call would cost more
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&value);
  if (count < kFew) {
    std::fill_n(to, count, value);
  } else if (std::all_of(bytes, bytes + sizeof(T), [&](unsigned char b) { return b == *bytes; })) {
    std::memset(static_cast<void*>(to), *bytes, static_cast<size_t>(count) * sizeof(T));
  } else {
    in_widest([=]() MR_LAMBDA_BODY {
      for (int64_t i = 0; i < count; ++i) to[i] = value;
    });
  }
}

}  // namespace millrace::cpu
