// Part of families.h: register_arithmetic.
#include <cmath>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/loops/variants.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"
#include "millrace/ops/math/known_elements.h"

namespace millrace {
namespace {

using cpu::Complex;
using cpu::Floating;
using cpu::Join;
using cpu::kIsComplex;
using cpu::Number;
using cpu::Real;

using PowTypes = Join<Join<Floating, cpu::SignedIntegers>, Complex>;
using ModTypes = Join<Floating, cpu::Types<int32_t, int64_t>>;

constexpr auto plus = [](const auto& x, const auto& y) { return cpu::add(x, y); };
constexpr auto times = [](auto x, auto y) { return cpu::multiply(x, y); };

// Integers: towards zero. The lowest number divided by -1 wraps around like every overflow.
template <class T>
T integer_quotient(T x, T y, bool& failed) {
  if (y == 0) {
    failed = true;
    return 0;
  }
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return cpu::negate(x);
  }
  return static_cast<T>(x / y);
}

template <class T>
T integer_remainder(T x, T y, bool& failed) {
  if (y == 0) {
    failed = true;
    return 0;
  }
  if constexpr (std::is_signed_v<T>) {
    if (y == T(-1)) return 0;
  }
  return static_cast<T>(x % y);
}

constexpr auto divide = [](auto x, auto y, bool& failed) {
  if constexpr (std::is_integral_v<decltype(x)>) {
    return integer_quotient(x, y, failed);
  } else {
    return x / y;
  }
};

constexpr auto floor_divide = [](auto x, auto y, bool& failed) {
  using T = decltype(x);
  if constexpr (std::is_integral_v<T>) {
    const T quotient = integer_quotient(x, y, failed);
    if (failed) return T(0);
    const bool rounded_up = (x < 0) != (y < 0) && cpu::multiply(quotient, y) != x;
    return rounded_up ? static_cast<T>(quotient - 1) : quotient;
  } else if constexpr (kIsComplex<T>) {
    const T quotient = x / y;
    return T(std::floor(quotient.real()), std::floor(quotient.imag()));
  } else {
    return std::floor(x / y);
  }
};

constexpr auto truncate_divide = [](auto x, auto y, bool& failed) {
  using T = decltype(x);
  if constexpr (std::is_integral_v<T>) {
    return integer_quotient(x, y, failed);
  } else if constexpr (kIsComplex<T>) {
    const T quotient = x / y;
    return T(std::trunc(quotient.real()), std::trunc(quotient.imag()));
  } else {
    return std::trunc(x / y);
  }
};

// The remainder has the sign of the divisor.
constexpr auto floor_remainder = [](auto x, auto y, bool& failed) {
  using T = decltype(x);
  if constexpr (std::is_integral_v<T>) {
    const T remainder = integer_remainder(x, y, failed);
    return remainder != 0 && (remainder < 0) != (y < 0) ? static_cast<T>(remainder + y) : remainder;
  } else {
    const T remainder = std::fmod(x, y);
    return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
  }
};

constexpr auto truncate_remainder = [](auto x, auto y, bool& failed) {
  if constexpr (std::is_integral_v<decltype(x)>) {
    return integer_remainder(x, y, failed);
  } else {
    return std::fmod(x, y);
  }
};

constexpr auto divide_no_nan = [](auto x, auto y) {
  using T = decltype(x);
  return cpu::choose(y == T(0), T(0), static_cast<T>(x / y));
};

// NaN in, NaN out, whichever side it is on.
constexpr auto larger = [](auto x, auto y) { return cpu::choose((x > y) | (x != x), x, y); };
constexpr auto smaller = [](auto x, auto y) { return cpu::choose((x < y) | (x != x), x, y); };

constexpr auto power = [](auto x, auto y, bool& failed) {
  using T = decltype(x);
  if constexpr (std::is_integral_v<T>) {
    if (y < 0) {
      failed = true;
      return T(0);
    }
    T result = 1;
    for (T base = x; y > 0; y = static_cast<T>(y >> 1)) {
      if ((y & 1) != 0) result = cpu::multiply(result, base);
      base = cpu::multiply(base, base);
    }
    return result;
  } else {
    return std::pow(x, y);
  }
};

constexpr auto squared_difference = [](auto x, auto y) {
  using T = decltype(x);
  const T difference = cpu::subtract(x, y);
  if constexpr (kIsComplex<T>) {
    return std::conj(difference) * difference;
  } else {
    return cpu::multiply(difference, difference);
  }
};

constexpr cpu::BinaryOptions kDivision = {.no_result = "Integer division by zero"};
constexpr cpu::BinaryOptions kPower = {
    .no_result = "Integers to negative integer powers are not allowed", .cost = cpu::kMathCost};

// One row of this family: x, y -> z of one type.
struct ArithmeticOp {
  std::string name, doc;
  std::string_view types;
  KernelFactory cpu;
  GradFn gradient = nullptr;  // none: it jumps, and is flat elsewhere
  std::vector<std::string> examples;
  bool commutative = false;
  ElementsFn elements = nullptr;
};

Status add_arithmetic(OpRegistry& ops, ArithmeticOp row) {
  return ops.add({.name = std::move(row.name),
                  .doc = std::move(row.doc),
                  .signature = str_cat("x: T, y: T -> z: T | T: ", row.types),
                  .infer = infer::broadcast,
                  .cpu = std::move(row.cpu),
                  .grad = row.gradient,
                  .not_differentiable =
                      row.gradient == nullptr ? "it is constant but where it jumps" : std::string(),
                  .commutative = row.commutative,
                  .elements = row.elements,
                  .examples = std::move(row.examples)});
}

Status register_sums(OpRegistry& ops) {
  using AddTypes = Join<Number, cpu::Types<std::string>>;
  // Strings are joined, which is why Add is not commutative and AddV2 is.
  MR_TRY(add_arithmetic(
      ops, {.name = "Add",
            .doc = "The sum x + y.",
            .types = "{bfloat16, half, float, double, uint8, int8, int16, int32, int64, "
                     "complex64, complex128, string}",
            .cpu = cpu::binary<AddTypes>(plus),
            .gradient = grad::add,
            .examples = {"[1 2], [3 4] -> [4 6] | T = float",
                         "['a' 'b'], 'c' -> ['ac' 'bc'] | T = string"},
            .elements = known::sum}));
  MR_TRY(add_arithmetic(ops, {.name = "AddV2",
                              .doc = "The sum x + y.",
                              .types = "number",
                              .cpu = cpu::binary(cpu::addition_loop),
                              .gradient = grad::add,
                              .examples = {"[[1] [2]], [3 4] -> [[4 5] [5 6]]"},
                              .commutative = true,
                              .elements = known::sum}));
  MR_TRY(add_arithmetic(ops, {.name = "Sub",
                              .doc = "The difference x - y.",
                              .types = "number",
                              .cpu = cpu::binary(cpu::subtraction_loop),
                              .gradient = grad::sub,
                              .examples = {"[3 4], [1 2] -> [2 2]"},
                              .elements = known::difference}));
  MR_TRY(add_arithmetic(ops, {.name = "Mul",
                              .doc = "The product x * y.",
                              .types = "number",
                              .cpu = cpu::binary<Number>(times),
                              .gradient = grad::mul,
                              .examples = {"[3 4], 2 -> [6 8]"},
                              .commutative = true,
                              .elements = known::product}));
  return add_arithmetic(
      ops, {.name = "SquaredDifference",
            .doc = "(x - y) * (x - y), for complex numbers times the conjugate.",
            .types = "{bfloat16, half, float, double, int32, int64, complex64, complex128}",
            .cpu = cpu::binary<Join<ModTypes, Complex>>(squared_difference),
            .gradient = grad::squared_difference,
            .examples = {"[3 1], [1 4] -> [4 9]"},
            .commutative = true});
}

Status register_quotients(OpRegistry& ops) {
  MR_TRY(add_arithmetic(ops,
                        {.name = "Div",
                         .doc = "x / y; integers are rounded towards zero.",
                         .types = "number",
                         .cpu = cpu::binary<Number>(divide, kDivision),
                         .gradient = grad::div,
                         .examples = {"[6 8], [3 2] -> [2 4]", "[-7], [2] -> [-3] | T = int32"}}));
  MR_TRY(add_arithmetic(ops, {.name = "RealDiv",
                              .doc = "The quotient x / y.",
                              .types = "number",
                              .cpu = cpu::binary<Number>(divide, kDivision),
                              .gradient = grad::div,
                              .examples = {"[6 8], [3 2] -> [2 4]"}}));
  MR_TRY(add_arithmetic(ops, {.name = "TruncateDiv",
                              .doc = "x / y, rounded towards zero.",
                              .types = "number",
                              .cpu = cpu::binary<Number>(truncate_divide, kDivision),
                              .examples = {"[7 8], 2 -> [3 4]", "[-7], [2] -> [-3] | T = int32"}}));
  MR_TRY(add_arithmetic(ops, {.name = "FloorDiv",
                              .doc = "x / y, rounded down.",
                              .types = "number",
                              .cpu = cpu::binary<Number>(floor_divide, kDivision),
                              .examples = {"[7 8], 2 -> [3 4]", "[-7], [2] -> [-4] | T = int32"},
                              .elements = known::floored_quotient}));
  MR_TRY(add_arithmetic(ops, {.name = "DivNoNan",
                              .doc = "x / y, and 0 where y is 0.",
                              .types = "{half, float, bfloat16, double, complex64, complex128}",
                              .cpu = cpu::binary<Join<Floating, Complex>>(divide_no_nan),
                              .gradient = grad::div_no_nan,
                              .examples = {"[6 1], [3 0] -> [2 0]"}}));
  MR_TRY(add_arithmetic(ops, {.name = "FloorMod",
                              .doc = "What x - FloorDiv(x, y) * y leaves; it has the sign of y.",
                              .types = "real",
                              .cpu = cpu::binary<Real>(floor_remainder, kDivision),
                              .gradient = grad::floor_mod,
                              .examples = {"[7 8], 3 -> [1 2]", "[-7], [3] -> [2] | T = int32"}}));
  for (const char* name : {"Mod", "TruncateMod"}) {
    MR_TRY(
        add_arithmetic(ops, {.name = name,
                             .doc = "What x - TruncateDiv(x, y) * y leaves; it has the sign of x.",
                             .types = "{int32, int64, half, bfloat16, float, double}",
                             .cpu = cpu::binary<ModTypes>(truncate_remainder, kDivision),
                             .gradient = grad::truncate_mod,
                             .examples = {"[7 -7], 3 -> [1 -1]"}}));
  }
  return {};
}

Status register_extremes(OpRegistry& ops) {
  MR_TRY(add_arithmetic(ops, {.name = "Maximum",
                              .doc = "The larger of x and y.",
                              .types = "real",
                              .cpu = cpu::binary<Real>(larger),
                              .gradient = grad::maximum,
                              .examples = {"[1 5], [3 4] -> [3 5]"},
                              .commutative = true,
                              .elements = known::larger}));
  MR_TRY(add_arithmetic(ops, {.name = "Minimum",
                              .doc = "The smaller of x and y.",
                              .types = "real",
                              .cpu = cpu::binary<Real>(smaller),
                              .gradient = grad::minimum,
                              .examples = {"[1 5], [3 4] -> [1 4]"},
                              .commutative = true,
                              .elements = known::smaller}));
  MR_TRY(add_arithmetic(ops, {.name = "Pow",
                              .doc = "x to the power of y.",
                              .types = "{bfloat16, float, half, double, int8, int16, int32, int64, "
                                       "complex64, complex128}",
                              .cpu = cpu::binary<PowTypes, cpu::VectorPair::pow>(power, kPower),
                              .gradient = grad::pow,
                              .examples = {"[2 3], [3 2] -> [8 9]"}}));
  return ops.add({
      .name = "Atan2",
      .doc = "The angle of the point (x, y), in radians.",
      .signature = "y: T, x: T -> z: T | T: floating",
      .infer = infer::broadcast,
      .cpu = cpu::binary<Floating, cpu::VectorPair::atan2>(
          [](auto y, auto x) { return std::atan2(y, x); }, {.cost = cpu::kMathCost}),
      .grad = grad::atan2,
      .examples = {"[0 1], [1 0] -> [0 1.570796327]"},
  });
}

Result<Tensor> add_variants(KernelContext& context, const VariantTypes& types) {
  Tensor sum = context.take_input(0);
  VariantArithmetic arithmetic(types, CancelProbe(context));
  for (int slot = 1; slot < context.num_inputs(); ++slot) {
    MR_ASSIGN(sum, arithmetic.sum(sum, context.input(slot)));
  }
  return sum;
}

class AddNKernel final : public Kernel {
 public:
  explicit AddNKernel(cpu::BinaryLoop loop) : loop_(loop) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    const DType dtype = spec.inputs[0].dtype;
    const cpu::BinaryLoop loop = cpu::addition_loop(dtype);
    if (loop == nullptr) return cpu::no_loop(spec, dtype);
    return std::unique_ptr<Kernel>(std::make_unique<AddNKernel>(loop));
  }

