#include "millrace/ops/tables/buckets.h"

#include "millrace/ops/loops/hashes.h"

namespace millrace {
namespace {

template <class T>
uint64_t number_at(const Tensor& keys, size_t at) {
  return static_cast<uint64_t>(keys.flat<T>()[at]);
}

uint64_t hash_of_element(const Tensor& keys, size_t at) {
  switch (keys.dtype()) {
    case DType::string:
      return murmur_hash64(keys.flat<std::string>()[at]);
    case DType::i64:
      return number_at<int64_t>(keys, at);
    case DType::i32:
      return number_at<int32_t>(keys, at);
    default: {
      // TensorFlow has no dense tables of such keys.
      const size_t bytes = dtype_size(keys.dtype());
      return murmur_hash64({static_cast<const char*>(keys.data()) + at * bytes, bytes});
    }
  }
}

uint64_t hash_of_row(const Tensor& keys, size_t row, size_t size) {
  if (size == 1) return hash_of_element(keys, row);
  constexpr uint64_t kGolden = 0x9e3779b97f4a7800u;
  uint64_t hash = 0;
  for (size_t i = 0; i < size; ++i)
    hash ^= hash_of_element(keys, row * size + i) + kGolden + (hash << 10) + (hash >> 4);
  return hash;
}

}  // namespace

int64_t buckets_for(int64_t entries, int64_t buckets, float most) {
  while (static_cast<float>(entries) > static_cast<float>(buckets) * most) buckets <<= 1;
  return buckets;
}

std::vector<size_t> bucket_places(const Tensor& keys, size_t size, int64_t buckets) {
  std::vector<size_t> places(static_cast<size_t>(keys.shape().dim(0)));
  std::vector<bool> taken(static_cast<size_t>(buckets));
  const uint64_t mask = static_cast<uint64_t>(buckets) - 1;
  for (size_t row = 0; row < places.size(); ++row) {
    uint64_t place = hash_of_row(keys, row, size) & mask;
    for (uint64_t probe = 1; taken[place]; ++probe) place = (place + probe) & mask;
    taken[place] = true;
    places[row] = place;
  }
  return places;
}

}  // namespace millrace
