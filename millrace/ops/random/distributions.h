// From random bits to numbers of a distribution, bit by bit as TensorFlow makes them: the ops of
// this room, with state and without, differ only in where their bits come from.
#pragma once

#include <array>
#include <type_traits>

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/philox_blocks.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// Uniform in [0, 1); normal with mean 0 and deviation 1; the same, none further than 2 from 0.
enum class Distribution : uint8_t { uniform, normal, truncated_normal };

// Fills a tensor of floating numbers, by all threads of the step's pool if it is large. The blocks
// that it draws begin with `blocks`; it takes less than kMostBlocks of them for each element.
using FillLoop = Status (*)(KernelContext& context, const PhiloxBlocks& blocks, Tensor& out);
inline constexpr uint64_t kMostBlocks = 256;

// Null if the type is none of the floating ones.
FillLoop fill_loop(Distribution distribution, DType dtype);

// What one block makes: four elements, two of double. For bfloat16, half, float and double.
template <class T>
using Group = std::array<T, std::is_same_v<T, double> ? 2 : 4>;
template <class T>
Group<T> uniform_group(const PhiloxBlock& block);
template <class T>
Group<T> normal_group(const PhiloxBlock& block);

// Integers of any of the types int32, int64, uint32, uint64, given as bits: all that there are, or
// those from `low` on, `width` many (0 of them is an error that the caller has seen).
struct IntegerRange {
  bool is_everything = true;
  uint64_t low = 0, width = 0;
};
Status fill_integers(KernelContext& context, const PhiloxBlocks& blocks, const IntegerRange& range,
                     Tensor& out);

// Four words as two normally distributed numbers.
std::array<double, 2> normal_doubles(const PhiloxBlock& block);

// Classes drawn with the probabilities exp(logits) of a row, `samples` of them.
Status draw_classes(const Tensor& logits, int64_t samples, PhiloxBlocks blocks, Tensor& out,
                    CancelProbe probe);

// The rows of a tensor of rank 1 or more, in an order that the words of blocks decide.
Result<Tensor> shuffled_rows(KernelContext& context, const Tensor& value, PhiloxBlocks blocks);

}  // namespace millrace
