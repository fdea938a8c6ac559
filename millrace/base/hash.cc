#include "millrace/base/hash.h"

#include <cstddef>
#include <cstring>

namespace millrace {

uint64_t murmur64(std::string_view bytes, uint64_t seed) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995ULL;
  constexpr int kShift = 47;
  uint64_t hash = seed ^ (bytes.size() * kMultiplier);
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t block;
    std::memcpy(&block, bytes.data(), sizeof(block));
    block *= kMultiplier;
    block ^= block >> kShift;
    block *= kMultiplier;
    hash = (hash ^ block) * kMultiplier;
    bytes.remove_prefix(sizeof(block));
  }
  if (!bytes.empty()) {
    uint64_t tail = 0;
    std::memcpy(&tail, bytes.data(), bytes.size());
    hash = (hash ^ tail) * kMultiplier;
  }
  hash ^= hash >> kShift;
  hash *= kMultiplier;
  return hash ^ (hash >> kShift);
}

}  // namespace millrace
