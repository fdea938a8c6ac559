// Part of families.h: register_index_shuffle.
#include <array>
#include <cmath>
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/random/families.h"

namespace millrace {
namespace {

// Words of a number of bits, 8 to 32, with rotations.
class ShortWords {
 public:
  explicit ShortWords(int bits) : bits_(bits), mask_((uint64_t{1} << bits) - 1) {}
  uint64_t cut(uint64_t x) const { return x & mask_; }
  uint64_t left(uint64_t x, int by) const { return cut(x << by) | x >> (bits_ - by); }
  uint64_t right(uint64_t x, int by) const { return x >> by | cut(x << (bits_ - by)); }
  int bits() const { return bits_; }

 private:
  const int bits_;
  const uint64_t mask_;
};

using ShuffleKey = std::array<uint32_t, 3>;

// A permutation of the numbers of two words: the rounds of the cipher Simon (Beaulieu et al., 2013)
// on words of any size. Good enough to mix; it keeps no secret.
class IndexCipher {
 public:
  IndexCipher(int word_bits, const ShuffleKey& key, int64_t rounds) : words_(word_bits) {
    for (const uint32_t part : key) keys_.push_back(words_.cut(part));
    uint64_t bits = words_.cut(0x7369f885192c0ef5u);
    const uint64_t constant = words_.cut(0xfffffffcu);
    for (int64_t i = 3; i < rounds; ++i, bits >>= 1) {
      const uint64_t last = keys_.back();
      keys_.push_back(constant ^ (bits & 1) ^ keys_[static_cast<size_t>(i - 3)] ^
                      words_.right(last, 3) ^ words_.right(last, 4));
    }
  }

  uint64_t of(uint64_t value) const {
    uint64_t high = words_.cut(value >> words_.bits()), low = words_.cut(value);
    for (size_t i = 0; i + 1 < keys_.size(); i += 2) {
      high ^= mixed(low) ^ keys_[i];
      low ^= mixed(high) ^ keys_[i + 1];
    }
    return high << words_.bits() | low;
  }

 private:
  uint64_t mixed(uint64_t x) const {
    return (words_.left(x, 1) & words_.left(x, 8)) ^ words_.left(x, 2);
  }

