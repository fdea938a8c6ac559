// Part of families.h: register_casts.
#include <bit>
#include <limits>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/float8.h"
#include "millrace/ops/loops/instructions.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/quantized.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/math/casting.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

using cpu::kIsComplex;
using Castable = cpu::Join<cpu::Number, cpu::Types<bool>>;

// What does not fit has no value in C++; it gets what x86 gives, so that every machine and every
// compiler agree: the lowest number of the type that the conversion goes through.
template <class I, class F>
I checked(F value) {
  static_assert(std::is_same_v<I, int32_t> || std::is_same_v<I, int64_t>);
  constexpr F kEnd = std::is_same_v<I, int64_t> ? F(0x1p63) : F(0x1p31);
  // No branch around the conversion: loops of it become vectors.
  const bool fits = (value >= -kEnd) & (value < kEnd);
  const I inside = static_cast<I>(cpu::choose(fits, value, F(0)));
  return fits ? inside : std::numeric_limits<I>::min();
}

template <class To, class F>
To to_integer(F value) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    const bool is_high = value >= F(0x1p63) && value < F(0x1p64);
    return is_high ? static_cast<uint64_t>(value) : static_cast<uint64_t>(checked<int64_t>(value));
  } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) {
    return static_cast<To>(checked<int64_t>(value));
  } else {
    return static_cast<To>(checked<int32_t>(value));
  }
}

template <class To, class From>
To converted(From value) {
  if constexpr (cpu::kIsNarrowFloat<From> || cpu::kIsFloat8<From>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (cpu::kIsFloat8<To>) {
    return To(static_cast<double>(value));
  } else if constexpr (kIsComplex<From> && !kIsComplex<To>) {
    return converted<To>(value.real());
  } else if constexpr (kIsComplex<From>) {
    using R = typename To::value_type;
    return To(static_cast<R>(value.real()), static_cast<R>(value.imag()));
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (cpu::kIsNarrowFloat<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return to_integer<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
MR_BODY void cast_body(const void* from, void* to, int64_t count) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) y[i] = converted<To>(x[i]);
}
template <class From, class To>
void cast_loop(const void* from, void* to, int64_t count) {
  cast_body<From, To>(from, to, count);
}
template <class From, class To>
MR_AVX2 void cast_loop_avx2(const void* from, void* to, int64_t count) {
  cast_body<From, To>(from, to, count);
}

// Between a 16-bit float and something else: through floats, a run after the other.
template <class Narrow, class To>
void cast_narrow(const void* from, void* to, int64_t count) {
  in_narrow_runs(count, [&](int64_t begin, int64_t run) {
    float wide[kNarrowRun];
    widen(static_cast<const Narrow*>(from) + begin, wide, run);
    if constexpr (cpu::kIsNarrowFloat<To>) {
      narrow(wide, static_cast<To*>(to) + begin, run);
    } else {
      cast_loop<float, To>(wide, static_cast<To*>(to) + begin, run);
    }
  });
}
template <class From, class Narrow>
void cast_to_narrow(const void* from, void* to, int64_t count) {
  in_narrow_runs(count, [&](int64_t begin, int64_t run) {
    float wide[kNarrowRun];
    cast_loop<From, float>(static_cast<const From*>(from) + begin, wide, run);
    narrow(wide, static_cast<Narrow*>(to) + begin, run);
  });
}

// Those whose loops are worth compiling for wider instructions, too.
template <class T>
inline constexpr bool kIsCommon =
    std::is_floating_point_v<T> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> ||
    std::is_same_v<T, uint8_t> || std::is_same_v<T, bool>;

template <class From, class To>
CastLoop cast_loop_of() {
  if constexpr (std::is_same_v<From, To>) {
    return &cast_loop<From, To>;
  } else if constexpr (cpu::kIsNarrowFloat<From>) {
    return &cast_narrow<From, To>;
  } else if constexpr (cpu::kIsNarrowFloat<To>) {
    return &cast_to_narrow<From, To>;
  } else if constexpr (kIsCommon<From> && kIsCommon<To>) {
    return cpu::widest<CastLoop>(&cast_loop<From, To>, &cast_loop_avx2<From, To>);
  } else {
    return &cast_loop<From, To>;
  }
}

// Towards zero instead of to the nearest: the bits that the narrow type lacks are cleared first.
template <class From, class To>
void truncating_loop(const void* from, void* to, int64_t count) {
  constexpr uint32_t kLost = std::is_same_v<To, Half> ? 13 : 16;
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(x[i]));
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    y[i] = To(std::bit_cast<float>(is_nan ? bits : bits >> kLost << kLost));
  }
}

template <class From>
CastLoop loop_from(DType to) {
  return cpu::pick<CastLoop>(Castable(), to,
                             []<class To>() -> CastLoop { return cast_loop_of<From, To>(); });
}

