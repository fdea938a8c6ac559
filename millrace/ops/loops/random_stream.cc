#include "millrace/ops/loops/random_stream.h"

#include <bit>
#include <cmath>
#include <memory>
#include <numbers>

#include "millrace/base/hash.h"

namespace millrace {
namespace {

// SplitMix64: spreads one seed over the whole state.
uint64_t mix(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

RandomBits::RandomBits(uint64_t seed) {
  for (uint64_t& word : state_) word = mix(seed);
}

uint64_t RandomBits::operator()() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t RandomBits::below(uint64_t limit) {
  // What lies past the last whole multiple of limit would make small numbers likelier.
  const uint64_t surplus = (0 - limit) % limit;
  for (;;) {
    const uint64_t bits = (*this)();
    if (bits >= surplus) return bits % limit;
  }
}

double RandomBits::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));  // 1 - uniform() is never 0
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

uint64_t fresh_number(Random* random) {
  return random != nullptr ? random->next() : make_random()->next();
}

Result<std::unique_ptr<RandomStream>> RandomStream::create(const AttrView& attrs, Random* random) {
  MR_ASSIGN(const int64_t seed, attrs.integer("seed"));
  MR_ASSIGN(const int64_t seed2, attrs.integer("seed2"));
  const bool is_fixed = seed != 0 || seed2 != 0;
  if (is_fixed)
    return std::make_unique<RandomStream>(
        combine64(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2)));
  return std::make_unique<RandomStream>(fresh_number(random));
}

}  // namespace millrace