  Status run(KernelContext& context) override {
    const Shape& shape = context.input(0).shape();
    for (int slot = 1; slot < context.num_inputs(); ++slot) {
      if (context.input(slot).shape() == shape) continue;
      return invalid(
          "Inputs to operation ", context.node_name(),
          " of type AddN must have the same size and shape.  Input 0: ", shape.to_string(),
          " != input ", slot, ": ", context.input(slot).shape().to_string());
    }
    if (context.num_inputs() == 1) {
      context.set_output(0, context.take_input(0));
      return {};
    }
    // In input 0's buffer if it can be had: that input is read for the last time in the first
    // round, each element before the sum takes its place.
    MR_ASSIGN(Tensor sum, context.reuse_or_allocate(0, 0, shape));
    CancelProbe probe(context);
    const void* so_far = context.input(0).data();
    for (int slot = 1; slot < context.num_inputs(); ++slot) {
      const char* a = static_cast<const char*>(so_far);
      const char* b = static_cast<const char*>(context.input(slot).data());
      char* to = static_cast<char*>(sum.mutable_data());
      const auto size = static_cast<int64_t>(dtype_size(sum.dtype()));
      MR_TRY(probe.in_pieces(sum.num_elements(), [&](int64_t begin, int64_t count) {
        loop_(a + begin * size, 1, b + begin * size, 1, to + begin * size, count);
      }));
      so_far = sum.data();
    }
    context.set_output(0, std::move(sum));
    return {};
  }

