// Part of families.h: register_sobol.
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/sobol_numbers.h"

namespace millrace {
namespace {

struct SobolSizes {
  int64_t dims, points, skip;
};

Status check_sobol(const SobolSizes& sizes) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (sizes.dims < 1) return invalid("dim must be at least one, not ", sizes.dims);
  if (sizes.dims > kMostSobolDims)
    return invalid("dim must be at most ", kMostSobolDims, ", not ", sizes.dims);
  if (sizes.points < 1) return invalid("num_results must be at least one, not ", sizes.points);
  if (sizes.skip < 0) return invalid("skip must be non-negative, not ", sizes.skip);
  if (sizes.points >= kMost - sizes.skip)
    return invalid("num_results+skip must be less than ", kMost, ", not ", sizes.points, " + ",
                   sizes.skip);
  if (sizes.points * sizes.dims >= kMost)
    return invalid("num_results*dim must be less than ", kMost, ", not ", sizes.points, " * ",
                   sizes.dims);
  return {};
}

Result<int64_t> read_scalar_integer(const Tensor& tensor, std::string_view what) {
  if (!tensor.shape().is_scalar())
    return invalid(what, " must be a scalar, got shape ", tensor.shape().to_string());
  return read_integer(tensor, what);
}

using SobolLoop = Status (*)(const SobolSizes& sizes, Tensor& out, CancelProbe& probe);

// A point is the numbers of the bits of its place's Gray code together, so that from one place to
// the next a single number is added: that of the lowest bit which is not set.
template <class T>
Status sobol_loop(const SobolSizes& sizes, Tensor& out, CancelProbe& probe) {
  const auto dims = static_cast<size_t>(sizes.dims);
  const auto first = static_cast<uint32_t>(sizes.skip + 1);
  const int digits = std::bit_width(static_cast<uint32_t>(sizes.skip + sizes.points + 1));
  const T unit = static_cast<T>(std::ldexp(1.0, -digits));
  const std::vector<SobolNumbers> numbers = sobol_numbers(static_cast<int>(dims));
  const auto shifted = [&](size_t dim, int bit) {
    return numbers[dim][static_cast<size_t>(bit)] << (digits - bit - 1);
  };
  std::vector<uint32_t> point(dims);
  const uint32_t code = first ^ first >> 1;
  for (size_t dim = 0; dim < dims; ++dim) {
    for (int bit = 0; bit < digits; ++bit)
      if ((code >> bit & 1) != 0) point[dim] ^= shifted(dim, bit);
  }
  T* to = out.mutable_flat<T>().data();
  for (uint32_t i = 0; i < static_cast<uint32_t>(sizes.points); ++i) {
    if (i > 0) {
      const int bit = std::countr_one(first + i - 1);
      for (size_t dim = 0; dim < dims; ++dim) point[dim] ^= shifted(dim, bit);
    }
    for (size_t dim = 0; dim < dims; ++dim) *to++ = static_cast<T>(point[dim]) * unit;
    if (!probe.go_on(sizes.dims)) return probe.status();
  }
  return {};
}

Result<Tensor> sobol_sample(KernelContext& context, SobolLoop loop) {
  SobolSizes sizes{};
  MR_ASSIGN(sizes.dims, read_scalar_integer(context.input(0), "dim"));
  MR_ASSIGN(sizes.points, read_scalar_integer(context.input(1), "num_results"));
  MR_ASSIGN(sizes.skip, read_scalar_integer(context.input(2), "skip"));
  MR_TRY(check_sobol(sizes));
  MR_ASSIGN(Tensor made, context.allocate(0, {sizes.points, sizes.dims}));
  CancelProbe probe(context);
  MR_TRY(loop(sizes, made, probe));
  return made;
}

Status infer_sobol(InferContext& context) {
  for (const int slot : {0, 1, 2}) MR_TRY(context.input_of_rank(slot, 0));
  MR_ASSIGN(const auto dims, constant_integers(context, 0, "dim"));
  MR_ASSIGN(const auto points, constant_integers(context, 1, "num_results"));
  if (dims && points) MR_TRY(check_sobol({dims->front(), points->front(), 0}));
  context.set_output(0, PartialShape{points && points->front() >= 0 ? points->front() : kUnknownDim,
                                     dims && dims->front() >= 0 ? dims->front() : kUnknownDim});
  return {};
}

}  // namespace

Status register_sobol(OpRegistry& ops) {
  return ops.add({
      .name = "SobolSample",
      .doc = "Points of Sobol's sequence in [0, 1)^dim, which fill it evenly: num_results of them, "
             "after the first `skip`; in 2560 dimensions at most.",
      .signature = "dim: int32, num_results: int32, skip: int32 -> samples: dtype | "
                   "dtype: {float, double} = float",
      .infer = infer_sobol,
      .cpu = kernel_with(sobol_sample, cpu::loop_of_output<cpu::Types<float, double>>(
                                           []<class T>() { return &sobol_loop<T>; })),
      .not_differentiable = "sizes decide what it gives",
      .examples = {"2, 4, 0 -> [[0.5 0.5] [0.75 0.25] [0.25 0.75] [0.375 0.375]]",
                   "5, 2, 29 -> [[0.53125 0.03125 0.40625 0.46875 0.46875] "
                   "[0.03125 0.53125 0.90625 0.96875 0.96875]]"},
  });
}

}  // namespace millrace
