#include "millrace/ops/loops/hashes.h"

#include <bit>
#include <cstring>

namespace millrace {
namespace {

constexpr uint64_t kMurmurFactor = 0xc6a4a7935bd1e995u;

// `count` <= 8 bytes, the first one lowest.
uint64_t little_endian(const char* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

class SipState {
 public:
  explicit SipState(SipKey key)
      : a_(key.first ^ 0x736f6d6570736575u),
        b_(key.second ^ 0x646f72616e646f6du),
        c_(key.first ^ 0x6c7967656e657261u),
        d_(key.second ^ 0x7465646279746573u) {}

  void add(uint64_t word) {
    d_ ^= word;
    rounds(2);
    a_ ^= word;
  }
  uint64_t finish() {
    c_ ^= 0xff;
    rounds(4);
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      a_ += b_;
      c_ += d_;
      b_ = std::rotl(b_, 13) ^ a_;
      d_ = std::rotl(d_, 16) ^ c_;
      a_ = std::rotl(a_, 32);
      c_ += b_;
      a_ += d_;
      b_ = std::rotl(b_, 17) ^ c_;
      d_ = std::rotl(d_, 21) ^ a_;
      c_ = std::rotl(c_, 32);
    }
  }

  uint64_t a_, b_, c_, d_;
};

}  // namespace

uint64_t murmur_hash64(std::string_view bytes) {
  constexpr uint64_t kFactor = kMurmurFactor, kSeed = 0xDECAFCAFFEu;
  uint64_t hash = kSeed ^ (bytes.size() * kFactor);
  while (bytes.size() >= 8) {
    uint64_t word = little_endian(bytes.data(), 8) * kFactor;
    word = (word ^ (word >> 47)) * kFactor;
    hash = (hash ^ word) * kFactor;
    bytes.remove_prefix(8);
  }
  if (!bytes.empty()) hash = (hash ^ little_endian(bytes.data(), bytes.size())) * kFactor;
  hash = (hash ^ (hash >> 47)) * kFactor;
  return hash ^ (hash >> 47);
}

uint64_t joined_hash64(uint64_t first, uint64_t second) {
  second *= kMurmurFactor;
  second = (second ^ (second >> 47)) * kMurmurFactor;
  uint64_t hash = (first ^ kMurmurFactor ^ second) * kMurmurFactor;
  hash = (hash ^ (hash >> 47)) * kMurmurFactor;
  return hash ^ (hash >> 47);
}

uint64_t sip_hash64(SipKey key, std::string_view bytes) {
  SipState state(key);
  const uint64_t length = bytes.size();
  while (bytes.size() >= 8) {
    state.add(little_endian(bytes.data(), 8));
    bytes.remove_prefix(8);
  }
  state.add(little_endian(bytes.data(), bytes.size()) | length << 56);
  return state.finish();
}

}  // namespace millrace