 private:
  const cpu::BinaryLoop loop_;
};

KernelFactory adding_n(const VariantTypes& types) {
  return [&types](const KernelSpec& spec) {
    if (spec.inputs[0].dtype != DType::variant) return AddNKernel::create(spec);
    return kernel([&types](KernelContext& context) { return add_variants(context, types); })(spec);
  };
}

// What all inputs together say about their one shape.
Status infer_add_n(InferContext& context) {
  PartialShape shape = context.input(0);
  for (int slot = 1; slot < context.num_inputs(); ++slot) {
    MR_ASSIGN(shape, shape.merge(context.input(slot)));
  }
  context.set_output(0, std::move(shape));
  return {};
}

// The same; what the node says must not contradict it, and is not believed without it.
Status infer_accumulate_n(InferContext& context) {
  MR_TRY(infer_add_n(context));
  MR_ASSIGN(const PartialShape said, context.attrs().shape("shape"));
  return context.output(0).merge(said).status();
}

}  // namespace

Status register_arithmetic(OpRegistry& ops) {
  MR_TRY(register_sums(ops));
  MR_TRY(register_quotients(ops));
  MR_TRY(register_extremes(ops));
  MR_TRY(ops.add({
      .name = "AccumulateNV2",
      .doc = "The sum of all inputs, whose one shape the node says.",
      .signature = "inputs: N*T -> sum: T | N: int >= 1, T: number, shape: shape",
      .infer = infer_accumulate_n,
      .cpu = adding_n(ops.variants()),
      .grad = grad::add_n,
      .commutative = true,
      .examples = {"[1 2], [3 4], [5 6] -> [9 12] | shape = [2]", "[1 2] -> [1 2] | shape = [?]"},
  }));
  return ops.add({
      .name = "AddN",
      .doc = "The sum of all inputs, which have one shape; tensor lists are added by element.",
      .signature = "inputs: N*T -> sum: T | N: int >= 1, T: {number, variant}",
      .infer = infer_add_n,
      .cpu = adding_n(ops.variants()),
      .grad = grad::add_n,
      .commutative = true,
      .examples = {"[1 2], [3 4], [5 6] -> [9 12]", "[1 2] -> [1 2]"},
  });
}

}  // namespace millrace
