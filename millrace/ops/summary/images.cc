// Part of families.h: register_image_summaries.
#include <algorithm>
#include <cmath>
#include <limits>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/png.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/summary/families.h"
#include "millrace/ops/summary/summary_message.h"

namespace millrace {
namespace {

// Pixels of one picture: `count` of them, of bad_colour.size() channels each.
using ToBytes = void (*)(const Tensor& tensor, int64_t picture, int64_t count,
                         std::span<const uint8_t> bad_colour, std::span<uint8_t> pixels);

template <class T>
bool is_finite(std::span<const T> pixel) {
  return std::ranges::all_of(
      pixel, [](T value) { return std::isfinite(static_cast<cpu::Math<T>>(value)); });
}

// From floating values to bytes: by the largest one, about 128 if there are negative ones. Pixels
// that are not finite get the bad colour.
template <class T>
void scaled(const Tensor& tensor, int64_t picture, int64_t count,
            std::span<const uint8_t> bad_colour, std::span<uint8_t> pixels) {
  const size_t depth = bad_colour.size();
  const std::span<const T> values = tensor.flat<T>().subspan(
      static_cast<size_t>(picture * count) * depth, static_cast<size_t>(count) * depth);
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (size_t at = 0; at < values.size(); at += depth) {
    const std::span<const T> pixel = values.subspan(at, depth);
    if (!is_finite(pixel)) continue;
    for (const T value : pixel) {
      low = std::min(low, static_cast<float>(value));
      high = std::max(high, static_cast<float>(value));
    }
  }
  constexpr float kZero = 1e-6F;
  const bool is_signed = low < 0;
  const float most = is_signed ? std::max(std::abs(low), std::abs(high)) : high;
  // As TensorFlow computes it: in the type of the values.
  const T scale(most < kZero ? 0.0F : (is_signed ? 127.0F : 255.0F) / most);
  const T offset(is_signed ? 128.0F : 0.0F);
  for (size_t at = 0; at < values.size(); at += depth) {
    const std::span<const T> pixel = values.subspan(at, depth);
    const bool is_good = is_finite(pixel);
    for (size_t i = 0; i < depth; ++i) {
      using M = cpu::Math<T>;
      const M value =
          is_good ? static_cast<M>(
                        T(static_cast<M>(T(static_cast<M>(pixel[i]) * static_cast<M>(scale))) +
                          static_cast<M>(offset)))
                  : M(0);
      pixels[at + i] = is_good ? static_cast<uint8_t>(value) : bad_colour[i];
    }
  }
}

void as_they_are(const Tensor& tensor, int64_t picture, int64_t count,
                 std::span<const uint8_t> bad_colour, std::span<uint8_t> pixels) {
  const size_t size = static_cast<size_t>(count) * bad_colour.size();
  std::ranges::copy(tensor.flat<uint8_t>().subspan(static_cast<size_t>(picture) * size, size),
                    pixels.begin());
}

ToBytes to_bytes_loop(DType dtype) {
  if (dtype == DType::u8) return &as_they_are;
  return cpu::pick<ToBytes>(cpu::Types<Half, float, double>(), dtype,
                            []<class T>() { return &scaled<T>; });
}

Result<std::vector<uint8_t>> bad_colour_of(const Tensor& given, int64_t depth) {
  if (given.dtype() != DType::u8)
    return invalid("bad_color must be uint8, got ", dtype_name(given.dtype()));
  if (given.shape().rank() != 1)
    return invalid("bad_color must be a vector, got shape ", given.shape().to_string());
  if (given.num_elements() < depth) {
    return invalid("expected depth <= bad_color.size, got depth = ", depth,
                   ", bad_color.size = ", given.num_elements());
  }
  const std::span<const uint8_t> all = given.flat<uint8_t>();
  return std::vector<uint8_t>(all.begin(), all.begin() + depth);
}

Status image_summary(KernelContext& context, ToBytes to_bytes, int64_t max_images,
                     const Tensor& given_colour) {
  MR_ASSIGN(const std::string tag, summary::scalar_text(context.input(0), "Tag"));
  const Tensor& tensor = context.input(1);
  const Shape& shape = tensor.shape();
  const bool fits = shape.rank() == 4 && (shape[3] == 1 || shape[3] == 3 || shape[3] == 4);
  if (!fits) return invalid("Tensor must be 4-D with last dim 1, 3, or 4, not ", shape.to_string());
  const int64_t height = shape[1], width = shape[2], depth = shape[3];
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (shape[0] > kMost || height > kMost || width > kMost ||
      (width > 0 && height > kMost / width / depth)) {
    return invalid("Tensor too large for summary ", shape.to_string());
  }
  MR_ASSIGN(const std::vector<uint8_t> bad_colour, bad_colour_of(given_colour, depth));

  std::string message;
  MR_ASSIGN(Tensor pixels, Tensor::allocate(DType::u8, {height, width, depth}));
  CancelProbe probe(context);
  for (int64_t i = 0; i < std::min(max_images, shape[0]); ++i) {
    to_bytes(tensor, i, height * width, bad_colour, pixels.mutable_flat<uint8_t>());
    MR_ASSIGN(const std::string png, encode_png(pixels, -1));
    const wire::NestedField value(&message, summary::kValue, png.size());
    summary::put_text(&message, summary::kTag, summary::tag_of(tag, "image", i, max_images));
    const wire::NestedField image(&message, summary::kImage, png.size());
    summary::put_number(&message, summary::kHeight, height);
    summary::put_number(&message, summary::kWidth, width);
    summary::put_number(&message, summary::kColorspace, depth);
    summary::put_text(&message, summary::kEncodedImage, png);
    if (!probe.go_on(height * width * depth)) return probe.status();
  }
  summary::set_summary(context, std::move(message));
  return {};
}

}  // namespace

Status register_image_summaries(OpRegistry& ops) {
  return ops.add({
      .name = "ImageSummary",
      .doc =
          "A Summary with up to max_images pictures of a batch [batch, height, width, channels], "
          "as PNG.",
      .signature =
          "tag: string, tensor: T -> summary: string | max_images: int >= 1 = 3, "
          "T: {uint8, float, half, double} = float, bad_color: tensor = bytes[255,0,0,255]",
      .infer = infer::scalar,
      .cpu = kernel_with(image_summary, cpu::LoopFor{to_bytes_loop, 1}, integer("max_images"),
                         BoundAttr<Tensor>{"bad_color", &AttrView::tensor}),
      .not_differentiable = "its result is a message",
      .cost = Cost::heavy,
      .examples = {"'tag', [[[[1] [2]]]]"},
  });
}

}  // namespace millrace
