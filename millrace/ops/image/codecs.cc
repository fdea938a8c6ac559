// Part of families.h: register_codecs.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/bmp.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/image/gif.h"
#include "millrace/ops/image/jpeg.h"
#include "millrace/ops/image/png.h"

namespace millrace {
namespace {

Result<std::string_view> contents_of(const Tensor& contents) {
  if (!contents.shape().is_scalar())
    return invalid("contents must be scalar, got shape ", contents.shape().to_string());
  return std::string_view(contents.item<std::string>());
}

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }
bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }
bool is_gif(std::string_view bytes) { return bytes.starts_with("GIF8"); }
bool is_bmp(std::string_view bytes) { return bytes.starts_with("BM"); }

Status unknown_format(std::string_view bytes) {
  if (is_bmp(bytes)) {
    return invalid(
        "Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` "
        "instead.");
  }
  return invalid("Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
}

template <class T>
Result<Tensor> in_unit(const Tensor& whole) {
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, whole.shape()));
  constexpr float kScale = 1.0f / std::numeric_limits<T>::max();
  std::ranges::transform(whole.flat<T>(), made.mutable_flat<float>().begin(),
                         [](T value) { return static_cast<float>(value) * kScale; });
  return made;
}

// Of 8 bits, as `dtype`: floats are from 0 to 1, and uint16 has lower bits that are zero, as in
// TensorFlow.
Result<Tensor> widened(Tensor narrow, DType dtype) {
  if (dtype == DType::u8) return narrow;
  if (dtype == DType::f32) return in_unit<uint8_t>(narrow);
  MR_ASSIGN(Tensor wide, Tensor::allocate(DType::u16, narrow.shape()));
  std::ranges::transform(narrow.flat<uint8_t>(), wide.mutable_flat<uint16_t>().begin(),
                         [](uint8_t value) { return static_cast<uint16_t>(value << 8); });
  return wide;
}

// [frames, height, width, 3], or, unless all frames are wanted, [height, width, 3].
Result<Tensor> decode_frames(std::string_view bytes, int channels, GifFrames frames, DType dtype,
                             CancelProbe& probe) {
  if (channels != 0 && channels != 3)
    return invalid("channels must be 0 or 3 for GIF, got ", channels);
  MR_ASSIGN(Tensor images, decode_gif(bytes, frames, probe));
  if (frames != GifFrames::all) {
    const Shape& shape = images.shape();
    MR_ASSIGN(images, images.reshaped({shape.dim(1), shape.dim(2), shape.dim(3)}));
  }
  return widened(std::move(images), dtype);
}

Status check_channels(int64_t channels, bool is_jpeg_op) {
  const bool is_known = is_jpeg_op
                            ? channels == 0 || channels == 1 || channels == 3
                            : channels == 0 || channels == 1 || channels == 3 || channels == 4;
  if (is_known) return {};
  return invalid("channels must be 0, 1, ", is_jpeg_op ? "or 3" : "3, or 4", ", got ", channels);
}

// As in TensorFlow, an op that is named after one of the formats takes the others as well.
Result<Tensor> decode_any(std::string_view bytes, const JpegOptions& jpeg, GifFrames frames,
                          DType dtype, CancelProbe& probe) {
  if (is_gif(bytes)) return decode_frames(bytes, jpeg.channels, frames, dtype, probe);
  if (is_png(bytes)) {
    // Floats are made of as many bits as a PNG may have.
    const DType whole = dtype == DType::f32 ? DType::u16 : dtype;
    MR_ASSIGN(Tensor image, decode_png(bytes, jpeg.channels, whole, probe));
    if (whole == dtype) return image;
    return in_unit<uint16_t>(image);
  }
  if (!is_jpeg(bytes)) return unknown_format(bytes);
  MR_TRY(check_channels(jpeg.channels, true));
  MR_ASSIGN(Tensor image, decode_jpeg(bytes, jpeg, probe));
  return widened(std::move(image), dtype);
}

