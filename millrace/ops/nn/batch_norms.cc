// Part of families.h: register_batch_norms.
#include <cmath>
#include <limits>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/nn/channel_rows.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace {
namespace {

struct BoundNormalising {
  Result<Normalising> read(const KernelSpec& spec) const { return normalising(spec.attrs); }
};

Result<Tensor> filled_vector(int64_t size, float value) {
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, {size}));
  std::ranges::fill(made.mutable_flat<float>(), value);
  return made;
}

Status check_rank_of(const Shape& shape, bool volumes) {
  if (shape.rank() == 4 || (volumes && shape.rank() == 5)) return {};
  return invalid("input must be ", volumes ? "4 or 5" : "4", "-dimensional ", shape.to_string());
}

Status check_vector(const Tensor& vector, std::string_view what) {
  if (vector.shape().rank() == 1) return {};
  return invalid(what, " must be 1-dimensional", vector.shape().to_string());
}

Status check_length(const Tensor& vector, int64_t channels, std::string_view what) {
  if (vector.num_elements() == channels) return {};
  return invalid(what, " must have the same number of elements as the channels of x, got ",
                 vector.num_elements(), " and ", channels);
}

// --- FusedBatchNorm ---

// Mean and variance of each channel over all rows.
struct Moments {
  Tensor mean, variance;
};

Result<Moments> moments_of(KernelContext& context, const Rows& x) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Moments made;
  MR_ASSIGN(made.mean, filled_vector(x.channels, nan));
  MR_ASSIGN(made.variance, filled_vector(x.channels, nan));
  if (x.rows == 0) return made;
  const int64_t channels = x.channels;
  // Of some rows: the mean, and the sum of the squares of what they are off it. Two of these become
  // that of all their rows by what their means differ in (Chan, Golub and LeVeque, 1983).
  const auto gather = [&](int64_t begin, int64_t end, float* room, double* of) MR_LAMBDA_BODY {
    float *const mean = room, *const squares = mean + channels, *const rest = squares + channels;
    std::fill_n(room, 3 * channels, 0.0F);
    for (int64_t row = begin; row < end; ++row) {
      const float* const from = x[row];
      MR_INDEPENDENT
      for (int64_t c = 0; c < channels; ++c) mean[c] += from[c];
    }
    const float share = 1.0F / static_cast<float>(end - begin);
    MR_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) mean[c] *= share;
    for (int64_t row = begin; row < end; ++row) {
      const float* const from = x[row];
      MR_INDEPENDENT
      for (int64_t c = 0; c < channels; ++c) {
        const float off = from[c] - mean[c];
        squares[c] += off * off;
        rest[c] += off;
      }
    }
    // The mean was rounded: `rest` says what it is off by, but for an infinite one.
    MR_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) {
      const float off = rest[c] * share;
      of[c] = static_cast<double>(mean[c]) + static_cast<double>(off == off ? off : 0.0F);
      of[channels + c] =
          static_cast<double>(squares[c]) - static_cast<double>(rest[c] * rest[c] * share);
    }
  };
  const auto join = [channels](double* of, int64_t rows, const double* more,
                               int64_t more_rows) MR_LAMBDA_BODY {
    const double part = static_cast<double>(more_rows) / static_cast<double>(rows + more_rows);
    const double weight = part * static_cast<double>(rows);
    MR_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) {
      const double apart = more[c] - of[c];
      of[c] = of[c] * (1 - part) + more[c] * part;  // not by `apart`, for infinite ones
      of[channels + c] += more[channels + c] + apart * apart * weight;
    }
  };
  MR_ASSIGN(const Tensor all, joined_rows(context, x.rows, channels, gather, join));
  const double *const mean = all.flat<double>().data(), *const squares = mean + channels;
  for (int64_t c = 0; c < channels; ++c) {
    made.mean.mutable_flat<float>()[c] = static_cast<float>(mean[c]);
    made.variance.mutable_flat<float>()[c] =
        static_cast<float>(std::max(0.0, squares[c] / static_cast<double>(x.rows)));
  }
  return made;
}

Result<Tensor> normalised(KernelContext& context, const Rows& x, const Moments& by,
                          const Tensor& scale, const Tensor& offset, float epsilon) {
  const int64_t channels = x.channels;
  MR_ASSIGN(Tensor kept, Tensor::allocate(DType::f32, {channels}));
  float* const factor = kept.mutable_flat<float>().data();
  for (int64_t c = 0; c < channels; ++c)
    factor[c] = scale.flat<float>()[c] / std::sqrt(by.variance.flat<float>()[c] + epsilon);
  const float* const mean = by.mean.flat<float>().data();
  const float* const add = offset.flat<float>().data();
  return made_rows(context, x, [&](int64_t row, float* to) MR_LAMBDA_BODY {
    const float* from = x[row];
    MR_INDEPENDENT
    for (int64_t c = 0; c < channels; ++c) to[c] = (from[c] - mean[c]) * factor[c] + add[c];
  });
}

