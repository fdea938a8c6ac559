#include "millrace/ops/loops/philox_blocks.h"

namespace millrace {
namespace {

uint32_t low_word(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high_word(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// What it is multiplied with, and what the key grows by, in each round.
constexpr uint64_t kFirstFactor = 0xD2511F53, kSecondFactor = 0xCD9E8D57;
constexpr uint32_t kFirstStep = 0x9E3779B9, kSecondStep = 0xBB67AE85;

}  // namespace

PhiloxBlocks PhiloxBlocks::of_seeds(uint64_t seed, uint64_t seed2) {
  return {{low_word(seed), high_word(seed)}, {0, 0, low_word(seed2), high_word(seed2)}};
}

PhiloxBlocks PhiloxBlocks::scrambled(uint64_t seed, uint64_t seed2) {
  PhiloxBlocks mixing({0x3ec8f720, 0x02461e29},
                      {low_word(seed), high_word(seed), low_word(seed2), high_word(seed2)});
  const PhiloxBlock mixed = mixing.next();
  return {{mixed[0], mixed[1]}, {0, 0, mixed[2], mixed[3]}};
}

PhiloxBlock PhiloxBlocks::next() {
  Key key = key_;
  PhiloxBlock block = counter_;
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = kFirstFactor * block[0], second = kSecondFactor * block[2];
    block = {high_word(second) ^ block[1] ^ key[0], low_word(second),
             high_word(first) ^ block[3] ^ key[1], low_word(first)};
    key[0] += kFirstStep;
    key[1] += kSecondStep;
  }
  skip(1);
  return block;
}

void PhiloxBlocks::skip(uint64_t blocks) {
  // Two halves of 64 bits, with a carry between them.
  const uint64_t lower = counter_[0] | uint64_t{counter_[1]} << 32;
  uint64_t upper = counter_[2] | uint64_t{counter_[3]} << 32;
  const uint64_t sum = lower + blocks;
  if (sum < lower) ++upper;
  counter_ = {low_word(sum), high_word(sum), low_word(upper), high_word(upper)};
}

Result<std::unique_ptr<PhiloxStream>> PhiloxStream::create(const AttrView& attrs, Random* random) {
  MR_ASSIGN(const int64_t seed, attrs.integer("seed"));
  MR_ASSIGN(const int64_t seed2, attrs.integer("seed2"));
  if (seed == 0 && seed2 == 0) return unseeded(random);
  return std::make_unique<PhiloxStream>(
      PhiloxBlocks::of_seeds(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2)));
}

std::unique_ptr<PhiloxStream> PhiloxStream::unseeded(Random* random) {
  const std::unique_ptr<Random> own = random == nullptr ? make_random() : nullptr;
  Random& chance = random == nullptr ? *own : *random;
  const uint64_t first = chance.next();
  return std::make_unique<PhiloxStream>(PhiloxBlocks::of_seeds(first, chance.next()));
}

PhiloxBlocks PhiloxStream::reserve(uint64_t blocks) {
  MutexLock lock(mutex_);
  const PhiloxBlocks reserved = blocks_;
  blocks_.skip(blocks);
  return reserved;
}

}  // namespace millrace
