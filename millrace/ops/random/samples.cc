#include "millrace/ops/random/samples.h"

#include <cmath>
#include <limits>

#include "millrace/ops/random/distributions.h"
#include "millrace/ops/random/sizes.h"

namespace millrace {
namespace {

constexpr double kNotDefined = std::numeric_limits<double>::quiet_NaN();

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). An alpha below 1 is
// raised by 1, and the result scaled down.
double draw_gamma(double alpha, ElementNumbers& numbers) {
  if (!(alpha > 0)) return kNotDefined;
  if (alpha == 1) return -std::log1p(-numbers.uniform());
  const bool is_small = alpha < 1;
  const double d = alpha + (is_small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  for (;;) {
    const double x = numbers.normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = numbers.uniform();
    const bool is_inside =
        u < 1 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v));
    if (!is_inside) continue;
    return is_small ? d * v * std::pow(numbers.uniform(), 1 / alpha) : d * v;
  }
}

// As many steps as it takes products of uniform numbers to fall below exp(-rate) (Knuth).
double draw_rare(double rate, double most, ElementNumbers& numbers) {
  const double end = std::exp(-rate);
  double product = 1;
  for (double count = 0;; ++count) {
    product *= numbers.uniform();
    if (product <= end && count <= most) return count;
  }
}

// Hörmann, "The transformed rejection method for generating Poisson random variables" (1993). With
// a rate beyond what the type can hold no number ever fits: until the step is cancelled.
double draw_frequent(double rate, double most, ElementNumbers& numbers, CancelProbe& probe) {
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  while (probe.go_on(64)) {
    const double u = numbers.uniform() - 0.5;
    const double v = numbers.uniform();
    const double shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
    if (k > most) continue;
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    int sign = 0;
    const double squeezed = std::log(v * inverse_alpha / (a / (shifted * shifted) + b));
    if (squeezed <= -rate + k * log_rate - ::lgamma_r(k + 1, &sign)) return k;
  }
  return kNotDefined;
}

double draw_poisson(double rate, double most, ElementNumbers& numbers, CancelProbe& probe) {
  if (!std::isfinite(rate)) return kNotDefined;
  if (rate < 0) return 0;
  return rate < 10 ? draw_rare(rate, most, numbers) : draw_frequent(rate, most, numbers, probe);
}

template <class T>
double read_parameter(const void* data, int64_t at) {
  return static_cast<double>(static_cast<cpu::Math<T>>(static_cast<const T*>(data)[at]));
}
template <class T>
void write_sample(void* data, int64_t at, double value) {
  if constexpr (std::is_integral_v<T>) {
    // Beyond the type: its ends. The largest int64 is no double, but the next one is.
    constexpr auto kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
    T& to = static_cast<T*>(data)[at];
    if (std::isnan(value)) {
      to = 0;
    } else if (value >= static_cast<double>(kMost)) {
      to = kMost;
    } else {
      to = value <= static_cast<double>(kLeast) ? kLeast : static_cast<T>(value);
    }
  } else {
    static_cast<T*>(data)[at] = T(static_cast<cpu::Math<T>>(value));
  }
}
template <class T>
double most_of() {
  if constexpr (std::is_same_v<T, Half>) return 65504;
  return static_cast<double>(std::numeric_limits<cpu::Math<T>>::max());
}

}  // namespace

double ElementNumbers::normal() {
  if (normals_left_ == 0) {
    normals_ = normal_doubles(blocks_.next());
    normals_left_ = 2;
  }
  return normals_[--normals_left_];
}

WriteSample sample_writer(DType dtype) {
  return cpu::pick<WriteSample>(SampleTypes(), dtype,
                                []<class T>() -> WriteSample { return &write_sample<T>; });
}

SampleLoops sample_loops(DType parameters, DType samples) {
  using Read = double (*)(const void*, int64_t);
  using Most = double (*)();
  const Most most =
      cpu::pick<Most>(SampleTypes(), samples, []<class T>() -> Most { return &most_of<T>; });
  return {cpu::pick<Read>(SampleTypes(), parameters,
                          []<class T>() -> Read { return &read_parameter<T>; }),
          sample_writer(samples), most == nullptr ? 0 : most()};
}

Status fill_samples(Sampled sampled, const SampleLoops& loops, const Tensor& parameters,
                    PhiloxBlocks blocks, Tensor& output, CancelProbe probe) {
  const int64_t number = parameters.num_elements();
  const int64_t samples = number == 0 ? 0 : output.num_elements() / number;
  for (int64_t parameter = 0; parameter < number; ++parameter) {
    const double value = loops.read(parameters.data(), parameter);
    for (int64_t sample = 0; sample < samples; ++sample) {
      ElementNumbers numbers(blocks.from(blocks_for(parameter * samples + sample)));
      const double drawn = sampled == Sampled::gamma
                               ? draw_gamma(value, numbers)
                               : draw_poisson(value, loops.most, numbers, probe);
      loops.write(output.mutable_data(), sample * number + parameter, drawn);
      if (!probe.go_on(64)) return probe.status();
    }
  }
  return probe.status();
}

}  // namespace millrace