// What a step of training keeps of `before`, and takes of `now`.
Result<Tensor> moved(const Tensor& before, const Tensor& now, float factor, double correction) {
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, now.shape()));
  for (int64_t c = 0; c < now.num_elements(); ++c) {
    const float taken = static_cast<float>(now.flat<float>()[c] * correction);
    made.mutable_flat<float>()[c] =
        factor == 1 ? taken : (1 - factor) * before.flat<float>()[c] + factor * taken;
  }
  return made;
}

Status set_vector(KernelContext& context, int slot, const Tensor& vector) {
  return context.set_output(slot,
                            narrowed(vector, context.output_dtype(slot), CancelProbe(context)));
}

Status batch_norm(KernelContext& context, const Normalising& how) {
  const Tensor& images = context.input(0);
  MR_TRY(check_rank_of(images.shape(), context.num_outputs() == 6));
  constexpr std::string_view kNames[] = {"scale", "offset", "estimated_mean", "estimated_variance"};
  Tensor vectors[4];
  const CancelProbe probe(context);
  MR_ASSIGN(const Rows x, rows_of(images, how, probe));
  for (int i = 0; i < 4; ++i) {
    MR_TRY(check_vector(context.input(1 + i), kNames[i]));
    if (i < 2 || !how.training || how.factor != 1)
      MR_TRY(check_length(context.input(1 + i), x.channels, kNames[i]));
    MR_ASSIGN(vectors[i], widened(context.input(1 + i), probe));
  }
  Moments by{vectors[2], vectors[3]};
  if (how.training) {
    MR_ASSIGN(by, moments_of(context, x));
  }
  MR_ASSIGN(const Tensor y, normalised(context, x, by, vectors[0], vectors[1], how.epsilon));
  MR_TRY(context.set_output(0, as_images(y, x.channels, how, images, probe)));
  Moments told = by;
  if (how.training) {
    // The variance that is told is that of the population.
    const auto rows = static_cast<double>(x.rows);
    MR_ASSIGN(told.mean, moved(vectors[2], by.mean, how.factor, 1));
    MR_ASSIGN(told.variance,
              moved(vectors[3], by.variance, how.factor, rows > 1 ? rows / (rows - 1) : 1));
  }
  if (x.rows == 0) {
    // As TensorFlow tells of no images, in training or not.
    MR_ASSIGN(told.mean, filled_vector(x.channels, std::numeric_limits<float>::quiet_NaN()));
    told.variance = told.mean;
    MR_ASSIGN(by.mean, Tensor::zeros(DType::f32, {x.channels}));
    by.variance = by.mean;
  }
  MR_TRY(set_vector(context, 1, told.mean));
  MR_TRY(set_vector(context, 2, told.variance));
  MR_TRY(set_vector(context, 3, by.mean));
  MR_TRY(set_vector(context, 4, by.variance));
  if (context.num_outputs() == 6)
    return context.set_output(5, Tensor::zeros(context.output_dtype(5), Shape()));
  return {};
}

// --- FusedBatchNormGrad ---

