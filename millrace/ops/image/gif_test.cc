// GIFs, written here byte by byte: which pixels frames give, and what becomes of damaged ones.
#include "millrace/ops/image/gif.h"

#include <string>
#include <vector>

#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& gif_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_codecs(*made).ok());
    return made;
  }();
  return *kOps;
}

std::string two_bytes(int value) {
  return {static_cast<char>(value & 0xff), static_cast<char>(value >> 8)};
}

// Places of colours as codes of three bits: the table is forgotten before a fourth is needed.
std::string packed(const std::string& places) {
  std::string made;
  unsigned bits = 0;
  int count = 0;
  const auto put = [&](unsigned code) {
    bits |= code << count;
    for (count += 3; count >= 8; count -= 8, bits >>= 8) made.push_back(static_cast<char>(bits));
  };
  for (size_t i = 0; i < places.size(); ++i) {
    if (i % 2 == 0) put(4);
    put(static_cast<unsigned char>(places[i]));
  }
  put(5);
  made.push_back(static_cast<char>(bits));
  return std::string("\2") + static_cast<char>(made.size()) + made + std::string(1, '\0');
}

struct Frame {
  int left = 0, top = 0, width = 2, height = 2;
  std::string places;
  int transparent = -1;
  bool is_interlaced = false;
};

std::string bytes_of(const Frame& frame) {
  std::string made;
  if (frame.transparent >= 0) {
    made += std::string("\x21\xf9\4\1\0\0", 6);
    made.push_back(static_cast<char>(frame.transparent));
    made.push_back('\0');
  }
  made += ",";
  for (const int number : {frame.left, frame.top, frame.width, frame.height})
    made += two_bytes(number);
  made.push_back(frame.is_interlaced ? '\x40' : '\0');
  return made += packed(frame.places);
}

// Place 0 is black, 1 to 3 are (1, 0, 0), (2, 0, 0) and (3, 0, 0).
std::string gif_of(const std::vector<Frame>& frames) {
  std::string made = "GIF89a" + two_bytes(9) + two_bytes(9);
  made += std::string("\x81\0\0\0\0\0\1\0\0\2\0\0\3\0\0", 15);
  for (const Frame& frame : frames) made += bytes_of(frame);
  return made + ";";
}

std::string places(std::initializer_list<int> all) {
  std::string made;
  for (const int place : all) made.push_back(static_cast<char>(place));
  return made;
}

Result<Tensor> image_of(std::string bytes, std::string_view op = "DecodeGif", Attrs attrs = {}) {
  MR_ASSIGN(auto outputs,
            run_op(gif_ops(), op, {Tensor::scalar(std::move(bytes))}, std::move(attrs)));
  return outputs[0];
}

// Red of all pixels, which is the place of each colour.
template <class T = uint8_t>
std::vector<int> reds(const Tensor& image) {
  std::vector<int> all;
  const auto values = image.flat<T>();
  for (size_t i = 0; i < values.size(); i += 3) all.push_back(values[i]);
  return all;
}

std::string refusal_of(std::string bytes, std::string_view op = "DecodeGif", Attrs attrs = {}) {
  const auto made = image_of(std::move(bytes), op, std::move(attrs));
  if (made.ok()) return "";
  CHECK(made.status().code() == Code::invalid_argument);
  return made.status().message();
}

const Frame kFirst = {.places = places({0, 1, 2, 3})};

TEST_CASE("frames are drawn over each other on a canvas that the largest of them need") {
  const Frame small = {.left = 1, .top = 1, .width = 1, .height = 1, .places = places({1})};
  const Tensor two = image_of(gif_of({kFirst, small})).value();
  CHECK(two.shape() == Shape{2, 2, 2, 3});
  CHECK(reds(two) == std::vector<int>{0, 1, 2, 3, 0, 1, 2, 1});
  const Frame outside = {
      .left = 1, .top = 0, .width = 2, .height = 3, .places = places({1, 1, 1, 1, 1, 1})};
  const Tensor grown = image_of(gif_of({kFirst, outside})).value();
  CHECK(grown.shape() == Shape{2, 3, 2, 3});
  CHECK(reds(grown) == std::vector<int>{0, 1, 2, 3, 0, 0, 0, 1, 2, 1, 0, 1});
}

