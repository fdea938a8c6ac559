// Where the entries of a dense table lie when it is exported: in the buckets that TensorFlow's have
// them in, since its tables take an export, from a checkpoint above all, for their own buckets as
// it is. Open addressing: a key is in the first free bucket of hash, hash + 1, hash + 3, hash + 6 …
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/tensor/tensor.h"

namespace millrace {

constexpr bool can_be_buckets(int64_t count) { return count >= 4 && (count & (count - 1)) == 0; }

// As many as there are, or twice as many until `entries` fill no more than their share `most`.
int64_t buckets_for(int64_t entries, int64_t buckets, float most);

// The bucket of each row of `keys`, `size` elements each; there must be more buckets than rows.
std::vector<size_t> bucket_places(const Tensor& keys, size_t size, int64_t buckets);

}  // namespace millrace
