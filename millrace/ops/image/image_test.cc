// Images: what is refused; values are in the ops' examples, and beside TensorFlow.
#include <cmath>

#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& image_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_image(*made).ok());
    return made;
  }();
  return *kOps;
}

std::string refused(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  return run_op(image_ops(), op, std::move(inputs), std::move(attrs)).status().message();
}
Tensor size(int32_t rows, int32_t columns) { return Tensor::vector<int32_t>({rows, columns}); }
Tensor images(const Shape& shape) { return *Tensor::zeros(DType::f32, shape); }

TEST_CASE("sizes and images that make no sense are refused by every way to resize") {
  for (const char* op :
       {"ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor"}) {
    CAPTURE(op);
    CHECK(refused(op, {images({1, 2, 2, 1}), size(0, 2)}) == "output dimensions must be positive");
    CHECK(refused(op, {images({1, 2, 2, 1}), Tensor::vector<int32_t>({1})})
              .starts_with("shape_t must have two elements"));
    CHECK(refused(op, {images({2, 2, 1}), size(2, 2)}).starts_with("input must be 4-dimensional"));
    CHECK(refused(op, {images({1, 0, 2, 1}), size(2, 2)}) ==
          "input image must be of non-zero size");
    const auto none = run_op(image_ops(), op, {images({0, 2, 2, 1}), size(3, 3)});
    REQUIRE_MESSAGE(none.ok(), none.status().to_string());
    CHECK((*none)[0].shape() == Shape{0, 3, 3, 1});
  }
}

TEST_CASE("corners are aligned, or pixels have middles, but not both") {
  CHECK(refused("ResizeBilinear", {images({1, 2, 2, 1}), size(2, 2)},
                {{"align_corners", AttrValue(true)}, {"half_pixel_centers", AttrValue(true)}}) ==
        "If half_pixel_centers is True, align_corners must be False.");
}

TEST_CASE("a size out of all bounds is no memory, not a crash") {
  const Code code = run_op(image_ops(), "ResizeNearestNeighbor",
                           {images({1, 1, 1, 1 << 20}), size(1 << 30, 1 << 30)})
                        .status()
                        .code();
  CHECK((code == Code::resource_exhausted || code == Code::invalid_argument));
}

TEST_CASE("gradients of other images than were resized are refused") {
  CHECK(refused("ResizeBilinearGrad", {images({2, 2, 2, 1}), images({1, 2, 2, 1})})
            .starts_with("gradient [2,2,2,1] is not that"));
  CHECK(refused("ResizeBilinearGrad", {images({1, 0, 2, 1}), images({1, 2, 2, 1})})
            .starts_with("images must be of non-zero size"));
}

TEST_CASE("colours are three, and contrast is of images") {
  CHECK(refused("RGBToHSV", {images({2, 2})}) ==
        "input must have 3 channels but instead has 2 channels.");
  CHECK(refused("RGBToHSV", {Tensor::scalar(1.f)}).starts_with("input must be at least 1-D"));
  CHECK(refused("AdjustHue", {images({1, 3}), Tensor::scalar(1.f)})
            .starts_with("input must be at least 3-D"));
  CHECK(refused("AdjustContrastv2", {images({2, 2}), Tensor::scalar(1.f)})
            .starts_with("input must be at least 3-D"));
}

// A picture without sharp edges, which a JPEG keeps nearly as it is.
Tensor picture(int64_t channels) {
  Tensor made = *Tensor::zeros(DType::u8, {16, 24, channels});
  uint8_t next = 0;
  for (uint8_t& value : made.mutable_flat<uint8_t>()) value = static_cast<uint8_t>(next++ / 4 + 60);
  return made;
}
Result<Tensor> one(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  MR_ASSIGN(auto outputs, run_op(image_ops(), op, std::move(inputs), std::move(attrs)));
  return outputs[0];
}

TEST_CASE("a PNG gives back what it was made of, with any channels and either depth") {
  for (int64_t channels = 1; channels <= 4; ++channels) {
    CAPTURE(channels);
    const Tensor image = picture(channels);
    const Tensor bytes = one("EncodePng", {image}).value();
    CHECK(one("DecodePng", {bytes}).value() == image);
    const auto gray = one("DecodePng", {bytes}, {{"channels", AttrValue(1)}}).value();
    CHECK(gray.shape() == Shape{16, 24, 1});
    const auto whole = one("DecodeImage", {bytes}, {{"channels", AttrValue(4)}}).value();
    CHECK(whole.shape() == Shape{16, 24, 4});
  }
  Tensor deep = *Tensor::zeros(DType::u16, {3, 5, 3});
  uint16_t next = 0;
  for (uint16_t& value : deep.mutable_flat<uint16_t>()) value = next += 1234;
  const Tensor bytes = one("EncodePng", {deep}).value();
  CHECK(one("DecodePng", {bytes}, {{"dtype", DType::u16}}).value() == deep);
  const Tensor flat = one("EncodePng", {picture(1)}).value();
  const Tensor wide = one("DecodePng", {flat}, {{"dtype", DType::u16}}).value();
  CHECK(wide.flat<uint16_t>()[0] == picture(1).flat<uint8_t>()[0] * 257);
}

