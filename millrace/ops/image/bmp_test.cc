#include "millrace/ops/image/bmp.h"

#include <string>

#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& codec_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_codecs(*made).ok());
    return made;
  }();
  return *kOps;
}

std::string little(uint64_t value, int bytes) {
  std::string made;
  for (int i = 0; i < bytes; ++i) made += static_cast<char>(value >> 8 * i);
  return made;
}

struct Bmp {
  int32_t width = 2, height = 2;
  uint32_t bits = 24, packing = 0, pixels_at = 54;
  std::string pixels = {};

  std::string bytes() const {
    return "BM" + little(0, 8) + little(pixels_at, 4) + little(40, 4) +
           little(static_cast<uint32_t>(width), 4) + little(static_cast<uint32_t>(height), 4) +
           little(1, 2) + little(bits, 2) + little(packing, 4) + std::string(20, '\0') + pixels;
  }
};

Result<Tensor> decoded(const Bmp& bmp, std::string_view op = "DecodeBmp", Attrs attrs = {}) {
  MR_ASSIGN(auto outputs, run_op(codec_ops(), op, {Tensor::scalar(bmp.bytes())}, std::move(attrs)));
  return outputs[0];
}

// Rows of two pixels of three bytes are padded to eight.
const Bmp kColors = {.pixels = std::string("\1\2\3\4\5\6__\7\x8\x9\xa\xb\xc__", 16)};

TEST_CASE("a BMP is blue first and its last row first, and comes as other images do") {
  const Tensor expected = Tensor::of<uint8_t>({2, 2, 3}, {9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4});
  CHECK(decoded(kColors).value() == expected);
  CHECK(decoded(kColors, "DecodeImage").value() == expected);
  Bmp top_first = kColors;
  top_first.height = -2;
  CHECK(decoded(top_first).value() ==
        Tensor::of<uint8_t>({2, 2, 3}, {3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10}));
}

TEST_CASE("gray has one channel, alpha is the fourth, and both go into as many as are asked for") {
  const Bmp gray = {.width = 1, .height = 2, .bits = 8, .pixels = "\1___\2___"};
  CHECK(decoded(gray).value() == Tensor::of<uint8_t>({2, 1, 1}, {2, 1}));
  CHECK(decoded(gray, "DecodeBmp", {{"channels", AttrValue(4)}}).value() ==
        Tensor::of<uint8_t>({2, 1, 4}, {2, 2, 2, 255, 1, 1, 1, 255}));
  CHECK(decoded({.width = 1, .height = 1, .bits = 32, .pixels = "\1\2\3\4"}, "DecodeBmp",
                {{"channels", AttrValue(3)}})
            .value() == Tensor::of<uint8_t>({1, 1, 3}, {3, 2, 1}));
  CHECK(
      decoded({.width = 1, .height = 1, .bits = 32, .packing = 3, .pixels = "\1\2\3\4"}).value() ==
      Tensor::of<uint8_t>({1, 1, 4}, {3, 2, 1, 4}));
}

TEST_CASE("a BMP that is cut off, or says what can't be, is refused in words") {
  const auto says = [](const Bmp& bmp, std::string_view words, Attrs attrs = {}) {
    const Status status = decoded(bmp, "DecodeBmp", std::move(attrs)).status();
    CAPTURE(status.message());
    CHECK(status.code() == Code::invalid_argument);
    CHECK(status.message().find(words) != std::string::npos);
  };
  Bmp cut = kColors;
  cut.pixels.resize(13);
  says(cut, "Incomplete bmp content: 13 bytes of pixels are not 2 rows of 8 bytes");
  Bmp longer = kColors;
  longer.pixels += "_";
  says(longer, "17 bytes of pixels are not 2 rows of 8 bytes");
  says({.width = 1 << 30, .height = 1 << 30}, "Incomplete bmp content");
  says({.width = 2147483647, .height = INT32_MIN, .bits = 32}, "Incomplete bmp content");
  says({.pixels_at = 0xffffffff}, "Incomplete bmp content: 0 bytes");
  says({.width = 0}, "a positive width and a height, not 0 x 2");
  says({.width = -1}, "not -1 x 2");
  says({.height = 0}, "not 2 x 0");
  says({.bits = 4}, "must be 1, 3 or 4, was 0: it has 4 bits a pixel");
  says({.bits = 8, .packing = 1}, "the BMP is packed (1)");
  says(kColors, "must be 0, 3 or 4 for BMP, but got 1", {{"channels", AttrValue(1)}});
  const Status brief =
      run_op(codec_ops(), "DecodeBmp", {Tensor::scalar(std::string("BM1"))}).status();
  CHECK(brief.message().find("requires at least 34 bytes") != std::string::npos);
  CHECK(run_op(codec_ops(), "DecodeBmp", {Tensor::scalar(std::string("GIF8"))}).status().code() ==
        Code::invalid_argument);
  CHECK(decoded(kColors, "DecodeJpeg").status().message().find("Use `decode_bmp`") !=
        std::string::npos);
}

}  // namespace
}  // namespace millrace