TEST_CASE("what is transparent shows the frame before, and black if there is none") {
  Frame first = kFirst, second = {.places = places({3, 3, 1, 1}), .transparent = 3};
  first.transparent = 3;
  CHECK(reds(image_of(gif_of({first, second})).value()) ==
        std::vector<int>{0, 1, 2, 0, 0, 1, 1, 1});
}

TEST_CASE("interlaced rows are put in order") {
  const Frame frame = {
      .width = 1, .height = 6, .places = places({0, 1, 2, 3, 1, 2}), .is_interlaced = true};
  CHECK(reds(image_of(gif_of({frame})).value()) == std::vector<int>{0, 3, 2, 1, 1, 2});
}

TEST_CASE("other decoders take the first frame, or the only one, and wide colours") {
  const std::string one = gif_of({kFirst}), two = gif_of({kFirst, kFirst});
  CHECK(image_of(one, "DecodePng").value().shape() == Shape{2, 2, 3});
  CHECK(image_of(two, "DecodeImage").value().shape() == Shape{2, 2, 2, 3});
  CHECK(image_of(two, "DecodeImage", {{"expand_animations", AttrValue(false)}}).value() ==
        image_of(one, "DecodeJpeg").value());
  CHECK(reds<uint16_t>(image_of(one, "DecodePng", {{"dtype", AttrValue(DType::u16)}}).value()) ==
        std::vector<int>{0, 256, 512, 768});
  CHECK(refusal_of(two, "DecodePng") ==
        "Got 2 frames, but animated gifs can only be decoded by tf.io.decode_gif or "
        "tf.io.decode_image");
  CHECK(refusal_of(one, "DecodePng", {{"channels", AttrValue(4)}}) ==
        "channels must be 0 or 3 for GIF, got 4");
  const auto png = run_op(gif_ops(), "EncodePng", {Tensor::of<uint8_t>({1, 1, 1}, {7})}).value();
  CHECK(image_of(png[0].item<std::string>()).value() ==
        Tensor::of<uint8_t>({1, 1, 1, 3}, {7, 7, 7}));
}

TEST_CASE("a damaged GIF has the frames before the damage, and one without any is refused") {
  const std::string one = gif_of({kFirst}), two = gif_of({kFirst, kFirst});
  for (size_t size = 0; size < two.size(); ++size) {
    CAPTURE(size);
    const auto made = image_of(two.substr(0, size));
    // The last byte only says that this is the end.
    if (size < one.size() - 1) {
      CHECK_FALSE(made.ok());
    } else {
      CHECK(made.value().shape() == Shape{size == two.size() - 1 ? 2 : 1, 2, 2, 3});
    }
  }
  CHECK(refusal_of(gif_of({})) ==
        "Invalid GIF data (size 26), failed to slurp gif file: No Image Descriptor detected");
  CHECK(refusal_of("GIF89a").find("failed to open gif file") != std::string::npos);
  CHECK(image_of(gif_of({kFirst, {.width = 0, .places = ""}})).value().shape().dim(0) == 1);
  std::string mapless = one;
  mapless[10] = 1;
  mapless.erase(13, 12);
  CHECK(refusal_of(mapless).find("missing color map for frame 0") != std::string::npos);
  std::string few_colors = one;
  few_colors[10] = '\x80';
  few_colors.erase(13 + 6, 6);
  CHECK(refusal_of(few_colors).find("found color index 2 outside of color map range 2") !=
        std::string::npos);
}

TEST_CASE("a few bytes do not get gigabytes by asking") {
  const Frame huge = {.width = 65535, .height = 65535, .places = places({1, 1})};
  CHECK(refusal_of(gif_of({huge})).find("a frame of 65535 x 65535 pixels in ") !=
        std::string::npos);
}

}  // namespace
}  // namespace millrace
