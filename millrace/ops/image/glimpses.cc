// Part of families.h: register_glimpses.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/image/sizes.h"
#include "millrace/ops/loops/philox_numbers.h"

namespace millrace {
namespace {

// What stands where a window reaches over the border of its image.
enum class Noise : uint8_t { zero, uniform, gaussian };

struct Glimpse {
  bool is_centered = true;    // offsets are from the middle of the image, not from its first pixel
  bool is_normalized = true;  // they are in sizes of the image, not in pixels
  Noise noise = Noise::uniform;
  // Whether offsets say where the window's middle is wherever they count from. The later version of
  // the op has this for offsets that are both centered and normalized alone, as TensorFlow's has.
  bool is_always_of_middle = true;
};

struct BoundGlimpse {
  bool is_always_of_middle;

  Result<Glimpse> read(const KernelSpec& spec) const {
    Glimpse made{.is_always_of_middle = is_always_of_middle};
    MR_ASSIGN(made.is_centered, spec.attrs.boolean("centered"));
    MR_ASSIGN(made.is_normalized, spec.attrs.boolean("normalized"));
    MR_ASSIGN(const bool is_uniform, spec.attrs.boolean("uniform_noise"));
    MR_ASSIGN(const std::string noise, spec.attrs.string("noise"));
    if (is_uniform && !noise.empty() && noise != "uniform") {
      return invalid(
          "The uniform_noise and noise could not be specified at the same time: noise is '", noise,
          "'; set uniform_noise to false for it");
    }
    if (noise.empty()) {
      made.noise = is_uniform ? Noise::uniform : Noise::gaussian;
    } else if (noise == "uniform") {
      made.noise = Noise::uniform;
    } else if (noise == "gaussian") {
      made.noise = Noise::gaussian;
    } else if (noise == "zero") {
      made.noise = Noise::zero;
    } else {
      return invalid("The noise could only be uniform, gaussian, or zero, got '", noise, "'");
    }
    return made;
  }
};

struct BoundNoise {
  Result<std::unique_ptr<PhiloxStream>> read(const KernelSpec& spec) const {
    return PhiloxStream::unseeded(spec.random);
  }
};

struct Sizes {
  int64_t batch = 0, rows = 0, columns = 0, channels = 0, high = 0, wide = 0;
};

Result<Sizes> check(const Tensor& images, const Tensor& size, const Tensor& offsets) {
  const Shape &of_images = images.shape(), &of_offsets = offsets.shape();
  if (of_images.rank() != 4) {
    return invalid("input must be 4-dimensional (batch_size, height, width, depth)",
                   of_images.to_string());
  }
  if (size.shape() != Shape{2})
    return invalid("size must be a vector of size 2 (height, width)", size.shape().to_string());
  if (of_offsets.rank() != 2) return invalid("offsets must be a matrix", of_offsets.to_string());
  if (of_offsets.dim(0) != of_images.dim(0)) {
    return invalid("first dimension of offsets should be batch", of_offsets.to_string(), "; it is ",
                   of_images.dim(0));
  }
  if (of_offsets.dim(1) != 2) {
    return invalid("second dimension of offsets should be of size 2 (y,x)", of_offsets.to_string());
  }
  const auto of_glimpse = size.flat<int32_t>();
  if (of_glimpse[0] < 0 || of_glimpse[1] < 0)
    return invalid("a glimpse can't have a size of ", of_glimpse[0], " x ", of_glimpse[1]);
  return Sizes{.batch = of_images.dim(0),
               .rows = of_images.dim(1),
               .columns = of_images.dim(2),
               .channels = of_images.dim(3),
               .high = of_glimpse[0],
               .wide = of_glimpse[1]};
}

// The first pixel of a window of `window` along an axis of `size` pixels; none if an offset is
// none, or so large that no image has it.
std::optional<int64_t> first_pixel(const Glimpse& node, float offset, int64_t size,
                                   int64_t window) {
  const auto all = static_cast<float>(size), part = static_cast<float>(window);
  const bool is_of_middle = node.is_always_of_middle || (node.is_centered && node.is_normalized);
  if (node.is_normalized) offset *= all;
  if (node.is_centered) offset = is_of_middle ? offset / 2 + all / 2 : offset + all / 2;
  if (is_of_middle) offset -= part / 2;
  constexpr float kMost = 1 << 30;
  if (!(std::abs(offset) < kMost)) return {};
  return static_cast<int64_t>(offset);
}

// Draws what is seen beside one image: numbers as large as those in it, which are looked at when
// the first is drawn.
class Surroundings {
 public:
  Surroundings(std::span<const float> image, int64_t channels, Noise noise, PhiloxBlocks blocks)
      : image_(image),
        noise_(image.empty() ? Noise::zero : noise),
        channels_(noise_ == Noise::gaussian ? static_cast<size_t>(channels) : 1),
        random_(blocks) {}

  float draw(size_t channel) {
    if (noise_ == Noise::zero) return 0;
    if (values_.empty())
      for (size_t c = 0; c < channels_; ++c) values_.push_back(look_at(image_.subspan(c)));
    const Values& values = values_[channel % channels_];
    if (noise_ == Noise::uniform)
      return values.least + random_.real32() * (values.most - values.least);
    const double radius = std::sqrt(-2 * std::log(1 - double{random_.real32()}));
    const double normal = radius * std::cos(2 * std::numbers::pi * double{random_.real32()});
    const auto drawn = static_cast<float>(values.mean + normal * values.deviation);
    return std::clamp(drawn, values.least, values.most);
  }

