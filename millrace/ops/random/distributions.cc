#include "millrace/ops/random/distributions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <tuple>
#include <vector>

#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/gather.h"
#include "millrace/ops/loops/share_work.h"

namespace millrace {
namespace {

// --- words as numbers in [0, 1), with as many bits as the type keeps ---

template <class T>
T unit(uint32_t word) {
  if constexpr (std::is_same_v<T, float>) {
    return unit_float(word);
  } else if constexpr (std::is_same_v<T, Half>) {
    return T(static_cast<float>(word & 0x3ffu) / 1024.0f);
  } else {
    return T(static_cast<float>(word & 0x7fu) / 128.0f);
  }
}

// --- Box and Muller ---

std::array<float, 2> normal_floats(uint32_t first, uint32_t second) {
  const float radius = std::sqrt(-2.0f * std::log(std::max(unit_float(first), 1.0e-7f)));
  // In double and then rounded, as it has always been done.
  const auto angle = static_cast<float>(2.0 * std::numbers::pi * unit_float(second));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

// --- elements in groups: each has the same blocks whatever the others are ---

template <class T>
inline constexpr size_t kGroup = std::tuple_size_v<Group<T>>;

// What a group costs to draw, in elementary steps.
constexpr int64_t kGroupCost = 64;

// How many groups are drawn between two looks at the step.
constexpr int64_t kGroupsAtOnce = 64;

// draw(g, count, groups) draws groups [g, g + count), on any thread.
template <class T, class Draw>
Status fill_groups(KernelContext& context, Tensor& out, Draw draw) {
  const std::span<T> elements = out.mutable_flat<T>();
  const auto groups = static_cast<int64_t>((elements.size() + kGroup<T> - 1) / kGroup<T>);
  return share_range(context, groups, kGroupCost,
                     [&](int64_t first, int64_t last, CancelProbe& probe) -> Status {
                       for (int64_t g = first; g < last; g += kGroupsAtOnce) {
                         std::array<Group<T>, kGroupsAtOnce> drawn;
                         const int64_t count = std::min(kGroupsAtOnce, last - g);
                         draw(g, count, drawn.data());
                         const auto to = elements.subspan(static_cast<size_t>(g) * kGroup<T>);
                         const size_t wanted = static_cast<size_t>(count) * kGroup<T>;
                         std::copy_n(drawn.front().data(), std::min(wanted, to.size()), to.data());
                         if (!probe.go_on(count * kGroupCost)) return probe.status();
                       }
                       return {};
                     });
}

// Each group has the block of its number.
template <class T, Group<T> (*kMake)(const PhiloxBlock&)>
Status block_loop(KernelContext& context, const PhiloxBlocks& all, Tensor& out) {
  return fill_groups<T>(context, out, [&](int64_t g, int64_t count, Group<T>* groups) {
    std::array<PhiloxBlock, kGroupsAtOnce> blocks;
    all.from(static_cast<uint64_t>(g)).next(blocks.data(), count);
    for (int64_t i = 0; i < count; ++i) groups[i] = kMake(blocks[static_cast<size_t>(i)]);
  });
}

// Those beyond 2 are drawn again, from blocks that are the group's own: so many.
template <class T>
inline constexpr uint64_t kBlocksOfGroup = kMostBlocks* kGroup<T> / 4;

template <class T>
Group<T> truncated_group(PhiloxWords words) {
  Group<T> group;
  size_t number = 0;
  const auto offer = [&](auto x) {
    if (number < group.size() && std::abs(x) < 2) group[number++] = T(x);
  };
  while (number < group.size()) {
    const uint32_t a = words.next(), b = words.next();
    if constexpr (std::is_same_v<T, double>) {
      const uint32_t c = words.next(), d = words.next();
      for (const double x : normal_doubles({a, b, c, d})) offer(x);
    } else {
      for (const float x : normal_floats(a, b)) offer(x);
    }
  }
  return group;
}

template <class T>
Status truncated_loop(KernelContext& context, const PhiloxBlocks& all, Tensor& out) {
  return fill_groups<T>(context, out, [&](int64_t g, int64_t count, Group<T>* groups) {
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t first = static_cast<uint64_t>(g + i) * kBlocksOfGroup<T>;
      groups[i] = truncated_group<T>(PhiloxWords(all.from(first)));
    }
  });
}

template <class T>
Status integer_loop(KernelContext& context, const PhiloxBlocks& all, const IntegerRange& range,
                    Tensor& out) {
  constexpr int64_t kWords = sizeof(T) / 4, kCount = 4 / kWords;
  // Of the same size without a sign: the bits are the same.
  T* const to = static_cast<T*>(out.mutable_data());
  const int64_t n = out.num_elements();
  const auto fill = [&](int64_t first, int64_t last, CancelProbe& probe) -> Status {
    PhiloxBlocks blocks = all.from(static_cast<uint64_t>(first));
    for (int64_t g = first; g < last; g += kGroupsAtOnce) {
      // Two words of a number of 64 bits are the lower and the upper one.
      std::array<PhiloxBlock, kGroupsAtOnce> drawn;
      const int64_t number = std::min(kGroupsAtOnce, last - g);
      blocks.next(drawn.data(), number);
      std::array<T, kGroupsAtOnce * kCount> bits;
      std::memcpy(bits.data(), drawn.data(), static_cast<size_t>(number) * sizeof(PhiloxBlock));
      const int64_t begin = g * kCount, count = std::min(number * kCount, n - begin);
      if (range.is_everything) {
        std::copy_n(bits.data(), count, to + begin);
      } else {
        const T low = static_cast<T>(range.low), width = static_cast<T>(range.width);
        for (int64_t i = 0; i < count; ++i)
          to[begin + i] = static_cast<T>(low + bits[static_cast<size_t>(i)] % width);
      }
      if (!probe.go_on(number * kGroupCost)) return probe.status();
    }
    return {};
  };
  return share_range(context, (n + kCount - 1) / kCount, kGroupCost, fill);
}

template <class T>
void read_as_doubles(const Tensor& tensor, int64_t begin, std::span<double> to) {
  const std::span<const T> from = tensor.flat<T>().subspan(static_cast<size_t>(begin), to.size());
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<double>(static_cast<cpu::Math<T>>(from[i]));
}

}  // namespace

std::array<double, 2> normal_doubles(const PhiloxBlock& block) {
  const double size = std::max(unit_double(block[0], block[1]), 1.0e-7);
  const double radius = std::sqrt(-2.0 * std::log(size));
  const double angle = 2.0 * std::numbers::pi * unit_double(block[2], block[3]);
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

template <class T>
Group<T> uniform_group(const PhiloxBlock& b) {
  if constexpr (std::is_same_v<T, double>) {
    return {unit_double(b[0], b[1]), unit_double(b[2], b[3])};
  } else {
    return {unit<T>(b[0]), unit<T>(b[1]), unit<T>(b[2]), unit<T>(b[3])};
  }
}
template <class T>
Group<T> normal_group(const PhiloxBlock& b) {
  if constexpr (std::is_same_v<T, double>) {
    return normal_doubles(b);
  } else {
    const auto x = normal_floats(b[0], b[1]), y = normal_floats(b[2], b[3]);
    return {T(x[0]), T(x[1]), T(y[0]), T(y[1])};
  }
}
template Group<BFloat16> uniform_group(const PhiloxBlock&);
template Group<Half> uniform_group(const PhiloxBlock&);
template Group<float> uniform_group(const PhiloxBlock&);
template Group<double> uniform_group(const PhiloxBlock&);
template Group<BFloat16> normal_group(const PhiloxBlock&);
template Group<Half> normal_group(const PhiloxBlock&);
template Group<float> normal_group(const PhiloxBlock&);
template Group<double> normal_group(const PhiloxBlock&);

FillLoop fill_loop(Distribution distribution, DType dtype) {
  return cpu::pick<FillLoop>(cpu::Floating(), dtype, [distribution]<class T>() -> FillLoop {
    switch (distribution) {
      case Distribution::uniform:
        return &block_loop<T, &uniform_group<T>>;
      case Distribution::normal:
        return &block_loop<T, &normal_group<T>>;
      case Distribution::truncated_normal:
        return &truncated_loop<T>;
    }
    return nullptr;
  });
}

Status fill_integers(KernelContext& context, const PhiloxBlocks& blocks, const IntegerRange& range,
                     Tensor& out) {
  return dtype_size(out.dtype()) == 8 ? integer_loop<uint64_t>(context, blocks, range, out)
                                      : integer_loop<uint32_t>(context, blocks, range, out);
}

Status draw_classes(const Tensor& logits, int64_t samples, PhiloxBlocks blocks, Tensor& out,
                    CancelProbe probe) {
  using Read = void (*)(const Tensor&, int64_t, std::span<double>);
  const Read read = cpu::pick<Read>(cpu::Real(), logits.dtype(),
                                    []<class T>() -> Read { return &read_as_doubles<T>; });
  const int64_t rows = logits.shape().dim(0), classes = logits.shape().dim(1);
  std::vector<double> below(static_cast<size_t>(classes));
  PhiloxWords words(blocks);
  const bool is_wide = out.dtype() == DType::i64;
  for (int64_t row = 0; row < rows; ++row) {
    read(logits, row * classes, below);
    double largest = std::numeric_limits<double>::lowest();
    for (const double x : below)
      if (std::isfinite(x)) largest = std::max(largest, x);
    double total = 0;
    for (double& x : below) x = total += std::isfinite(x) ? std::exp(x - largest) : 0;
    for (int64_t i = 0; i < samples; ++i) {
      const uint32_t first = words.next(), second = words.next();
      const double wanted = unit_double(first, second) * total;
      const auto at = std::upper_bound(below.begin(), below.end(), wanted) - below.begin();
      const int64_t to = row * samples + i;
      if (is_wide) {
        out.mutable_flat<int64_t>()[static_cast<size_t>(to)] = at;
      } else {
        out.mutable_flat<int32_t>()[static_cast<size_t>(to)] = static_cast<int32_t>(at);
      }
      if (!probe.go_on(64)) return probe.status();
    }
  }
  return {};
}

Result<Tensor> shuffled_rows(KernelContext& context, const Tensor& value, PhiloxBlocks blocks) {
  if (value.num_elements() == 0) return value;  // of any number of rows
  const auto number = static_cast<size_t>(value.shape().dim(0));
  std::vector<int64_t> rows(number);
  std::iota(rows.begin(), rows.end(), int64_t{0});
  PhiloxWords words(blocks);
  for (size_t i = 0; i + 1 < number; ++i)
    std::swap(rows[i], rows[i + words.next() % static_cast<uint32_t>(number - i)]);
  const Tensor order = Tensor::vector<int64_t>(std::span<const int64_t>(rows));
  return gather(context, value, order, 0, 0);
}

}  // namespace millrace
