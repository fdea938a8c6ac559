// Part of families.h: register_gammas.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gamma_functions.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

using Wide = cpu::Types<float, double>;

struct GammaOp {
  std::string name, doc, x, y;  // what its arguments are called
  std::string_view types;
  GradFn gradient;
  std::string example;
};

template <class TypeList, class F>
Status add_gamma(OpRegistry& ops, GammaOp row, F) {
  const bool has_gradient = row.gradient != nullptr;
  const std::string_view output = row.name == "RandomGammaGrad" ? "output" : "z";
  return ops.add({
      .name = std::move(row.name),
      .doc = std::move(row.doc),
      .signature = str_cat(row.x, ": T, ", row.y, ": T -> ", output, ": T | T: ", row.types),
      .infer = infer::broadcast,
      .cpu = cpu::binary<TypeList>([](auto x, auto y) {
        return static_cast<decltype(x)>(F()(static_cast<double>(x), static_cast<double>(y)));
      }),
      .grad = row.gradient,
      .not_differentiable =
          has_gradient ? std::string() : "it is a derivative, and TensorFlow has no further one",
      .examples = {std::move(row.example)},
  });
}

// --- Betainc: three operands, of one shape or scalars ---

using BetaLoop = void (*)(const void* a, const void* b, const void* x, void* out, int64_t n);

template <class T>
void beta_loop(const void* a, const void* b, const void* x, void* out, int64_t n) {
  const T *p = static_cast<const T*>(a), *q = static_cast<const T*>(b);
  const T* at = static_cast<const T*>(x);
  T* z = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = static_cast<T>(incomplete_beta(p[i], q[i], at[i]));
}

// The shape of those that are no scalars.
Result<PartialShape> common_shape(std::span<const PartialShape> shapes) {
  PartialShape common = PartialShape::scalar();
  for (const PartialShape& shape : shapes) {
    if (!shape.has_rank()) return PartialShape::unknown();
    if (shape.rank() == 0) continue;
    if (common.rank() == 0) {
      common = shape;
      continue;
    }
    const auto merged = common.merge(shape);
    if (!merged.ok()) {
      return invalid("Shapes of the arguments of Betainc must be equal or [], got ",
                     common.to_string(), " and ", shape.to_string());
    }
    common = *merged;
  }
  return common;
}

Result<Tensor> betainc(KernelContext& context, BetaLoop loop) {
  std::vector<PartialShape> shapes;
  for (int slot = 0; slot < 3; ++slot) shapes.push_back(context.input(slot).shape());
  MR_ASSIGN(const PartialShape known, common_shape(shapes));
  const Shape shape = *known.to_shape();
  Tensor whole[3];
  for (int slot = 0; slot < 3; ++slot) {
    whole[slot] = context.input(slot);
    if (whole[slot].shape() == shape) continue;
    const Strides everywhere(shape.rank(), 0);
    MR_ASSIGN(whole[slot],
              copied_box(shape, context.input(slot), {0, everywhere}, CancelProbe(context)));
  }
  MR_ASSIGN(Tensor made, context.allocate(0, shape));
  const auto size = static_cast<int64_t>(dtype_size(made.dtype()));
  const auto at = [size](const Tensor& tensor, int64_t begin) {
    return static_cast<const char*>(tensor.data()) + begin * size;
  };
  constexpr int64_t kPiece = 1024;
  MR_TRY(CancelProbe(context).in_pieces(
      made.num_elements(),
      [&](int64_t begin, int64_t count) {
        loop(at(whole[0], begin), at(whole[1], begin), at(whole[2], begin),
             static_cast<char*>(made.mutable_data()) + begin * size, count);
      },
      kPiece));
  return made;
}

Status infer_betainc(InferContext& context) {
  const std::vector<PartialShape> shapes = {context.input(0), context.input(1), context.input(2)};
  return context.set_output(0, common_shape(shapes));
}

}  // namespace

Status register_gammas(OpRegistry& ops) {
  MR_TRY(add_gamma<cpu::Floating>(
      ops,
      {"Igamma", "The lower regularized incomplete gamma function P(a, x).", "a", "x", "floating",
       grad::igamma, "[1 2], [1 3] -> [0.6321205588 0.8008517265]"},
      [](double a, double x) { return lower_gamma(a, x); }));
  MR_TRY(add_gamma<cpu::Floating>(
      ops,
      {"Igammac", "The upper regularized incomplete gamma function Q(a, x).", "a", "x", "floating",
       grad::igammac, "[1 2], [1 3] -> [0.3678794412 0.1991482735]"},
      [](double a, double x) { return upper_gamma(a, x); }));
  MR_TRY(add_gamma<Wide>(ops,
                         {"IgammaGradA", "The derivative of Igamma by a.", "a", "x",
                          "{float, double}", nullptr, "[1], [1] -> [-0.4317297106]"},
                         [](double a, double x) { return lower_gamma_by_a(a, x); }));
  MR_TRY(add_gamma<Wide>(
      ops,
      {"RandomGammaGrad", "The derivative of a sample of a gamma distribution by its shape alpha.",
       "alpha", "sample", "{float, double}", nullptr, "[1], [1] -> [1.1735630272]"},
      [](double a, double sample) { return gamma_sample_by_a(a, sample); }));
  MR_TRY(add_gamma<Wide>(
      ops,
      {"Zeta", "The Hurwitz zeta function: the sum of (q + k)^-x over all k >= 0.", "x", "q",
       "{float, double}", grad::zeta, "[2 3], [1 2] -> [1.6449340668 0.2020569032]"},
      [](double x, double q) { return hurwitz_zeta(x, q); }));
  MR_TRY(add_gamma<Wide>(
      ops,
      {"Polygamma", "The a-th derivative of Digamma at x.", "a", "x", "{float, double}",
       grad::polygamma, "[0 1 2], [1 1 2] -> [-0.5772156649 1.6449340668 -0.4041138063]"},
      [](double n, double x) { return polygamma(n, x); }));
  return ops.add({
      .name = "Betainc",
      .doc = "The regularized incomplete beta function I_x(a, b); the arguments are of one shape, "
             "or scalars.",
      .signature = "a: T, b: T, x: T -> z: T | T: {float, double}",
      .infer = infer_betainc,
      .cpu =
          kernel_with(betainc, cpu::loop_of_input<Wide>([]<class T>() { return &beta_loop<T>; })),
      .grad = grad::betainc,
      .examples = {"2, 3, [0.5 0.1] -> [0.6875 0.0523]", "[1 2], [1 2], [0.25 0.5] -> [0.25 0.5]"},
  });
}

}  // namespace millrace
