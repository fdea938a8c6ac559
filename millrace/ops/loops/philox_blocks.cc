#include "millrace/ops/loops/philox_blocks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "millrace/ops/loops/instructions.h"

namespace millrace {
namespace {

uint32_t low_word(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high_word(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// What it is multiplied with, and what the key grows by, in each round.
constexpr uint64_t kFirstFactor = 0xD2511F53, kSecondFactor = 0xCD9E8D57;
constexpr uint32_t kFirstStep = 0x9E3779B9, kSecondStep = 0xBB67AE85;

#if defined(__x86_64__)
// Four at once, each word in a lane of 64 bits, of which multiplications take the lower half; what
// stands above it counts for nothing until the end.
struct FourBlocks {
  __m256i words[4];

  MR_BODY MR_AVX2 void round(__m256i key0, __m256i key1) {
    const __m256i first = _mm256_mul_epu32(words[0], _mm256_set1_epi64x(int64_t{kFirstFactor}));
    const __m256i second = _mm256_mul_epu32(words[2], _mm256_set1_epi64x(int64_t{kSecondFactor}));
    words[0] = _mm256_xor_si256(_mm256_srli_epi64(second, 32), _mm256_xor_si256(words[1], key0));
    words[1] = second;
    words[2] = _mm256_xor_si256(_mm256_srli_epi64(first, 32), _mm256_xor_si256(words[3], key1));
    words[3] = first;
  }
  // Word 0 and 1 of each block side by side, then 2 and 3.
  MR_BODY MR_AVX2 void store(PhiloxBlock* blocks) const {
    const __m256i lower = _mm256_blend_epi32(words[0], _mm256_slli_epi64(words[1], 32), 0xAA);
    const __m256i upper = _mm256_blend_epi32(words[2], _mm256_slli_epi64(words[3], 32), 0xAA);
    const __m256i even = _mm256_unpacklo_epi64(lower, upper);
    const __m256i odd = _mm256_unpackhi_epi64(lower, upper);
    __m256i* const to = reinterpret_cast<__m256i*>(blocks);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
};

constexpr uint64_t kAtOnce = 16;

// Four times four, which don't wait for each other; the lower half of no counter runs over.
MR_AVX2 void next_avx2(PhiloxBlocks::Key key, uint64_t lower, uint64_t upper, PhiloxBlock* blocks) {
  constexpr int64_t kFours = kAtOnce / 4;
  FourBlocks fours[kFours];
  const __m256i high = _mm256_set1_epi64x(static_cast<int64_t>(upper));
  __m256i low = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<int64_t>(lower)),
                                 _mm256_set_epi64x(3, 2, 1, 0));
#pragma GCC unroll 4
  for (FourBlocks& four : fours) {
    four = {{low, _mm256_srli_epi64(low, 32), high, _mm256_srli_epi64(high, 32)}};
    low = _mm256_add_epi64(low, _mm256_set1_epi64x(4));
  }
  for (int round = 0; round < 10; ++round) {
    const __m256i key0 = _mm256_set1_epi64x(key[0]), key1 = _mm256_set1_epi64x(key[1]);
#pragma GCC unroll 4
    for (FourBlocks& four : fours) four.round(key0, key1);
    key[0] += kFirstStep;
    key[1] += kSecondStep;
  }
#pragma GCC unroll 4
  for (int64_t i = 0; i < kFours; ++i) fours[i].store(blocks + 4 * i);
}
#endif

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

void PhiloxBlocks::next(PhiloxBlock* blocks, int64_t count) {
#if defined(__x86_64__)
  if (cpu::instructions() >= cpu::Instructions::avx2) {
    constexpr auto kMany = static_cast<int64_t>(kAtOnce);
    for (; count >= kMany && lower() <= ~kAtOnce; count -= kMany, blocks += kAtOnce) {
      next_avx2(key_, lower(), upper(), blocks);
      skip(kAtOnce);
    }
  }
#endif
  for (; count > 0; --count) *blocks++ = next();
}

void PhiloxBlocks::skip(uint64_t blocks) {
  // With a carry between the halves.
  const uint64_t sum = lower() + blocks, carried = upper() + (sum < blocks ? 1 : 0);
  counter_ = {low_word(sum), high_word(sum), low_word(carried), high_word(carried)};
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