CastLoop truncating_loop_for(DType from, DType to) {
  using Narrow = cpu::Types<BFloat16, Half>;
  if (from == DType::f32) {
    return cpu::pick<CastLoop>(Narrow(), to,
                               []<class To>() -> CastLoop { return &truncating_loop<float, To>; });
  }
  if (from != DType::f64) return nullptr;
  return cpu::pick<CastLoop>(Narrow(), to,
                             []<class To>() -> CastLoop { return &truncating_loop<double, To>; });
}

// Floats of eight bits become every number; as in TensorFlow, only other floats become one of them.
template <class Eight>
CastLoop loop_from_float8(DType to) {
  return cpu::pick<CastLoop>(Castable(), to,
                             []<class To>() -> CastLoop { return &cast_loop<Eight, To>; });
}
template <class Eight>
CastLoop loop_to_float8(DType from) {
  return cpu::pick<CastLoop>(cpu::Floating(), from,
                             []<class From>() -> CastLoop { return &cast_loop<From, Eight>; });
}

CastLoop float8_loop_for(DType from, DType to) {
  using cpu::Float8E4m3fn, cpu::Float8E5m2;
  if (from == DType::f8_e5m2 && to == DType::f8_e4m3fn) return &cast_loop<Float8E5m2, Float8E4m3fn>;
  if (from == DType::f8_e4m3fn && to == DType::f8_e5m2) return &cast_loop<Float8E4m3fn, Float8E5m2>;
  if (from == DType::f8_e5m2) return loop_from_float8<Float8E5m2>(to);
  if (from == DType::f8_e4m3fn) return loop_from_float8<Float8E4m3fn>(to);
  if (to == DType::f8_e5m2) return loop_to_float8<Float8E5m2>(from);
  if (to == DType::f8_e4m3fn) return loop_to_float8<Float8E4m3fn>(from);
  return nullptr;
}

// The lower four bits, as far as they go in a byte: of int4 the highest one is the sign.
template <class From, DType kTo>
void cast_to_four_bits(const void* from, void* to, int64_t count) {
  const From* x = static_cast<const From*>(from);
  uint8_t* y = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < count; ++i) {
    const int low = static_cast<int>(static_cast<uint8_t>(x[i]) & 15u);
    y[i] = static_cast<uint8_t>(kTo == DType::i4 && low > 7 ? low - 16 : low);
  }
}
template <DType kTo>
CastLoop loop_to_four_bits(DType from) {
  return cpu::pick<CastLoop>(cpu::Integers(), from, []<class From>() -> CastLoop {
    return &cast_to_four_bits<From, kTo>;
  });
}

// Integers of four bits lie in a byte each. As in TensorFlow, they come from integers and become
// such, nothing else.
CastLoop four_bits_loop_for(DType from, DType to) {
  const auto stored = [](DType dtype) {
    return dtype == DType::i4 ? DType::i8 : dtype == DType::u4 ? DType::u8 : dtype;
  };
  if (to == DType::i4) return loop_to_four_bits<DType::i4>(stored(from));
  if (to == DType::u4) return loop_to_four_bits<DType::u4>(stored(from));
  if (stored(from) == from) return nullptr;
  // What becomes one of four bits is an integer.
  const bool is_integer = loop_to_four_bits<DType::u4>(to) != nullptr;
  return is_integer ? cast_loop_for(stored(from), to) : nullptr;
}

// The same bytes as a tensor of another type and shape that they fit.
Result<Tensor> seen_as(DType dtype, const Shape& shape, const Tensor& bytes) {
  const auto offset = static_cast<size_t>(static_cast<const char*>(bytes.data()) -
                                          static_cast<const char*>(bytes.buffer()->data()));
  return Tensor::on_buffer(dtype, shape, bytes.buffer(), offset);
}

// Null where the bytes stay as they are.
struct BoundCast {
  Result<CastLoop> read(const KernelSpec& spec) const {
    const DType from = kept_as(spec.inputs[0].dtype), to = kept_as(spec.outputs[0].dtype);
    MR_ASSIGN(const bool truncates, spec.attrs.boolean("Truncate"));
    if (from == to) return CastLoop(nullptr);
    CastLoop loop = truncates ? truncating_loop_for(from, to) : nullptr;
    if (loop == nullptr) loop = cast_loop_for(from, to);
    if (loop == nullptr) loop = float8_loop_for(from, to);
    if (loop == nullptr) loop = four_bits_loop_for(from, to);
    if (loop != nullptr) return loop;
    return unimplemented("Cast ", dtype_name(spec.inputs[0].dtype), " to ",
                         dtype_name(spec.outputs[0].dtype), " is not supported");
  }
};

