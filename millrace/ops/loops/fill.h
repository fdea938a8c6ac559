// Many elements of one value, as fast as memory takes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace millrace::cpu {

// `count` elements from `to` on become `value`: some of them one by one, then by copies of what is
// there already, until a block of that is in the nearest cache and all the rest is copied from it.
// memcpy knows better than a loop how to write what the cache need not have read before.
template <class T>
void fill_elements(T* to, int64_t count, T value) {
  constexpr int64_t kFirst = 32, kBlock = 8192 / static_cast<int64_t>(sizeof(T));
  if constexpr (!std::is_trivially_copyable_v<T>) {
    std::fill_n(to, count, value);
    return;
  }
  int64_t done = std::min(count, kFirst);
  std::fill_n(to, done, value);
  while (done < count) {
    const int64_t more = std::min({done, count - done, kBlock});
    std::memcpy(static_cast<void*>(to + done), to, static_cast<size_t>(more) * sizeof(T));
    done += more;
  }
}

}  // namespace millrace::cpu