struct BoundJpeg {
  Result<JpegOptions> read(const KernelSpec& spec) const {
    JpegOptions options;
    MR_ASSIGN(const int64_t channels, spec.attrs.integer("channels"));
    MR_TRY(check_channels(channels, true));
    MR_ASSIGN(const int64_t ratio, spec.attrs.integer("ratio"));
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
      return invalid("ratio must be 1, 2, 4, or 8, got ", ratio);
    options.channels = static_cast<int>(channels);
    options.ratio = static_cast<int>(ratio);
    MR_ASSIGN(options.fancy_upscaling, spec.attrs.boolean("fancy_upscaling"));
    MR_ASSIGN(options.try_recover_truncated, spec.attrs.boolean("try_recover_truncated"));
    MR_ASSIGN(options.acceptable_fraction, spec.attrs.real("acceptable_fraction"));
    MR_ASSIGN(const std::string method, spec.attrs.string("dct_method"));
    if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE")
      return invalid("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
    options.fast_dct = method != "INTEGER_ACCURATE";
    return options;
  }
};

struct BoundChannels {
  Result<JpegOptions> read(const KernelSpec& spec) const {
    MR_ASSIGN(const int64_t channels, spec.attrs.integer("channels"));
    MR_TRY(check_channels(channels, false));
    JpegOptions options;
    options.channels = static_cast<int>(channels);
    return options;
  }
};

Result<Tensor> decode_only_bmp(KernelContext& context, const JpegOptions& options) {
  MR_ASSIGN(const std::string_view bytes, contents_of(context.input(0)));
  CancelProbe probe(context);
  return decode_bmp(bytes, options.channels, probe);
}

Result<Tensor> decode_image(KernelContext& context, const JpegOptions& options,
                            bool expand_animations) {
  MR_ASSIGN(const std::string_view bytes, contents_of(context.input(0)));
  CancelProbe probe(context);
  if (!is_bmp(bytes)) {
    return decode_any(bytes, options, expand_animations ? GifFrames::all : GifFrames::first,
                      context.output_dtype(0), probe);
  }
  MR_ASSIGN(Tensor image, decode_bmp(bytes, options.channels, probe));
  return widened(std::move(image), context.output_dtype(0));
}

Result<Tensor> decode(KernelContext& context, const JpegOptions& options) {
  MR_ASSIGN(const std::string_view bytes, contents_of(context.input(0)));
  CancelProbe probe(context);
  return decode_any(bytes, options, GifFrames::only, context.output_dtype(0), probe);
}

// Of what is no animation, one frame.
Result<Tensor> decode_animation(KernelContext& context) {
  MR_ASSIGN(const std::string_view bytes, contents_of(context.input(0)));
  CancelProbe probe(context);
  JpegOptions options;
  options.channels = 3;
  MR_ASSIGN(const Tensor images, decode_any(bytes, options, GifFrames::all, DType::u8, probe));
  const Shape& shape = images.shape();
  if (shape.rank() == 4) return images;
  return images.reshaped({1, shape.dim(0), shape.dim(1), shape.dim(2)});
}

Status infer_animation(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 0));
  context.set_output(0, PartialShape{kUnknownDim, kUnknownDim, kUnknownDim, 3});
  return {};
}

Status infer_decoded(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 0));
  MR_ASSIGN(const int64_t channels, context.attrs().integer("channels"));
  context.set_output(0,
                     PartialShape{kUnknownDim, kUnknownDim, channels > 0 ? channels : kUnknownDim});
  return {};
}

// A GIF may be among the images, which is more than one.
Status infer_decoded_image(InferContext& context) {
  MR_ASSIGN(const bool expand_animations, context.attrs().boolean("expand_animations"));
  if (!expand_animations) return infer_decoded(context);
  MR_TRY(context.input_of_rank(0, 0));
  context.set_output(0, PartialShape::unknown());
  return {};
}

Status extract_shape(KernelContext& context) {
  MR_ASSIGN(const std::string_view bytes, contents_of(context.input(0)));
  MR_ASSIGN(const JpegSize size, jpeg_size(bytes));
  if (context.output_dtype(0) == DType::i64) {
    context.set_output(0, Tensor::vector<int64_t>({size.height, size.width, size.channels}));
  } else {
    context.set_output(0, Tensor::vector<int32_t>({static_cast<int32_t>(size.height),
                                                   static_cast<int32_t>(size.width),
                                                   static_cast<int32_t>(size.channels)}));
  }
  return {};
}

// --- Encoding ---

