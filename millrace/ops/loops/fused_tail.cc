#include "millrace/ops/loops/fused_tail.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/instructions.h"
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

// A vector, several times one behind the other.
Result<Tensor> repeated(const Tensor& once, int64_t times) {
  const int64_t size = once.num_elements();
  MR_ASSIGN(Tensor made, Tensor::allocate(once.dtype(), {times * size}));
  for (int64_t i = 0; i < times; ++i)
    std::memcpy(static_cast<char*>(made.mutable_data()) + i * once.num_bytes(), once.data(),
                once.num_bytes());
  return made;
}

// What a normalisation multiplies each channel by.
template <class T>
Result<Tensor> factors_of(const Tensor& scale, const Tensor& variance, float epsilon) {
  MR_ASSIGN(Tensor made, Tensor::allocate(scale.dtype(), scale.shape()));
  const std::span<T> by = made.mutable_flat<T>();
  const auto s = scale.flat<T>(), v = variance.flat<T>();
  for (size_t c = 0; c < by.size(); ++c) by[c] = s[c] / std::sqrt(v[c] + static_cast<T>(epsilon));
  return made;
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

Result<ReadyTail> FusedTail::with(const Shape& rows, std::span<const Tensor> args) const {
  const size_t wanted = normalizes ? 4 : 1;
  if (args.size() != wanted) {
    return invalid("Fused ", normalizes ? "FusedBatchNorm" : "BiasAdd", " must have ", wanted,
                   " extra arguments, not ", args.size());
  }
  ReadyTail made;
  made.tail_ = *this;
  made.channels_ = rows.dim(rows.rank() - 1);
  for (const Tensor& arg : args) {
    if (arg.shape() == Shape{made.channels_}) continue;
    if (!normalizes && arg.shape().rank() != 1)
      return invalid("Biases must be 1D: ", arg.shape().to_string());
    if (!normalizes) {
      return invalid("Must provide as many biases as the last dimension of the input tensor: ",
                     arg.shape().to_string(), " vs. ", rows.to_string());
    }
    return invalid("an extra argument of a fused op has shape ", arg.shape().to_string(),
                   "; a vector of ", made.channels_, " numbers is needed, one for each channel");
  }
  if (made.channels_ == 0) return made;
  const int64_t times = std::max<int64_t>(1, kAtOnce / made.channels_);
  made.rows_at_once_ = times;
  MR_ASSIGN(made.add_, repeated(args[normalizes ? 1 : 0], times));
  if (!normalizes) return made;
  MR_ASSIGN(made.about_, repeated(args[2], times));
  const auto factors = args[0].dtype() == DType::f64 ? factors_of<double> : factors_of<float>;
  MR_ASSIGN(const Tensor by, factors(args[0], args[3], epsilon));
  MR_ASSIGN(made.by_, repeated(by, times));
  return made;
}

Status FusedTail::apply(KernelContext& context, Tensor& rows, std::span<const Tensor> args) const {
  MR_ASSIGN(const ReadyTail ready, with(rows.shape(), args));
  if (rows.num_elements() == 0) return {};
  const int64_t channels = rows.shape().dim(rows.shape().rank() - 1);
  return share_pieces(context, rows.num_elements() / channels, channels * 4,
                      [&](int64_t first, int64_t count) { ready.change(rows, first, count); });
}

template <class T>
void ReadyTail::change_rows(T* rows, int64_t count) const {
  const T* const add = add_.flat<T>().data();
  const T* const about = tail_.normalizes ? about_.flat<T>().data() : nullptr;
  const T* const by = tail_.normalizes ? by_.flat<T>().data() : nullptr;
  const bool is_relu = tail_.activation == FusedTail::Activation::relu;
  for (int64_t row = 0; row < count; row += rows_at_once_) {
    const int64_t size = std::min(rows_at_once_, count - row) * channels_;
    T* const y = rows + row * channels_;
    cpu::in_widest([=]() MR_LAMBDA_BODY {
      if (by != nullptr) {
        MR_INDEPENDENT
        for (int64_t i = 0; i < size; ++i) y[i] = (y[i] - about[i]) * by[i] + add[i];
      } else if (is_relu) {
        MR_INDEPENDENT
        for (int64_t i = 0; i < size; ++i) y[i] = positive(y[i] + add[i], T(0));
      } else {
        MR_INDEPENDENT
        for (int64_t i = 0; i < size; ++i) y[i] += add[i];
      }
    });
    if (by != nullptr || !is_relu) activate(tail_, y, size);
  }
}

void ReadyTail::change(Tensor& rows, int64_t first, int64_t count) const {
  if (rows.dtype() == DType::f64)
    return change_rows(rows.mutable_flat<double>().data() + first * channels_, count);
  change_rows(rows.mutable_flat<float>().data() + first * channels_, count);
}

}  // namespace millrace