 private:
  struct Values {
    float least = 0, most = 0;
    double mean = 0, deviation = 0;
  };

  Values look_at(std::span<const float> image) const {
    Values seen{.least = image[0], .most = image[0]};
    double sum = 0, squares = 0, count = 0;
    for (size_t i = 0; i < image.size(); i += channels_) {
      seen.least = std::min(seen.least, image[i]);
      seen.most = std::max(seen.most, image[i]);
      sum += image[i];
      squares += double{image[i]} * image[i];
      ++count;
    }
    seen.mean = sum / count;
    seen.deviation = std::sqrt(std::max(0.0, squares / count - seen.mean * seen.mean));
    return seen;
  }

  const std::span<const float> image_;
  const Noise noise_;
  const size_t channels_;  // that have values of their own
  std::vector<Values> values_;
  Philox random_;
};

class GlimpseKernel final : public Kernel {
 public:
  GlimpseKernel(const Glimpse& node, std::unique_ptr<PhiloxStream> stream)
      : node_(node), stream_(std::move(stream)) {}

  Status run(KernelContext& context) override {
    const Tensor &images = context.input(0), &offsets = context.input(2);
    MR_ASSIGN(const Sizes sizes, check(images, context.input(1), offsets));
    const std::array<int64_t, 4> dims = {sizes.batch, sizes.high, sizes.wide, sizes.channels};
    MR_ASSIGN(const Shape shape, Shape::create(dims));
    MR_ASSIGN(Tensor output, Tensor::allocate(DType::f32, shape));
    const int64_t of_image = sizes.rows * sizes.columns * sizes.channels;
    const int64_t of_glimpse = sizes.high * sizes.wide * sizes.channels;
    CancelProbe probe(context);
    for (int64_t i = 0; i < sizes.batch && of_glimpse > 0; ++i) {
      const auto image = images.flat<float>().subspan(i * of_image, of_image);
      const auto glimpse = output.mutable_flat<float>().subspan(i * of_glimpse, of_glimpse);
      const float* const offset = &offsets.flat<float>()[i * 2];
      // No number takes more words than a block has.
      const PhiloxBlocks blocks = stream_->reserve(static_cast<uint64_t>(of_glimpse));
      Surroundings beside(image, sizes.channels, node_.noise, blocks);
      MR_TRY(look(sizes, image, offset, glimpse, beside, probe));
    }
    context.set_output(0, std::move(output));
    return {};
  }

 private:
  Status look(const Sizes& sizes, std::span<const float> image, const float* offset,
              std::span<float> glimpse, Surroundings& beside, CancelProbe& probe) const {
    const auto top = first_pixel(node_, offset[0], sizes.rows, sizes.high);
    const auto left = first_pixel(node_, offset[1], sizes.columns, sizes.wide);
    const auto channels = static_cast<size_t>(sizes.channels);
    float* to = glimpse.data();
    for (int64_t row = 0; row < sizes.high; ++row) {
      const int64_t y = top.value_or(0) + row;
      const bool has_row = top && left && y >= 0 && y < sizes.rows;
      for (int64_t column = 0; column < sizes.wide; ++column, to += channels) {
        const int64_t x = left.value_or(0) + column;
        if (has_row && x >= 0 && x < sizes.columns) {
          const auto from = static_cast<size_t>(y * sizes.columns + x) * channels;
          std::copy_n(&image[from], channels, to);
        } else {
          for (size_t c = 0; c < channels; ++c) to[c] = beside.draw(c);
        }
      }
      if (!probe.go_on(sizes.wide * sizes.channels)) return probe.status();
    }
    return {};
  }

  const Glimpse node_;
  const std::unique_ptr<PhiloxStream> stream_;
};

Status infer_glimpses(InferContext& context) {
  MR_ASSIGN(const PartialShape images, context.input_of_rank(0, 4));
  MR_TRY(context.input_of_rank(1, 1));
  MR_TRY(context.input_of_rank(2, 2));
  return infer_image_sizes(context, 1, "size", images.dim(0), images.dim(3));
}

OpDef glimpses(std::string name, std::string doc, bool is_always_of_middle) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature =
              "input: float, size: int32, offsets: float -> glimpse: float | "
              "centered: bool = true, normalized: bool = true, "
              "uniform_noise: bool = true, noise: string = 'uniform'",
          .infer = infer_glimpses,
          .cpu = kernel_from<GlimpseKernel>(BoundGlimpse{is_always_of_middle}, BoundNoise()),
          .not_differentiable = "windows are placed by whole pixels",
          .foldable = false,
          .examples = {"[[[[1] [2]] [[3] [4]]]], [1 1], [[0.9 0.9]] -> [[[[4]]]]"}};
}

}  // namespace

Status register_glimpses(OpRegistry& ops) {
  MR_TRY(ops.add(glimpses(
      "ExtractGlimpse",
      "A window of each image, [batch, size[0], size[1], channels], around its offset (y, x); "
      "noise where it reaches over the border.",
      true)));
  return ops.add(glimpses(
      "ExtractGlimpseV2",
      "A window of each image, [batch, size[0], size[1], channels]: around its offset (y, x) if "
      "that is centered and normalized, else from there on; noise where it reaches over the "
      "border.",
      false));
}

}  // namespace millrace
