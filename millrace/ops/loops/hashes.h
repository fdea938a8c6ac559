// Hashes of bytes, the same as TensorFlow's: which bucket a string falls into is part of models.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

// MurmurHash64A with TensorFlow's own seed: what its older graphs use.
uint64_t murmur_hash64(std::string_view bytes);

// SipHash-2-4 under a key of 128 bits: who does not know it can't choose strings that collide.
struct SipKey {
  uint64_t first, second;
};
uint64_t sip_hash64(SipKey key, std::string_view bytes);

// One hash of two, in which their order matters: how crosses of features are put together.
uint64_t joined_hash64(uint64_t first, uint64_t second);

}  // namespace millrace