Status check_image(const Tensor& image, int64_t most_channels, int64_t most_side) {
  const Shape& shape = image.shape();
  if (shape.rank() != 3) return invalid("Image must be 3-dimensional", shape.to_string());
  if (shape.dim(2) < 1 || shape.dim(2) > most_channels)
    return invalid("image must have 1 to ", most_channels, " channels, but has ", shape.dim(2));
  for (int axis = 0; axis < 2; ++axis) {
    if (shape.dim(axis) < 1 || shape.dim(axis) > most_side)
      return invalid("an image must have from 1 to ", most_side, " pixels a side, not ",
                     shape.to_string());
  }
  return {};
}

struct JpegNode {
  JpegWriting writing;
  int64_t channels = 0;  // which it must have; 0: 1 or 3
};

struct BoundWriting {
  Result<JpegNode> read(const KernelSpec& spec) const {
    JpegNode node;
    MR_ASSIGN(const std::string format, spec.attrs.string("format"));
    node.channels = format == "grayscale" ? 1 : format == "rgb" ? 3 : 0;
    MR_ASSIGN(const int64_t quality, spec.attrs.integer("quality"));
    if (quality < 0 || quality > 100) return invalid("quality must be in [0,100], got ", quality);
    node.writing.quality = static_cast<int>(quality);
    MR_ASSIGN(node.writing.progressive, spec.attrs.boolean("progressive"));
    MR_ASSIGN(node.writing.optimize_size, spec.attrs.boolean("optimize_size"));
    MR_ASSIGN(node.writing.chroma_downsampling, spec.attrs.boolean("chroma_downsampling"));
    MR_ASSIGN(const std::string unit, spec.attrs.string("density_unit"));
    MR_ASSIGN(const int64_t x, spec.attrs.integer("x_density"));
    MR_ASSIGN(const int64_t y, spec.attrs.integer("y_density"));
    MR_ASSIGN(node.writing.xmp_metadata, spec.attrs.string("xmp_metadata"));
    node.writing.density_unit = unit == "cm" ? 2 : 1;
    node.writing.x_density = static_cast<int>(x);
    node.writing.y_density = static_cast<int>(y);
    return node;
  }
};

Result<Tensor> write_jpeg(KernelContext& context, const JpegNode& node) {
  const Tensor& image = context.input(0);
  MR_TRY(check_image(image, 3, 65500));
  const int64_t channels = image.shape().dim(2);
  if (channels == 2 || (node.channels != 0 && channels != node.channels)) {
    return invalid("image must have ",
                   node.channels == 0 ? "1 or 3" : std::to_string(node.channels),
                   " channels, but has ", channels);
  }
  MR_ASSIGN(std::string bytes, encode_jpeg(image, node.writing));
  return Tensor::scalar(std::move(bytes));
}

Result<Tensor> write_png(KernelContext& context, int64_t compression) {
  if (compression < -1 || compression > 9)
    return invalid("compression should be in [-1,9], got ", compression);
  const Tensor& image = context.input(0);
  MR_TRY(check_image(image, 4, (int64_t{1} << 31) - 1));
  MR_ASSIGN(std::string bytes, encode_png(image, static_cast<int>(compression)));
  return Tensor::scalar(std::move(bytes));
}

Status infer_encoded(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 3));
  context.set_output(0, PartialShape::scalar());
  return {};
}

constexpr const char* kNoGradientOfBytes = "bytes have no gradient";
// The smallest PNG: one gray pixel, black.
const std::string kPixel(
    "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x8\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9c"
    "c`\0\0\0\2\0\1H\xaf\xa4q\0\0\0\0IEND\xae"
    "B`\x82",
    67);

// The smallest BMP: a header, and a row of one gray pixel.
const std::string kBmpPixel(
    "BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x8\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7\0\0\0",
    58);

// The smallest GIF: a map of two colours, and one pixel of the second.
const std::string kGifPixel("GIF87a\1\0\1\0\x80\0\0\0\0\0\1\2\3,\0\0\0\0\1\0\1\0\0\2\2\x4c\1\0;",
                            35);

OpDef decoder(std::string name, std::string doc, const std::string& output,
              const std::string& attrs, KernelFactory cpu) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = "contents: string -> image: " + output + " | channels: int = 0" + attrs,
          .infer = infer_decoded,
          .cpu = std::move(cpu),
          .not_differentiable = kNoGradientOfBytes,
          .cost = Cost::heavy,
          .examples = {"'" + kPixel + "' -> [[[0]]]"}};
}

}  // namespace

