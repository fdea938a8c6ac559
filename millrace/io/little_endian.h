// Numbers as files have them: lowest byte first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::io {

template <class T>
void put_little(std::string* out, T number) {
  for (size_t i = 0; i < sizeof number; ++i) *out += static_cast<char>(number >> (8 * i));
}

// The number at the front of `bytes`, which has as many bytes at least.
template <class T>
T read_little(std::string_view bytes) {
  T number = 0;
  for (size_t i = 0; i < sizeof number; ++i)
    number |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return number;
}

}  // namespace millrace::io
