#include "millrace/ops/random/binomial.h"

#include <cmath>
#include <limits>
#include <vector>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/strides.h"
#include "millrace/ops/random/samples.h"

namespace millrace {
namespace {

// Of few successes: the trials until the next one, summed up, until they exceed the count.
double draw_by_waiting(double count, double probability, ElementNumbers& numbers,
                       CancelProbe& probe) {
  double trials = 0;
  for (double successes = 0; probe.go_on(16); ++successes) {
    trials += std::ceil(std::log(numbers.uniform()) / std::log1p(-probability));
    if (trials > count) return successes;
  }
  return 0;
}

// What Stirling's formula for the logarithm of k! leaves.
double stirling_rest(double k) {
  static constexpr double kFirst[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                      0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                      0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                      0.00833056343336287};
  if (k >= 0 && k <= 9) return kFirst[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Hörmann, "The generation of binomial random variates" (1993): transformed rejection.
double draw_by_rejection(double count, double probability, ElementNumbers& numbers,
                         CancelProbe& probe) {
  const double deviation = std::sqrt(count * probability * (1 - probability));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * probability;
  const double c = count * probability + 0.5;
  const double tight = 0.92 - 4.2 / b;
  const double odds = probability / (1 - probability);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * probability);
  while (probe.go_on(64)) {
    const double u = numbers.uniform() - 0.5;
    const double v = numbers.uniform();
    const double shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + c);
    if (shifted >= 0.07 && v <= tight) return k;
    if (k < 0 || k > count) continue;
    const double squeezed = std::log(v * alpha / (a / (shifted * shifted) + b));
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) +
                         stirling_rest(mode) + stirling_rest(count - mode) - stirling_rest(k) -
                         stirling_rest(count - k);
    if (squeezed <= bound) return k;
  }
  return 0;
}

constexpr double kManySuccesses = 10;
// Blocks that are an element's own.
constexpr uint64_t kBlocksOfRejection = 256, kBlocksOfWaiting = 42;

// Which way to take is decided in the parameters' own type, as its rounding has it.
template <class T>
double draw_one(T count, T probability, PhiloxBlocks blocks, uint64_t element, CancelProbe& probe) {
  using M = cpu::Math<T>;
  const auto n = static_cast<double>(static_cast<M>(count));
  const auto p = static_cast<double>(static_cast<M>(probability));
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (std::isnan(p) || std::isnan(n)) return std::numeric_limits<double>::quiet_NaN();
  const bool is_likely = p > 0.5;
  const T rare = is_likely ? T(M(1) - static_cast<M>(probability)) : probability;
  const auto q = static_cast<double>(static_cast<M>(rare));
  const T mean = T(static_cast<M>(count) * static_cast<M>(rare));
  const bool is_many = static_cast<double>(static_cast<M>(mean)) >= kManySuccesses;
  const uint64_t each = is_many ? kBlocksOfRejection : kBlocksOfWaiting;
  ElementNumbers numbers(blocks.from(each * element));
  const double drawn =
      is_many ? draw_by_rejection(n, q, numbers, probe) : draw_by_waiting(n, q, numbers, probe);
  return is_likely ? n - drawn : drawn;
}

int64_t place_in(int64_t element, const Shape& shape, const Strides& strides) {
  int64_t place = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    place += element % shape.dim(axis) * strides[static_cast<size_t>(axis)];
    element /= shape.dim(axis);
  }
  return place;
}

using FillBinomial = Status (*)(const Tensor& counts, const Tensor& probs, const Shape& batch,
                                PhiloxBlocks blocks, Tensor& output, CancelProbe probe);

template <class T>
Status fill_binomial(const Tensor& counts, const Tensor& probs, const Shape& batch,
                     PhiloxBlocks blocks, Tensor& output, CancelProbe probe) {
  const WriteSample write = sample_writer(output.dtype());
  const auto count_strides = broadcast_strides(counts.shape(), batch);
  const auto prob_strides = broadcast_strides(probs.shape(), batch);
  const T* const n = static_cast<const T*>(counts.data());
  const T* const p = static_cast<const T*>(probs.data());
  const int64_t number = batch.num_elements(), samples = output.num_elements() / number;
  for (int64_t at = 0; at < number; ++at) {
    const T count = n[place_in(at, batch, count_strides)];
    const T probability = p[place_in(at, batch, prob_strides)];
    for (int64_t sample = 0; sample < samples; ++sample) {
      const auto element = static_cast<uint64_t>(at * samples + sample);
      write(output.mutable_data(), sample * number + at,
            draw_one<T>(count, probability, blocks, element, probe));
      if (!probe.go_on(64)) return probe.status();
    }
  }
  return probe.status();
}

bool ends_with(const Shape& shape, const Shape& end) {
  if (end.rank() > shape.rank()) return false;
  for (int i = 1; i <= end.rank(); ++i)
    if (shape.dim(shape.rank() - i) != end.dim(end.rank() - i)) return false;
  return true;
}

}  // namespace

Result<Shape> binomial_batch(const Shape& shape, const Tensor& counts, const Tensor& probs) {
  const auto batch = broadcast_shapes(counts.shape(), probs.shape());
  if (!batch.ok()) {
    return invalid("counts and probs must have compatible batch dimensions: ",
                   counts.shape().to_string(), " vs. ", probs.shape().to_string());
  }
  if (!ends_with(shape, *batch)) return invalid("Shape passed in must end with broadcasted shape.");
  return *batch;
}

Result<Tensor> draw_binomial(KernelContext& context, const Shape& shape, const Tensor& counts,
                             const Tensor& probs, PhiloxBlocks blocks) {
  MR_ASSIGN(const Shape batch, binomial_batch(shape, counts, probs));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  if (output.num_elements() == 0) return output;
  const FillBinomial fill = cpu::pick<FillBinomial>(
      SampleTypes(), counts.dtype(), []<class T>() -> FillBinomial { return &fill_binomial<T>; });
  MR_TRY(fill(counts, probs, batch, blocks, output, CancelProbe(context)));
  return output;
}

}  // namespace millrace
