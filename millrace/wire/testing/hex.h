// Small verbs for the tests of this room.
#pragma once

#include <string>
#include <string_view>

#include "millrace/tensor/tensor.h"

namespace millrace::wire::testing {

// "0a 02 08 01" -> four bytes; spaces may be left out.
inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  std::string digits;
  for (const char c : hex) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
    digits.clear();
  }
  return bytes;
}

inline std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    if (!hex.empty()) hex += ' ';
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[c & 15];
  }
  return hex;
}

// `count` numbers 0, 1, 2 ... of dtype float.
inline Tensor counting(int64_t count) {
  Tensor made = Tensor::allocate(DType::f32, {count}).value();
  for (int64_t i = 0; i < count; ++i)
    made.mutable_flat<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
  return made;
}

}  // namespace millrace::wire::testing
