// Part of families.h: register_bits.
#include <bit>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/math/families.h"

namespace millrace {
namespace {

constexpr const char* kTypes = "{int8, int16, int32, int64, uint8, uint16, uint32, uint64}";
constexpr const char* kWholeNumbers = "it is of whole numbers";

// By how far a number of N bits may be shifted: no further than to the other end.
template <class T>
int shift_of(T by) {
  constexpr int kLast = static_cast<int>(sizeof(T) * 8 - 1);
  if (by < T(0)) return 0;
  return by > T(kLast) ? kLast : static_cast<int>(by);
}

// Of what does not depend on signs: words of the same size do.
template <class F>
cpu::BinaryLoop word_loop(DType dtype, F f) {
  switch (dtype_size(dtype)) {
    case 1:
      return cpu::binary_loop_for<cpu::Types<uint8_t>>(DType::u8, f);
    case 2:
      return cpu::binary_loop_for<cpu::Types<uint16_t>>(DType::u16, f);
    case 4:
      return cpu::binary_loop_for<cpu::Types<uint32_t>>(DType::u32, f);
    default:
      return cpu::binary_loop_for<cpu::Types<uint64_t>>(DType::u64, f);
  }
}

template <class F>
Status add_bitwise(OpRegistry& ops, std::string name, std::string doc, F f, std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = str_cat("x: T, y: T -> z: T | T: ", kTypes),
      .infer = infer::broadcast,
      .cpu =
          [f](const KernelSpec& spec) {
            return cpu::make_binary(spec, word_loop(spec.inputs[0].dtype, f));
          },
      .not_differentiable = kWholeNumbers,
      .commutative = true,
      .examples = {std::move(example)},
  });
}

template <class F>
Status add_shift(OpRegistry& ops, std::string name, std::string doc, F f, std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = str_cat("x: T, y: T -> z: T | T: ", kTypes),
      .infer = infer::broadcast,
      .cpu = cpu::binary<cpu::Integers>(f),
      .not_differentiable = kWholeNumbers,
      .examples = {std::move(example)},
  });
}

using CountLoop = void (*)(const void* in, uint8_t* out, int64_t n);

template <class T>
void count_bits(const void* in, uint8_t* out, int64_t n) {
  const T* x = static_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<uint8_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(x[i])));
}

Result<Tensor> population_count(KernelContext& context, CountLoop loop) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(Tensor made, context.allocate(0, input.shape()));
  loop(input.data(), made.mutable_flat<uint8_t>().data(), input.num_elements());
  return made;
}

}  // namespace

Status register_bits(OpRegistry& ops) {
  MR_TRY(add_bitwise(
      ops, "BitwiseAnd", "The bits that both x and y have.",
      [](auto x, auto y) { return static_cast<decltype(x)>(x & y); }, "[12 5], 6 -> [4 4]"));
  MR_TRY(add_bitwise(
      ops, "BitwiseOr", "The bits that x or y has.",
      [](auto x, auto y) { return static_cast<decltype(x)>(x | y); }, "[12 5], 6 -> [14 7]"));
  MR_TRY(add_bitwise(
      ops, "BitwiseXor", "The bits that one of x and y has, but not the other.",
      [](auto x, auto y) { return static_cast<decltype(x)>(x ^ y); }, "[12 5], 6 -> [10 3]"));
  MR_TRY(add_shift(
      ops, "LeftShift",
      "The bits of x moved y places up; y below 0 counts as 0, too large a y as the last place.",
      [](auto x, auto y) {
        using U = std::make_unsigned_t<decltype(x)>;
        return static_cast<decltype(x)>(static_cast<U>(static_cast<U>(x) << shift_of(y)));
      },
      "[1 3], [3 1] -> [8 6]"));
  MR_TRY(add_shift(
      ops, "RightShift",
      "The bits of x moved y places down, a sign with them; y below 0 counts as 0, too large a y "
      "as the last place.",
      [](auto x, auto y) { return static_cast<decltype(x)>(x >> shift_of(y)); },
      "[8 6], [3 1] -> [1 3]"));
  MR_TRY(ops.add({
      .name = "Invert",
      .doc = "Each bit of x the other way.",
      .signature = str_cat("x: T -> y: T | T: ", kTypes),
      .infer = infer::same_as_input,
      .cpu = cpu::unary<cpu::Integers>([](auto x) { return static_cast<decltype(x)>(~x); }),
      .not_differentiable = kWholeNumbers,
      .examples = {"[0 5] -> [-1 -6] | T = int32", "[0 5] -> [255 250] | T = uint8"},
  }));
  return ops.add({
      .name = "PopulationCount",
      .doc = "How many bits of x are set.",
      .signature = str_cat("x: T -> y: uint8 | T: ", kTypes),
      .infer = infer::same_as_input,
      .cpu = kernel_with(population_count, cpu::loop_of_input<cpu::Integers>(
                                               []<class T>() { return &count_bits<T>; })),
      .not_differentiable = kWholeNumbers,
      .examples = {"[0 1 7] -> [0 1 3]"},
  });
}

}  // namespace millrace
