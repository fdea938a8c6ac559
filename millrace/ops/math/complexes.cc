// Part of families.h: register_complexes.
#include <cmath>
#include <complex>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

using PartLoop = void (*)(const void* in, void* out, int64_t n);

// A real number of each complex one.
template <class Part, class C>
void part_loop(const void* in, void* out, int64_t n) {
  const C* x = static_cast<const C*>(in);
  auto* y = static_cast<typename C::value_type*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = Part()(x[i]);
}

Result<Tensor> part_of(KernelContext& context, PartLoop loop) {
  const Tensor& input = context.input(0);
  const bool is_wide = input.dtype() == DType::c128;
  if (is_wide != (context.output_dtype(0) == DType::f64)) {
    return invalid("Tout must be the type of the parts of ", dtype_name(input.dtype()), ", not ",
                   dtype_name(context.output_dtype(0)));
  }
  MR_ASSIGN(Tensor made, context.allocate(0, input.shape()));
  const auto in_size = static_cast<int64_t>(dtype_size(input.dtype()));
  const char* from = static_cast<const char*>(input.data());
  char* to = static_cast<char*>(made.mutable_data());
  MR_TRY(CancelProbe(context).in_pieces(input.num_elements(), [&](int64_t begin, int64_t count) {
    loop(from + begin * in_size, to + begin * in_size / 2, count);
  }));
  return made;
}

template <class Part>
Status add_part(OpRegistry& ops, std::string name, std::string doc, Part, GradFn gradient,
                std::string example, std::string_view input = "input",
                std::string_view output = "output") {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = str_cat(input, ": T -> ", output,
                           ": Tout | T: {complex64, complex128} = complex64, "
                           "Tout: {float, double} = float"),
      .infer = infer::same_as_input,
      .cpu = kernel_with(
          part_of, cpu::loop_of_input<cpu::Complex>([]<class C>() { return &part_loop<Part, C>; })),
      .grad = gradient,
      .examples = {str_cat(example, " | T = complex64, Tout = float"),
                   str_cat(example, " | T = complex128, Tout = double")},
  });
}

// --- Complex ---

template <class R>
void join_parts(const void* real, int64_t real_step, const void* imag, int64_t imag_step, void* out,
                int64_t n) {
  const R* x = static_cast<const R*>(real);
  const R* y = static_cast<const R*>(imag);
  auto* z = static_cast<std::complex<R>*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = {x[i * real_step], y[i * imag_step]};
}

template <class R>
bool complex_loop(const void* real, int64_t real_step, const void* imag, int64_t imag_step,
                  void* out, int64_t n) {
  join_parts<R>(real, real_step, imag, imag_step, out, n);
  return true;
}

Result<Tensor> make_complex(KernelContext& context, cpu::BinaryLoop loop) {
  const Tensor& real = context.input(0);
  const Tensor& imag = context.input(1);
  const bool is_wide = real.dtype() == DType::f64;
  if (is_wide != (context.output_dtype(0) == DType::c128)) {
    return invalid("Tout must be complex of ", dtype_name(real.dtype()), ", not ",
                   dtype_name(context.output_dtype(0)));
  }
  MR_ASSIGN(const Shape shape, broadcast_shapes(real.shape(), imag.shape()));
  MR_ASSIGN(Tensor made, context.allocate(0, shape));
  MR_TRY(cpu::run_binary(context, loop, real, imag, made));
  return made;
}

}  // namespace

Status register_complexes(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Conj",
      .doc = "The complex conjugate: the imaginary part with the other sign.",
      .signature = "input: T -> output: T | T: {complex64, complex128, variant} = complex64",
      .infer = infer::same_as_input,
      .cpu = cpu::unary<cpu::Complex>([](auto x) { return std::conj(x); }),
      .grad = grad::conj,
      .examples = {"[1 -2] -> [1 -2]"},
  }));
  MR_TRY(add_part(
      ops, "Real", "The real part of complex numbers.", [](const auto& x) { return x.real(); },
      grad::real, "[1 -2] -> [1 -2]"));
  MR_TRY(add_part(
      ops, "Imag", "The imaginary part of complex numbers.", [](const auto& x) { return x.imag(); },
      grad::imag, "[1 -2] -> [0 0]"));
  MR_TRY(add_part(
      ops, "Angle", "The angle of complex numbers to the positive real axis, in radians.",
      [](const auto& x) { return std::arg(x); }, grad::angle, "[1 -2] -> [0 3.1415926536]"));
  MR_TRY(add_part(
      ops, "ComplexAbs", "The absolute value of complex numbers.",
      [](const auto& x) { return std::abs(x); }, grad::complex_abs, "[1 -2] -> [1 2]", "x", "y"));
  return ops.add({
      .name = "Complex",
      .doc = "Complex numbers of the given parts, which broadcast.",
      .signature = "real: T, imag: T -> out: Tout | T: {float, double} = float, "
                   "Tout: {complex64, complex128} = complex64",
      .infer = infer::broadcast,
      .cpu = kernel_with(make_complex, cpu::loop_of_input<cpu::Types<float, double>>(
                                           []<class R>() { return &complex_loop<R>; })),
      .grad = grad::complex,
      .examples = {"[1 2], 0 -> [1 2] | T = float, Tout = complex64",
                   "[1 2], 0 -> [1 2] | T = double, Tout = complex128"},
  });
}

}  // namespace millrace
