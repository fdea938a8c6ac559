#include "millrace/ops/sampling/philox.h"

#include <bit>

namespace millrace {

float Philox::real32() {
  constexpr uint32_t kOne = uint32_t{127} << 23;
  return std::bit_cast<float>(kOne | (words_.next() & 0x7fffffu)) - 1.0f;
}

double Philox::real64() {
  constexpr uint64_t kOne = uint64_t{1023} << 52;
  const uint64_t upper = words_.next() & 0xfffffu;
  return std::bit_cast<double>(kOne | upper << 32 | words_.next()) - 1.0;
}

}  // namespace millrace
