#include "millrace/ops/loops/fused_tail.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/loops/vector_math.h"

namespace millrace {
namespace {

using Activation = FusedTail::Activation;

struct Named {
  std::string_view name;
  Activation activation;
};
constexpr Named kActivations[] = {
    {"Elu", Activation::elu},
    {"GeluExact", Activation::gelu},
    {"GeluApproximate", Activation::gelu_by_tanh},
    {"LeakyRelu", Activation::leaky_relu},
    {"Relu", Activation::relu},
    {"Relu6", Activation::relu6},
    {"Sigmoid", Activation::sigmoid},
    {"Tanh", Activation::tanh},
};

// Numbers that are changed before the next ones are looked at.
constexpr int64_t kAtOnce = 1024;

// x where it is positive or NaN, else `below`.
template <class T>
T positive(T x, T below) {
  return x < T(0) ? below : x;
}

// What vector_math.h has of it.
cpu::VectorFunction vector_part(Activation activation) {
  switch (activation) {
    case Activation::elu:
      return cpu::VectorFunction::elu;
    case Activation::sigmoid:
      return cpu::VectorFunction::sigmoid;
    case Activation::tanh:
      return cpu::VectorFunction::tanh;
    default:
      return cpu::VectorFunction::none;
  }
}

template <class T>
void activate(const FusedTail& tail, T* y, int64_t n) {
  if (const cpu::VectorLoop loop = vector_loop(vector_part(tail.activation), dtype_of<T>))
    return loop(y, y, n);
  const auto each = [&](auto f) {
    MR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = f(y[i]);
  };
  const T alpha = static_cast<T>(tail.alpha);
  switch (tail.activation) {
    case Activation::none:
      return;
    case Activation::elu:
      return each([](T x) { return x < T(0) ? std::expm1(x) : x; });
    case Activation::gelu:
      return each([](T x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<T>)); });
    case Activation::gelu_by_tanh:
      return each([](T x) {
        const T inner = std::sqrt(2 / std::numbers::pi_v<T>) * (x + T(0.044715) * x * x * x);
        return x / 2 * (1 + std::tanh(inner));
      });
    case Activation::leaky_relu:
      return each([alpha](T x) { return positive(x, alpha * x); });
    case Activation::relu:
      return each([](T x) { return positive(x, T(0)); });
    case Activation::relu6:
      return each([](T x) { return positive(x > T(6) ? T(6) : x, T(0)); });
    case Activation::sigmoid:
      return each([](T x) { return 1 / (1 + std::exp(-x)); });
    case Activation::tanh:
      return each([](T x) { return std::tanh(x); });
  }
}

// What each channel is multiplied by, about which it is, and what is added: (y - about) * by + add.
template <class T>
struct PerChannel {
  const T* about = nullptr;
  const T* by = nullptr;
  const T* add = nullptr;

  void apply(T* y, int64_t channels) const {
    if (by == nullptr) {
      MR_INDEPENDENT
      for (int64_t c = 0; c < channels; ++c) y[c] += add[c];
      return;
    }
    MR_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) y[c] = (y[c] - about[c]) * by[c] + add[c];
  }
};

template <class T>
Status apply_to_rows(KernelContext& context, const FusedTail& tail, Tensor& rows,
                     std::span<const Tensor> args, int64_t channels) {
  const auto data = [&](size_t i) { return args[i].flat<T>().data(); };
  PerChannel<T> change{.add = data(tail.normalizes ? 1 : 0)};
  Tensor factors;
  if (tail.normalizes) {
    MR_ASSIGN(factors, Tensor::allocate(rows.dtype(), {channels}));
    T* const by = factors.mutable_flat<T>().data();
    for (int64_t c = 0; c < channels; ++c)
      by[c] = data(0)[c] / std::sqrt(data(3)[c] + static_cast<T>(tail.epsilon));
    change.about = data(2);
    change.by = by;
  }
  // Several narrow rows at once: each call has its price.
  const int64_t most = std::max<int64_t>(1, kAtOnce / channels);
  T* const y = rows.mutable_flat<T>().data();
  return share_range(context, rows.num_elements() / channels, channels * 4,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       for (int64_t row = begin; row < end; row += most) {
                         const int64_t some = std::min(most, end - row);
                         T* const first = y + row * channels;
                         for (int64_t i = 0; i < some; ++i)
                           change.apply(first + i * channels, channels);
                         activate(tail, first, some * channels);
                         if (!probe.go_on(some * channels)) return probe.status();
                       }
                       return {};
                     });
}

}  // namespace

Result<FusedTail> FusedTail::of(const AttrView& attrs) {
  FusedTail made;
  MR_ASSIGN(made.epsilon, attrs.real("epsilon"));
  MR_ASSIGN(made.alpha, attrs.real("leakyrelu_alpha"));
  const AttrValue* const value = attrs.find("fused_ops");
  const auto* const names = value == nullptr ? nullptr : value->as_list_of<std::string>();
  const auto refused = [&] {
    return unimplemented("Fusion is not implemented: ",
                         value == nullptr ? "[]" : value->to_string(), " of ", attrs.op().name);
  };
  if (names == nullptr || names->empty() || names->size() > 2) return refused();
  made.normalizes = (*names)[0] == "FusedBatchNorm";
  if (!made.normalizes && (*names)[0] != "BiasAdd") return refused();
  if (names->size() == 1) return made;
  const auto* const found = std::ranges::find(kActivations, (*names)[1], &Named::name);
  if (found == std::end(kActivations)) return refused();
  made.activation = found->activation;
  return made;
}

Status FusedTail::apply(KernelContext& context, Tensor& rows, std::span<const Tensor> args) const {
  const size_t wanted = normalizes ? 4 : 1;
  if (args.size() != wanted) {
    return invalid("Fused ", normalizes ? "FusedBatchNorm" : "BiasAdd", " must have ", wanted,
                   " extra arguments, not ", args.size());
  }
  const int64_t channels = rows.shape().dim(rows.shape().rank() - 1);
  for (const Tensor& arg : args) {
    if (arg.shape() == Shape{channels}) continue;
    if (!normalizes && arg.shape().rank() != 1)
      return invalid("Biases must be 1D: ", arg.shape().to_string());
    if (!normalizes) {
      return invalid("Must provide as many biases as the last dimension of the input tensor: ",
                     arg.shape().to_string(), " vs. ", rows.shape().to_string());
    }
    return invalid("an extra argument of a fused op has shape ", arg.shape().to_string(),
                   "; a vector of ", channels, " numbers is needed, one for each channel");
  }
  if (rows.num_elements() == 0) return {};
  if (rows.dtype() == DType::f64)
    return apply_to_rows<double>(context, *this, rows, args, channels);
  return apply_to_rows<float>(context, *this, rows, args, channels);
}

}  // namespace millrace
