#include "millrace/ops/sampling/philox.h"

#include <bit>

namespace millrace {

void Philox::skip(uint64_t blocks) {
  uint64_t carry = blocks;
  for (uint32_t& word : counter_) {
    carry += word;
    word = low(carry);
    carry >>= 32;
  }
}

float Philox::real32() {
  constexpr uint32_t kOne = uint32_t{127} << 23;
  return std::bit_cast<float>(kOne | (word() & 0x7fffffu)) - 1.0f;
}

double Philox::real64() {
  constexpr uint64_t kOne = uint64_t{1023} << 52;
  const uint64_t upper = word() & 0xfffffu;
  return std::bit_cast<double>(kOne | upper << 32 | word()) - 1.0;
}

void Philox::refill() {
  constexpr uint64_t kFirstFactor = 0xD2511F53, kSecondFactor = 0xCD9E8D57;
  constexpr uint32_t kFirstStep = 0x9E3779B9, kSecondStep = 0xBB67AE85;
  std::array<uint32_t, 2> key = key_;
  block_ = counter_;
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = kFirstFactor * block_[0], second = kSecondFactor * block_[2];
    block_ = {high(second) ^ block_[1] ^ key[0], low(second), high(first) ^ block_[3] ^ key[1],
              low(first)};
    key[0] += kFirstStep;
    key[1] += kSecondStep;
  }
  used_ = 0;
  skip(1);
}

}  // namespace millrace
