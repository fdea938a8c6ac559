// Features that are crossed: elements of tensors of integers or texts, as parts of a text or of a
// hash. The same as TensorFlow's: which bucket a cross falls into is part of models.
#pragma once

#include <farmhash.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "millrace/base/str_cat.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

inline uint64_t feature_fingerprint(std::string_view bytes) {
  return util::Fingerprint64(bytes.data(), bytes.size());
}

// An integer is its own hash.
inline uint64_t feature_hash(const Tensor& values, int64_t at) {
  const auto place = static_cast<size_t>(at);
  if (values.dtype() == DType::string)
    return feature_fingerprint(values.flat<std::string>()[place]);
  return static_cast<uint64_t>(values.flat<int64_t>()[place]);
}

inline void append_feature(std::string* text, const Tensor& values, int64_t at) {
  const auto place = static_cast<size_t>(at);
  if (values.dtype() == DType::string) {
    *text += values.flat<std::string>()[place];
  } else {
    str_append(text, values.flat<int64_t>()[place]);
  }
}

// Without buckets, of all numbers that are not negative.
inline int64_t feature_bucket(uint64_t hash, int64_t buckets) {
  const int64_t number = buckets > 0 ? buckets : std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(hash % static_cast<uint64_t>(number));
}

}  // namespace millrace