TEST_CASE("a PNG that is cut off behind its pixels is refused") {
  const Tensor bytes = one("EncodePng", {picture(1)}).value();
  const std::string& whole = bytes.item<std::string>();
  CHECK(refused("DecodePng", {Tensor::scalar(whole.substr(0, whole.size() - 6))})
            .starts_with("Invalid PNG data"));
}

TEST_CASE("a JPEG has what it is told to tell, and is decoded to more bits and to floats") {
  const Tensor bytes =
      one("EncodeJpeg", {picture(1)}, {{"xmp_metadata", AttrValue(std::string("<x/>"))}}).value();
  CHECK(bytes.item<std::string>().find(std::string("xap/1.0/\0<x/>", 13)) != std::string::npos);
  const uint8_t narrow = one("DecodeImage", {bytes}).value().flat<uint8_t>()[5];
  const Tensor wide = one("DecodeImage", {bytes}, {{"dtype", DType::u16}}).value();
  CHECK(wide.flat<uint16_t>()[5] == narrow * 256);
  const Tensor part = one("DecodeImage", {bytes}, {{"dtype", DType::f32}}).value();
  CHECK(part.flat<float>()[5] == doctest::Approx(narrow / 255.0));
}

TEST_CASE("a JPEG gives back nearly what it was made of, gray, in colour or smaller") {
  for (const int64_t channels : {1, 3}) {
    CAPTURE(channels);
    const Tensor image = picture(channels);
    const Tensor bytes =
        one("EncodeJpeg", {image},
            {{"quality", AttrValue(100)}, {"chroma_downsampling", AttrValue(false)}})
            .value();
    const Tensor read = one("DecodeJpeg", {bytes}).value();
    REQUIRE(read.shape() == image.shape());
    int worst = 0;
    for (size_t i = 0; i < image.flat<uint8_t>().size(); ++i)
      worst = std::max(worst, std::abs(image.flat<uint8_t>()[i] - read.flat<uint8_t>()[i]));
    CHECK(worst < 16);
    CHECK(one("DecodeJpeg", {bytes}, {{"channels", AttrValue(1)}}).value().shape() ==
          Shape{16, 24, 1});
    CHECK(one("DecodeJpeg", {bytes}, {{"ratio", AttrValue(2)}}).value().shape() ==
          Shape{8, 12, channels});
    CHECK(one("ExtractJpegShape", {bytes}).value() ==
          Tensor::vector<int32_t>({16, 24, static_cast<int32_t>(channels)}));
  }
}

TEST_CASE(
    "images that are cut off or damaged anywhere are an error, or other pixels, never a crash") {
  for (const char* format : {"Jpeg", "Png"}) {
    CAPTURE(format);
    const std::string encode = std::string("Encode") + format;
    const std::string decode = std::string("Decode") + format;
    const std::string whole = one(encode, {picture(3)}).value().item<std::string>();
    for (size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(length);
      const bool is_read = one(decode, {Tensor::scalar(whole.substr(0, length))}).ok();
      // Behind the last pixel nothing is missed.
      if (length + 12 < whole.size()) CHECK_FALSE(is_read);
      std::string damaged = whole;
      damaged[length] = static_cast<char>(whole[length] ^ 0x55);
      (void)one(decode, {Tensor::scalar(damaged)});
    }
  }
}

