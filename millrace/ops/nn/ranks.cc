#include "millrace/ops/nn/ranks.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/instructions.h"
#include "millrace/ops/loops/share_work.h"

namespace millrace {
namespace {

// The k largest of what it was offered. Keeps up to twice as many and drops the smaller half when
// it is full, so that each element costs the same however large k is.
class Largest {
 public:
  explicit Largest(int64_t k) : k_(static_cast<size_t>(k)), most_(2 * k_ + kSome) {}

  void clear() {
    kept_.clear();
    has_limit_ = false;
  }
  // Elements in the order of their places: `count` from `first` on.
  void offer(const uint64_t* keys, int64_t count, int64_t first) {
    int64_t i = 0;
    while (i < count) {
      if (has_limit_) i = next_larger(keys, i, count);
      for (const int64_t end = std::min(count, i + kBlock); i < end; ++i) offer(keys[i], first + i);
    }
  }
  // In order, the largest first. Requires that k were offered.
  std::span<const Ranked> sorted() {
    if (kept_.size() > k_) shrink();
    std::sort(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  static constexpr size_t kSome = 16;
  static constexpr int64_t kBlock = 32;

  void offer(uint64_t key, int64_t place) {
    if (has_limit_ && key <= limit_) return;
    kept_.push_back({key, place});
    if (kept_.size() == most_) shrink();
  }

  // From `i` on, the beginning of the first block that has a key over the limit; else of the rest.
  int64_t next_larger(const uint64_t* keys, int64_t i, int64_t count) const {
    const auto is_larger = [limit = limit_](uint64_t key) MR_LAMBDA_BODY { return key > limit; };
    return i + first_block<kBlock>(keys + i, count - i, is_larger);
  }

  void shrink() {
    std::nth_element(kept_.begin(), kept_.begin() + static_cast<int64_t>(k_) - 1, kept_.end());
    kept_.resize(k_);
    limit_ = kept_.back().key;
    has_limit_ = true;
  }

  const size_t k_, most_;
  std::vector<Ranked> kept_;
  uint64_t limit_ = 0;  // what is not larger is none of them
  bool has_limit_ = false;
};

template <class T>
void write_places_as(std::span<const Ranked> ranked, void* out, int64_t step) {
  T* to = static_cast<T*>(out);
  for (size_t i = 0; i < ranked.size(); ++i)
    to[static_cast<int64_t>(i) * step] = static_cast<T>(ranked[i].place);
}

void write_places(std::span<const Ranked> ranked, DType dtype, void* out, int64_t step) {
  if (dtype == DType::i16) return write_places_as<int16_t>(ranked, out, step);
  if (dtype == DType::i32) return write_places_as<int32_t>(ranked, out, step);
  write_places_as<int64_t>(ranked, out, step);
}

int64_t largest_place(DType dtype) {
  return dtype == DType::i16   ? std::numeric_limits<int16_t>::max()
         : dtype == DType::i32 ? std::numeric_limits<int32_t>::max()
                               : std::numeric_limits<int64_t>::max();
}

// What ranking costs for each element, in elementary steps.
constexpr int64_t kRankCost = 4;

// A tensor as lines of `length` elements, `size` bytes each, that stand `inner` elements apart.
struct Lines {
  int64_t number, length, inner, size;

  // The byte where line i begins in a tensor whose lines have `along` elements of `bytes` each.
  int64_t start(int64_t i, int64_t along, int64_t bytes) const {
    return (i / inner * along * inner + i % inner) * bytes;
  }
};

// Elements [begin, begin + count) of a line, one behind the other: where they are, or in `space`.
const char* gathered(const Lines& in, const char* line, int64_t begin, int64_t count, char* space) {
  const int64_t step = in.inner * in.size;
  if (in.inner == 1) return line + begin * step;
  for (int64_t j = 0; j < count; ++j)
    std::memcpy(space + j * in.size, line + (begin + j) * step, static_cast<size_t>(in.size));
  return space;
}

// Lines [first, last).
Status rank_lines(const Lines& in, const Ranking& ranking, const char* data, Tensor& values,
                  Tensor& places, int64_t first, int64_t last, CancelProbe& probe) {
  constexpr int64_t kChunk = 1024;
  uint64_t keys[kChunk];
  char space[kChunk * sizeof(uint64_t)];
  Largest largest(ranking.k);
  const auto place_size = static_cast<int64_t>(dtype_size(places.dtype()));
  const int64_t step = in.inner * in.size;
  const auto give = [&](std::span<const Ranked> ranked, int64_t i, const char* line) {
    char* value = static_cast<char*>(values.mutable_data()) + in.start(i, ranking.k, in.size);
    for (const Ranked& one : ranked) {
      std::memcpy(value, line + one.place * step, static_cast<size_t>(in.size));
      value += step;
    }
    char* place = static_cast<char*>(places.mutable_data()) + in.start(i, ranking.k, place_size);
    write_places(ranked, places.dtype(), place, in.inner);
  };
  const bool is_one = ranking.k == 1 && ranking.end == End::largest && in.inner == 1;
  const auto alone = is_one ? ranking.loops->first_largest : nullptr;
  for (int64_t i = first; i < last; ++i) {
    const char* line = data + in.start(i, in.length, in.size);
    largest.clear();
    if (alone != nullptr) {
      const Ranked only{0, alone(line, in.length)};
      give({&only, 1}, i, line);
      if (!probe.go_on(in.length)) return probe.status();
      continue;
    }
    for (int64_t begin = 0; begin < in.length; begin += kChunk) {
      const int64_t count = std::min(kChunk, in.length - begin);
      ranking.loops->keys(gathered(in, line, begin, count, space), count, keys);
      if (ranking.end == End::smallest) std::transform(keys, keys + count, keys, std::bit_not<>());
      largest.offer(keys, count, begin);
      if (!probe.go_on(count)) return probe.status();
    }
    give(largest.sorted(), i, line);
  }
  return {};
}

}  // namespace

Status rank_along(KernelContext& context, const Ranking& ranking) {
  const Tensor& input = context.input(0);
  const Shape& shape = input.shape();
  const int64_t length = shape.dim(ranking.axis), k = ranking.k;
  if (k < 0) return invalid("Need k >= 0, got ", k);
  if (length < k)
    return invalid("input must have at least k columns. Had ", length, ", needed ", k);
  const DType place_type = context.output_dtype(1);
  if (length - 1 > largest_place(place_type)) {
    return invalid("input has ", length, " columns, more than indices of type ",
                   dtype_name(place_type), " can count");
  }
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<size_t>(ranking.axis)] = k;
  MR_ASSIGN(const Shape out_shape, Shape::create(dims));
  MR_ASSIGN(Tensor values, context.allocate(0, out_shape));
  MR_ASSIGN(Tensor places, context.allocate(1, out_shape));
  if (out_shape.num_elements() > 0) {
    Lines lines{input.num_elements() / length, length, 1,
                static_cast<int64_t>(dtype_size(input.dtype()))};
    for (int axis = ranking.axis + 1; axis < shape.rank(); ++axis) lines.inner *= shape.dim(axis);
    const char* const data = static_cast<const char*>(input.data());
    MR_TRY(share_range(context, lines.number, length * kRankCost,
                       [&](int64_t first, int64_t last, CancelProbe& probe) {
                         return rank_lines(lines, ranking, data, values, places, first, last,
                                           probe);
                       }));
  }
  context.set_output(0, std::move(values));
  context.set_output(1, std::move(places));
  return {};
}

}  // namespace millrace