Status register_codecs(OpRegistry& ops) {
  MR_TRY(ops.add(decoder("DecodeJpeg", "The pixels of a JPEG (or PNG) image.", "uint8",
                         ", ratio: int = 1, fancy_upscaling: bool = true, "
                         "try_recover_truncated: bool = false, acceptable_fraction: float = 1, "
                         "dct_method: string = ''",
                         kernel_with(decode, BoundJpeg()))));
  MR_TRY(
      ops.add(decoder("DecodePng", "The pixels of a PNG (or JPEG) image.", "dtype",
                      ", dtype: {uint8, uint16} = uint8", kernel_with(decode, BoundChannels()))));
  OpDef any =
      decoder("DecodeImage",
              "The pixels of a JPEG, PNG, GIF or BMP image; of a GIF those of all frames, "
              "unless expand_animations is false.",
              "dtype", ", dtype: {uint8, uint16, float} = uint8, expand_animations: bool = true",
              kernel_with(decode_image, BoundChannels(), boolean("expand_animations")));
  any.infer = infer_decoded_image;
  OpDef bmp = decoder("DecodeBmp", "The pixels of a BMP image.", "uint8", "",
                      kernel_with(decode_only_bmp, BoundChannels()));
  bmp.examples = {"'" + kBmpPixel + "' -> [[[7]]]"};
  MR_TRY(ops.add(std::move(bmp)));
  MR_TRY(ops.add(std::move(any)));
  MR_TRY(ops.add({
      .name = "DecodeGif",
      .doc = "The frames of a GIF, each drawn over the one before; of a JPEG or PNG the one image.",
      .signature = "contents: string -> image: uint8",
      .infer = infer_animation,
      .cpu = kernel(decode_animation),
      .not_differentiable = kNoGradientOfBytes,
      .cost = Cost::heavy,
      .examples = {"'" + kGifPixel + "' -> [[[[1 2 3]]]]"},
  }));
  MR_TRY(ops.add({
      .name = "ExtractJpegShape",
      .doc = "Height, width and channels of a JPEG image, without decoding it.",
      .signature = "contents: string -> image_shape: output_type | "
                   "output_type: {int32, int64} = int32",
      .infer = [](InferContext& context) -> Status {
        MR_TRY(context.input_of_rank(0, 0));
        context.set_output(0, PartialShape{3});
        return {};
      },
      .cpu = kernel(std::function<Status(KernelContext&)>(extract_shape)),
      .not_differentiable = kNoGradientOfBytes,
      // Two marks and a frame of 3 x 2 pixels of one channel: a header, and no image behind it.
      .examples = {"'" +
                   std::string(
                       "\xff\xd8\xff\xc0\0\x0b\x08\0\3\0\2\1\1\x11\0\xff\xda\0\x08\1\1\0\0\x3f\0",
                       25) +
                   "' -> [3 2 1]"},
  }));
  MR_TRY(ops.add({
      .name = "EncodeJpeg",
      .doc = "A JPEG image of gray or coloured pixels.",
      .signature = "image: uint8 -> contents: string | format: {'', 'grayscale', 'rgb'} = '', "
                   "quality: int = 95, progressive: bool = false, optimize_size: bool = false, "
                   "chroma_downsampling: bool = true, density_unit: {'in', 'cm'} = 'in', "
                   "x_density: int = 300, y_density: int = 300, xmp_metadata: string = ''",
      .infer = infer_encoded,
      .cpu = kernel_with(write_jpeg, BoundWriting()),
      .not_differentiable = kNoGradientOfBytes,
      .cost = Cost::heavy,
      .examples = {"[[[1] [2]]]"},
  }));
  return ops.add({
      .name = "EncodePng",
      .doc = "A PNG image of gray or coloured pixels, with or without alpha.",
      .signature = "image: T -> contents: string | compression: int = -1, "
                   "T: {uint8, uint16} = uint8",
      .infer = infer_encoded,
      .cpu = kernel_with(write_png, integer("compression")),
      .not_differentiable = kNoGradientOfBytes,
      .cost = Cost::heavy,
      .examples = {"[[[1] [2]]]"},
  });
}

}  // namespace millrace