Status batch_norm_grad(KernelContext& context, const Normalising& how) {
  const Tensor& arriving = context.input(0);
  const Tensor& images = context.input(1);
  MR_TRY(check_rank_of(images.shape(), context.num_inputs() == 6));
  if (arriving.shape() != images.shape()) {
    return invalid("x and y_backprop must have same shape, but x has shape ",
                   images.shape().to_string(), " and y_backprop has shape ",
                   arriving.shape().to_string());
  }
  const CancelProbe probe(context);
  MR_ASSIGN(const Rows x, rows_of(images, how, probe));
  MR_ASSIGN(const Rows dy, rows_of(arriving, how, probe));
  constexpr std::string_view kNames[] = {"scale", "reserve_space_1", "reserve_space_2"};
  Tensor vectors[3];
  for (int i = 0; i < 3; ++i) {
    MR_TRY(check_vector(context.input(2 + i), kNames[i]));
    MR_TRY(check_length(context.input(2 + i), x.channels, kNames[i]));
    MR_ASSIGN(vectors[i], widened(context.input(2 + i), probe));
  }
  const int64_t channels = x.channels;
  const float* const mean = vectors[1].flat<float>().data();
  MR_ASSIGN(const Tensor sums,
            sums_of_rows(context, x.rows, channels,
                         [&](int64_t row, float* plain, float* by_x) MR_LAMBDA_BODY {
                           const float *in = x[row], *d = dy[row];
                           MR_INDEPENDENT
                           for (int64_t c = 0; c < channels; ++c) {
                             plain[c] += d[c];
                             by_x[c] += d[c] * (in[c] - mean[c]);
                           }
                         }));
  const double* const plain = sums.flat<double>().data();
  // Of each channel: dx = factor * (dy - rest - slope * (x - mean)).
  MR_ASSIGN(Tensor by_scale, Tensor::allocate(DType::f32, {channels}));
  MR_ASSIGN(Tensor by_offset, Tensor::allocate(DType::f32, {channels}));
  MR_ASSIGN(Tensor kept, Tensor::zeros(DType::f32, {3, channels}));
  float* const factor = kept.mutable_flat<float>().data();
  float *const rest = factor + channels, *const slope = rest + channels;
  for (int64_t c = 0; c < channels; ++c) {
    const double inverse = 1 / std::sqrt(static_cast<double>(vectors[2].flat<float>()[c]) +
                                         static_cast<double>(how.epsilon));
    by_offset.mutable_flat<float>()[c] = static_cast<float>(plain[c]);
    by_scale.mutable_flat<float>()[c] = static_cast<float>(plain[channels + c] * inverse);
    factor[c] = static_cast<float>(vectors[0].flat<float>()[c] * inverse);
    if (!how.training || x.rows == 0) continue;
    const auto rows = static_cast<double>(x.rows);
    rest[c] = static_cast<float>(plain[c] / rows);
    slope[c] = static_cast<float>(plain[channels + c] * inverse * inverse / rows);
  }
  MR_ASSIGN(const Tensor dx, made_rows(context, x, [&](int64_t row, float* to) MR_LAMBDA_BODY {
              const float *in = x[row], *d = dy[row];
              MR_INDEPENDENT
              for (int64_t c = 0; c < channels; ++c)
                to[c] = factor[c] * (d[c] - rest[c] - slope[c] * (in[c] - mean[c]));
            }));
  MR_TRY(context.set_output(0, as_images(dx, channels, how, images, probe)));
  MR_TRY(set_vector(context, 1, by_scale));
  MR_TRY(set_vector(context, 2, by_offset));
  MR_TRY(context.set_output(3, Tensor::zeros(context.output_dtype(3), {0})));
  return context.set_output(4, Tensor::zeros(context.output_dtype(4), {0}));
}

// --- shapes, ops ---

Result<PartialShape> infer_images(const InferContext& context, int slot, bool volumes) {
  const PartialShape& shape = context.input(slot);
  if (volumes && (!shape.has_rank() || shape.rank() == 5)) return shape;
  return context.input_of_rank(slot, 4);
}

// Images of input `slot`, and the vectors of channels from input `first` to `last`.
struct Known {
  PartialShape images;
  PartialShape channels = PartialShape::of_rank(1);
};
Result<Known> infer_known(const InferContext& context, int slot, int first, int last) {
  MR_ASSIGN(const Normalising how, normalising(context.attrs()));
  Known known;
  MR_ASSIGN(known.images, infer_images(context, slot, context.attrs().op().name.ends_with("V3")));
  const bool ranked = known.images.has_rank();
  if (ranked) known.channels = PartialShape{known.images.dim(how.channels(known.images.rank()))};
  for (int i = first; i <= last; ++i) {
    MR_ASSIGN(const PartialShape vector, context.input_of_rank(i, 1));
    MR_ASSIGN(known.channels, known.channels.merge(vector));
  }
  if (!ranked) return known;
  std::vector<int64_t> dims(known.images.dims().begin(), known.images.dims().end());
  dims[how.channels(known.images.rank())] = known.channels.dim(0);
  MR_ASSIGN(known.images, PartialShape::create(dims));
  return known;
}

Status infer_batch_norm(InferContext& context) {
  MR_ASSIGN(const Normalising how, normalising(context.attrs()));
  MR_ASSIGN(const Known known, infer_known(context, 0, 1, how.training ? 2 : 4));
  context.set_output(0, known.images);
  for (int slot = 1; slot < 5; ++slot) context.set_output(slot, known.channels);
  return {};
}

Status infer_batch_norm_grad(InferContext& context) {
  MR_ASSIGN(const Known known, infer_known(context, 0, 2, 4));
  context.set_output(0, known.images);
  context.set_output(1, known.channels);
  context.set_output(2, known.channels);
  context.set_output(3, PartialShape{0});
  context.set_output(4, PartialShape{0});
  return {};
}