  const ShortWords words_;
  std::vector<uint64_t> keys_;
};

// Walks the permutation until it comes by a number that is in range: the walk comes back to where
// it began, which is one.
Result<uint64_t> shuffled_index(uint64_t index, const ShuffleKey& key, uint64_t most,
                                int64_t rounds, CancelProbe& probe) {
  if (most == 0) return uint64_t{0};
  auto bits = static_cast<int>(std::ceil(std::log2(static_cast<double>(most))));
  bits = std::max(bits + bits % 2, 16);
  const IndexCipher cipher(bits / 2, key, rounds);
  do {
    if (!probe.go_on(16 * rounds)) return probe.status();
    index = cipher.of(index);
  } while (index > most);
  return index;
}

// Element `at` of a vector, or the only one of a scalar.
uint64_t bits_at(const Tensor& tensor, int64_t at) {
  const auto place = static_cast<size_t>(tensor.num_elements() == 1 ? 0 : at);
  switch (tensor.dtype()) {
    case DType::i32:
      return static_cast<uint64_t>(int64_t{tensor.flat<int32_t>()[place]});
    case DType::u32:
      return tensor.flat<uint32_t>()[place];
    case DType::i64:
      return static_cast<uint64_t>(tensor.flat<int64_t>()[place]);
    default:
      return tensor.flat<uint64_t>()[place];
  }
}

ShuffleKey key_at(const Tensor& seed, int64_t row) {
  const int64_t first = seed.shape().rank() == 1 ? 0 : 3 * row;
  ShuffleKey key;
  for (int i = 0; i < 3; ++i)
    key[static_cast<size_t>(i)] = static_cast<uint32_t>(bits_at(seed, first + i));
  return key;
}

Status check_shuffle(const Tensor& index, const Tensor& seed, const Tensor& most, int64_t count) {
  const auto fits = [count](const Tensor& tensor) {
    const Shape& shape = tensor.shape();
    return shape.is_scalar() || (shape.rank() == 1 && shape.dim(0) == count);
  };
  if (!fits(index)) {
    return invalid("Index must be a scalar or a vector of size ", count, ", but has shape ",
                   index.shape().to_string());
  }
  const Shape& s = seed.shape();
  if (s != Shape{3} && !(s.rank() == 2 && s.dim(0) == count && s.dim(1) == 3)) {
    return invalid("Seed must be a vector of size [3] or a matrix of size [", count,
                   ", 3] but got ", s.to_string(), ".");
  }
  if (!fits(most)) {
    return invalid("Maxval must be a scalar or a vector of the same size as index but got ",
                   most.shape().to_string());
  }
  return {};
}

Status check_range(const Tensor& index, uint64_t at, uint64_t most) {
  const bool is_signed = index.dtype() == DType::i32 || index.dtype() == DType::i64;
  if (is_signed && static_cast<int64_t>(at) < 0)
    return invalid("index must be >= 0 but was ", static_cast<int64_t>(at));
  if (is_signed && static_cast<int64_t>(most) < 0)
    return invalid("max_index must be >= 0 but was ", static_cast<int64_t>(most));
  if (at > most) return invalid("max_index must be >= index, but ", most, " < ", at);
  return {};
}

Result<Tensor> shuffle_index(KernelContext& context, int64_t rounds) {
  const Tensor &index = context.input(0), &seed = context.input(1), &most = context.input(2);
  if (rounds < 4 || rounds % 2 != 0)
    return invalid("rounds must be even and at least 4, not ", rounds);
  constexpr int64_t kMostRounds = 1 << 16;  // each has a key that is kept
  if (rounds > kMostRounds)
    return invalid("rounds must be at most ", kMostRounds, ", not ", rounds);
  const int64_t count =
      std::max({index.num_elements(), most.num_elements(), seed.num_elements() / 3});
  MR_TRY(check_shuffle(index, seed, most, count));
  const bool is_scalar =
      index.shape().is_scalar() && seed.shape().rank() == 1 && most.shape().is_scalar();
  MR_ASSIGN(Tensor made, context.allocate(0, is_scalar ? Shape() : Shape{count}));
  CancelProbe probe(context);
  const size_t width = dtype_size(made.dtype());
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t at = bits_at(index, i), end = bits_at(most, i);
    MR_TRY(check_range(index, at, end));
    MR_ASSIGN(const uint64_t to, shuffled_index(at, key_at(seed, i), end, rounds, probe));
    if (width == 8) {
      static_cast<uint64_t*>(made.mutable_data())[i] = to;
    } else {
      static_cast<uint32_t*>(made.mutable_data())[i] = static_cast<uint32_t>(to);
    }
  }
  return made;
}

Status infer_index_shuffle(InferContext& context) {
  const auto &index = context.input(0), &seed = context.input(1), &most = context.input(2);
  if (!index.has_rank() || !seed.has_rank() || !most.has_rank()) return {};
  const bool is_scalar = index.rank() == 0 && seed.rank() == 1 && most.rank() == 0;
  context.set_output(0, is_scalar ? PartialShape::scalar() : PartialShape::of_rank(1));
  return {};
}

}  // namespace

Status register_index_shuffle(OpRegistry& ops) {
  return ops.add({
      .name = "RandomIndexShuffle",
      .doc = "Where index goes when all of 0 … max_index are shuffled; three seeds decide it.",
      .signature = "index: dtype, seed: Tseed, max_index: dtype -> output: dtype | "
                   "rounds: int = 4, dtype: {int32, uint32, int64, uint64}, "
                   "Tseed: {int32, uint32, int64, uint64}",
      .infer = infer_index_shuffle,
      .cpu = kernel_with(shuffle_index, integer("rounds")),
      .not_differentiable = "it gives indices, which are no real numbers",
      .examples = {"[0 1 2 3 4 5], [1 2 3], 5 -> [2 0 3 4 5 1]", "0, [1 2 3], 0 -> 0",
                   "[0 1], [[1 2 3] [4 5 6]], [5 5] -> [2 1]"},
  });
}

}  // namespace millrace