TEST_CASE("a header that lies about the size of an image costs no memory") {
  // 30000 x 30000 pixels, gray, of 100 zeros.
  constexpr std::string_view kPng(
      "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x75\x30\0\0\x75\x30\x08\0\0\0\0\x43\x4c\xa7\x66"
      "\0\0\0\x0cIDAT\x78\x9c\x63\x60\xa0\x3d\0\0\0\x64\0\x01\x86\x64\x3c\x35",
      57);
  CHECK(
      refused("DecodePng", {Tensor::scalar(std::string(kPng))}) ==
      "Invalid PNG data, size 57: so few bytes can't hold 30000 x 30000 pixels; it is cut off, or "
      "damaged");
  // Of several scans, all of which would be in memory at once.
  std::string jpeg = one("EncodeJpeg", {picture(3)}, {{"progressive", AttrValue(true)}})
                         .value()
                         .item<std::string>();
  const size_t frame = jpeg.find("\xff\xc2");
  REQUIRE(frame != std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\x00\xff\x00", 4);
  CHECK(refused("DecodeJpeg", {Tensor::scalar(jpeg)}) ==
        "Image too large: 65280 x 65280 pixels of 3 channels; at most 2^29 bytes");
  CHECK(refused("DecodeJpeg", {Tensor::scalar(jpeg)}, {{"ratio", AttrValue(8)}}) ==
        "Image too large: 65280 x 65280 pixels of 3 components, in several scans; at most 2^30 "
        "values");
}

TEST_CASE("what is missing of an image may be left black, if so much is there") {
  const std::string whole = one("EncodeJpeg", {picture(3)}).value().item<std::string>();
  const Tensor part = Tensor::scalar(whole.substr(0, whole.size() - 40));
  CHECK_FALSE(one("DecodeJpeg", {part}).ok());
  const auto recovered =
      one("DecodeJpeg", {part},
          {{"try_recover_truncated", AttrValue(true)}, {"acceptable_fraction", AttrValue(0.0f)}});
  REQUIRE_MESSAGE(recovered.ok(), recovered.status().to_string());
  CHECK(recovered->shape() == Shape{16, 24, 3});
}

TEST_CASE("bytes of another kind, and images that no format has, are refused") {
  CHECK(refused("DecodeJpeg", {Tensor::scalar(std::string("no image"))})
            .starts_with("Unknown image file format."));
  CHECK(refused("DecodeJpeg", {Tensor::vector<std::string>({"a"})})
            .starts_with("contents must be scalar"));
  CHECK(refused("DecodeJpeg", {Tensor::scalar(std::string())}, {{"channels", AttrValue(2)}}) ==
        "channels must be 0, 1, or 3, got 2");
  CHECK(refused("EncodeJpeg", {picture(2)}) == "image must have 1 or 3 channels, but has 2");
  CHECK(refused("EncodePng", {picture(5)}) == "image must have 1 to 4 channels, but has 5");
  CHECK(refused("EncodePng", {*Tensor::zeros(DType::u8, {0, 2, 1})})
            .starts_with("an image must have from 1"));
}

TEST_CASE("boxes that are none, and images that are not there, are refused") {
  const Tensor boxes = images({2, 4}), scores = images({2});
  const Tensor three = Tensor::scalar<int32_t>(3), half = Tensor::scalar(0.5f);
  CHECK(refused("NonMaxSuppressionV2", {images({2, 3}), scores, three, half}) ==
        "boxes must have 4 columns");
  CHECK(refused("NonMaxSuppressionV2", {boxes, images({3}), three, half})
            .starts_with("scores has incompatible shape"));
  CHECK(refused("NonMaxSuppressionV2", {boxes, scores, three, Tensor::scalar(1.5f)}) ==
        "iou_threshold must be in [0, 1]");
  CHECK(refused("DrawBoundingBoxes", {images({1, 2, 2, 2}), images({1, 1, 4})})
            .starts_with("Channel depth should be"));
  CHECK(refused("DrawBoundingBoxes", {images({1, 2, 2, 3}), images({2, 1, 4})})
            .starts_with("The batch sizes should be the same"));
  const auto crop = [&](int32_t which, int32_t rows) {
    return refused("CropAndResize", {images({1, 2, 2, 1}), images({1, 4}),
                                     Tensor::vector<int32_t>({which}), size(rows, 2)});
  };
  CHECK(crop(1, 2).starts_with("box_index has values outside"));
  CHECK(crop(-1, 2).starts_with("box_index has values outside"));
  CHECK(crop(0, 0) == "crop dimensions must be positive");
}

TEST_CASE("boxes far outside of an image, or turned inside out, leave it as it is") {
  const Tensor image = images({1, 3, 3, 1});
  Tensor boxes = *Tensor::zeros(DType::f32, {1, 3, 4});
  const float corners[] = {1e30f, 0, -1e30f, 1, 2, 2, 3, 3, std::nanf(""), 0, std::nanf(""), 1};
  std::copy(std::begin(corners), std::end(corners), boxes.mutable_flat<float>().begin());
  CHECK(one("DrawBoundingBoxes", {image, boxes}).value() == image);
}

}  // namespace
}  // namespace millrace