struct Version {
  std::string_view suffix, types, grad_types, formats, u;
  int spaces;  // of what the forward op keeps for its gradient
};
constexpr std::string_view kImageFormats = "{'NHWC', 'NCHW'}";
constexpr Version kVersions[] = {
    {"", "T: {float}", "T: {float}", kImageFormats, "T", 2},
    {"V2", "T: {half, bfloat16, float}, U: {float}", "T: {half, bfloat16, float}, U: {float}",
     kImageFormats, "U", 2},
    {"V3", "T: {half, bfloat16, float}, U: {bfloat16, float}",
     "T: {half, bfloat16, float}, U: {float}", "{'NHWC', 'NCHW', 'NDHWC', 'NCDHW'}", "U", 3}};

Status add_batch_norm(OpRegistry& ops, const Version& version) {
  const std::string_view u = version.u;
  const bool third = version.spaces == 3;
  const std::string attrs = str_cat(
      "epsilon: float = 0.0001, exponential_avg_factor: float = 1, data_format: ", version.formats,
      " = 'NHWC', is_training: bool = true");
  return ops.add({
      .name = str_cat("FusedBatchNorm", version.suffix),
      .doc = "scale * (x - mean) / sqrt(variance + epsilon) + offset for each channel, with mean "
             "and variance of x in training, else those given; and what its gradient needs.",
      .signature =
          str_cat("x: T, scale: ", u, ", offset: ", u, ", mean: ", u, ", variance: ", u,
                  " -> y: T, batch_mean: ", u, ", batch_variance: ", u, ", reserve_space_1: ", u,
                  ", reserve_space_2: ", u, third ? str_cat(", reserve_space_3: ", u) : "", " | ",
                  version.types, ", ", attrs),
      .infer = infer_batch_norm,
      .cpu = kernel_with(batch_norm, BoundNormalising{}),
      .grad = grad::batch_norm,
      .cost = Cost::heavy,
      .examples = {str_cat("[[[[1 2]] [[3 6]]]], [1 2], [0 1], [], [] -> [[[[-1 -1]] [[1 3]]]], [2 "
                           "4], [2 8], [2 4], [1 4]",
                           third ? ", 0" : "", " | epsilon = 0"),
                   str_cat("[[[[1 2]] [[3 6]]]], [1 2], [0 1], [1 2], [4 1] -> [[[[0 1]] [[1 "
                           "9]]]], [1 2], [4 1], [1 2], [4 1]",
                           third ? ", 0" : "", " | epsilon = 0, is_training = false")},
  });
}

Status add_batch_norm_grad(OpRegistry& ops, const Version& version) {
  const std::string_view u = version.u;
  const bool third = version.spaces == 3;
  const std::string_view space = third ? "reserve_space_4: " : "reserve_space_3: ";
  const std::string_view next = third ? ", reserve_space_5: " : ", reserve_space_4: ";
  return ops.add({
      .name = str_cat("FusedBatchNormGrad", version.suffix),
      .doc = "The gradients of FusedBatchNorm by x, scale and offset; mean and variance come as "
             "reserve_space_1 and 2. The last two outputs are empty.",
      .signature = str_cat("y_backprop: T, x: T, scale: ", version.suffix.empty() ? "T" : "float",
                           ", reserve_space_1: ", u, ", reserve_space_2: ", u,
                           third ? str_cat(", reserve_space_3: ", u) : "",
                           " -> x_backprop: T, scale_backprop: ", u, ", offset_backprop: ", u, ", ",
                           space, u, next, u, " | ", version.grad_types,
                           ", epsilon: float = 0.0001, data_format: ", version.formats,
                           " = 'NHWC', is_training: bool = true"),
      .infer = infer_batch_norm_grad,
      .cpu = kernel_with(batch_norm_grad, BoundNormalising{}),
      .grad = grad::batch_norm_grad,
      .cost = Cost::heavy,
      .examples = {str_cat("[[[[1 2]] [[3 2]]]], [[[[1 2]] [[3 6]]]], [1 2], [1 2], [4 1]",
                           third ? ", 0" : "",
                           " -> [[[[0.5 4]] [[1.5 4]]]], [3 8], [4 4], [], [] | epsilon = 0, "
                           "is_training = false"),
                   str_cat("[[[[1 2]] [[3 2]]]], [[[[1 2]] [[3 6]]]], [1 2], [2 4], [1 4]",
                           third ? ", 0" : "",
                           " -> [[[[0 0]] [[0 0]]]], [2 0], [4 4], [], [] | epsilon = 0")},
  });
}

}  // namespace

Status register_batch_norms(OpRegistry& ops) {
  for (const Version& version : kVersions) {
    MR_TRY(add_batch_norm(ops, version));
    MR_TRY(add_batch_norm_grad(ops, version));
  }
  return {};
}

}  // namespace millrace