Result<Tensor> cast(KernelContext& context, CastLoop loop) {
  if (loop == nullptr) {
    Tensor input = context.take_input(0);
    const DType to = context.output_dtype(0);
    return input.dtype() == to ? Result<Tensor>(std::move(input))
                               : seen_as(to, input.shape(), input);
  }
  return cast_by(loop, context, context.input(0), context.output_dtype(0));
}

// --- Bitcast ---

// Elements that become smaller get an axis more; larger ones use up the last axis, which must be as
// long as the sizes differ.
Result<PartialShape> bitcast_shape(const PartialShape& shape, DType from, DType to) {
  if (!shape.has_rank()) return PartialShape::unknown();
  const auto from_size = static_cast<int64_t>(dtype_size(from));
  const auto to_size = static_cast<int64_t>(dtype_size(to));
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  if (from_size > to_size) dims.push_back(from_size / to_size);
  if (from_size < to_size) {
    const int64_t ratio = to_size / from_size;
    if (dims.empty() || (dims.back() != ratio && dims.back() != kUnknownDim)) {
      return invalid("Cannot bitcast from ", dtype_name(from), " to ", dtype_name(to), ": shape ",
                     shape.to_string(), " must end in ", ratio);
    }
    dims.pop_back();
  }
  return PartialShape::create(dims);
}

Result<Tensor> bitcast(KernelContext& context) {
  Tensor input = context.take_input(0);
  const DType to = context.output_dtype(0);
  // Bytes that came as small elements may not lie where large ones must.
  if (reinterpret_cast<uintptr_t>(input.data()) % dtype_size(to) != 0) {
    MR_ASSIGN(input, input.clone());
  }
  MR_ASSIGN(const PartialShape shape, bitcast_shape(input.shape(), input.dtype(), to));
  return seen_as(to, *shape.to_shape(), input);
}

Status infer_bitcast(InferContext& context) {
  MR_ASSIGN(const DType from, context.attrs().type("T"));
  MR_ASSIGN(const DType to, context.attrs().type("type"));
  return context.set_output(0, bitcast_shape(context.input(0), from, to));
}

}  // namespace

CastLoop cast_loop_for(DType from, DType to) {
  using LoopFrom = CastLoop (*)(DType);
  const LoopFrom loop = cpu::pick<LoopFrom>(
      Castable(), from, []<class From>() -> LoopFrom { return &loop_from<From>; });
  return loop == nullptr ? nullptr : loop(to);
}

Result<Tensor> cast_by(CastLoop loop, KernelContext& context, const Tensor& input, DType to) {
  if (input.dtype() == to) return input;
  MR_ASSIGN(Tensor output, Tensor::allocate(to, input.shape()));
  const char* from = static_cast<const char*>(input.data());
  char* into = static_cast<char*>(output.mutable_data());
  const auto from_size = static_cast<int64_t>(dtype_size(input.dtype()));
  const auto to_size = static_cast<int64_t>(dtype_size(to));
  MR_TRY(share_pieces(context, input.num_elements(), 1, [&](int64_t begin, int64_t count) {
    loop(from + begin * from_size, into + begin * to_size, count);
  }));
  return output;
}

Status register_casts(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Cast",
      .doc = "The nearest values of type DstT; floats become integers by leaving out the fraction.",
      .signature = "x: SrcT -> y: DstT | SrcT: type, DstT: type, Truncate: bool = false",
      .infer = infer::same_as_input,
      .cpu = kernel_with(cast, BoundCast()),
      .grad = grad::cast,
      .elements = elements_of_input,
      .examples = {"[1.75 -1.25] -> [1 -1] | SrcT = float, DstT = int32",
                   "[0 2] -> [false true] | SrcT = int64, DstT = bool",
                   "[3 4] -> [3 4] | SrcT = half, DstT = complex128",
                   "[1.00390625] -> [1] | SrcT = float, DstT = bfloat16, Truncate = true"},
  }));
  constexpr std::string_view kBits = "{number, qint8, quint8, qint32, qint16, quint16}";
  return ops.add({
      .name = "Bitcast",
      .doc = "The same bytes as elements of another type.",
      .signature = str_cat("input: T -> output: type | T: ", kBits, ", type: ", kBits),
      .infer = infer_bitcast,
      .cpu = kernel(bitcast),
      .not_differentiable = "bytes have no gradient",
      .cost = Cost::cheap,
      .examples = {"[1 2] -> [1065353216 1073741824] | T = float, type = int32",
                   "[1 -1] -> [[1 0 0 0] [255 255 255 255]] | T = int32, type = uint8",
                   "[[0 63] [128 63]] -> [0.5 1] | T = uint8, type = bfloat16"},
  });
}

}  // namespace millrace
