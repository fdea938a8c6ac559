// What summaries hold, byte by byte where TensorFlow's encoder decides, and what they refuse.
#include <cfloat>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "millrace/format/wire_format.h"
#include "millrace/ops/summary/families.h"
#include "millrace/ops/summary/histogram.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Summaries {
  OpRegistry ops;
  Summaries() { REQUIRE(register_summary(ops).ok()); }
  std::string run(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    auto outputs = run_op(ops, op, std::move(inputs), std::move(attrs));
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
    return (*outputs)[0].item<std::string>();
  }
  std::string error(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    const auto outputs = run_op(ops, op, std::move(inputs), std::move(attrs));
    CHECK(outputs.status().code() == Code::invalid_argument);
    return outputs.status().message();
  }
};

// With the zeros inside.
template <size_t N>
std::string raw(const char (&text)[N]) {
  return {text, N - 1};
}

Tensor text(std::string value) { return Tensor::scalar(std::move(value)); }

// The contents of all fields of a message with this number, in order.
std::vector<std::string> parts(std::string_view message, uint32_t number) {
  std::vector<std::string> found;
  wire::Reader reader(message);
  for (wire::Field field; reader.next(&field);) {
    if (field.number == number) found.emplace_back(field.bytes);
  }
  CHECK(reader.ok());
  return found;
}

std::string only(const std::vector<std::string>& found) {
  REQUIRE(found.size() == 1);
  return found[0];
}

double as_double(std::string_view bytes) {
  double value;
  REQUIRE(bytes.size() >= sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

TEST_CASE("a number and its tag have the bytes that TensorFlow writes") {
  Summaries f;
  CHECK(f.run("ScalarSummary", {text("x"), Tensor::scalar(1.F)}) ==
        raw("\x0a\x08\x0a\x01x\x15\x00\x00\x80\x3f"));
  // A zero is written: it is one of several things that the value may be.
  CHECK(f.run("ScalarSummary", {text("x"), Tensor::scalar<int64_t>(0)}) ==
        raw("\x0a\x08\x0a\x01x\x15\x00\x00\x00\x00"));
}

TEST_CASE("several numbers have several tags") {
  Summaries f;
  const std::string message = f.run(
      "ScalarSummary", {Tensor::vector<std::string>({"a", "b"}), Tensor::vector<float>({1, 2})});
  CHECK(parts(message, 1).size() == 2);
  CHECK(f.error("ScalarSummary", {text("a"), Tensor::vector<float>({1, 2})}) ==
        "tags and values are not the same shape: [] != [2] (tag 'a')");
}

TEST_CASE("a histogram counts values between limits that grow by a tenth") {
  Summaries f;
  const std::string value =
      only(parts(f.run("HistogramSummary", {text("h"), Tensor::vector<float>({0, 0, 1, -1})}), 1));
  const std::string histogram = only(parts(value, 5));
  const std::string limits = only(parts(histogram, 6)), counts = only(parts(histogram, 7));
  CHECK(limits.size() == counts.size());
  std::vector<double> numbers;
  for (size_t at = 0; at < counts.size(); at += 8) {
    if (const double count = as_double(std::string_view(counts).substr(at)); count > 0) {
      numbers.push_back(as_double(std::string_view(limits).substr(at)));
      numbers.push_back(count);
    }
  }
  REQUIRE(numbers.size() == 6);
  // -1 lies below the limit above it, 0 below the smallest positive one.
  CHECK(numbers[0] == doctest::Approx(-0.9172464));
  CHECK(numbers[1] == 1);
  CHECK(numbers[2] == 1e-12);
  CHECK(numbers[3] == 2);
  CHECK(numbers[4] == doctest::Approx(1.0089710));
  CHECK(numbers[5] == 1);
}

TEST_CASE("an empty histogram has one empty bucket, and extremes that no value has") {
  std::string message;
  summary::Histogram().put(&message, 1);
  const std::string histogram = only(parts(message, 1));
  CHECK(as_double(only(parts(histogram, 6))) == DBL_MAX);
  CHECK(as_double(only(parts(histogram, 7))) == 0);
}

TEST_CASE("the largest number of all has a bucket") {
  summary::Histogram histogram;
  histogram.add(DBL_MAX);
  histogram.add(-DBL_MAX);
  std::string message;
  histogram.put(&message, 1);
  const std::string counts = only(parts(only(parts(message, 1)), 7));
  CHECK(as_double(std::string_view(counts).substr(counts.size() - 8)) == 1);
}

TEST_CASE("a histogram of what is no number is refused with the node's name") {
  Summaries f;
  CHECK(f.error("HistogramSummary", {text("h"), Tensor::vector<float>({1, NAN})}) ==
        "Nan in summary histogram for: node");
  CHECK(f.error("HistogramSummary", {text("h"), Tensor::vector<float>({kInfinity})}) ==
        "Infinity in summary histogram for: node");
}

TEST_CASE("summaries are merged if their tags differ") {
  Summaries f;
  const std::string a = f.run("ScalarSummary", {text("a"), Tensor::scalar(1.F)});
  const std::string b = f.run("ScalarSummary", {text("b"), Tensor::scalar(2.F)});
  CHECK(f.run("MergeSummary", {text(a), Tensor::vector<std::string>({b, ""})}) == a + b);
  CHECK(f.error("MergeSummary", {text(a), text(b), text(a)}) ==
        "Duplicate tag a found in summary inputs");
  CHECK(f.error("MergeSummary", {text("\x0a\x7f")}) == "Could not parse one of the summary inputs");
  CHECK(f.error("MergeSummary", {text(std::string("\x0a\x02\x0a\x7f"))}) ==
        "Could not parse one of the summary inputs");
}

// The picture of a 1 x n image, decoded far enough: PNG's signature and size.
void check_is_png(std::string_view png, uint8_t width, uint8_t height) {
  REQUIRE(png.size() > 24);
  CHECK(png.substr(1, 3) == "PNG");
  CHECK(static_cast<uint8_t>(png[19]) == width);
  CHECK(static_cast<uint8_t>(png[23]) == height);
}

TEST_CASE("each picture of a batch becomes a PNG, up to a number of them") {
  Summaries f;
  const Tensor batch = Tensor::of<float>(Shape{3, 1, 2, 1}, {0, 1, 2, 3, -1, 5});
  const auto values =
      parts(f.run("ImageSummary", {text("t"), batch}, {{"max_images", int64_t{2}}}), 1);
  REQUIRE(values.size() == 2);
  CHECK(only(parts(values[0], 1)) == "t/image/0");
  CHECK(only(parts(values[1], 1)) == "t/image/1");
  check_is_png(only(parts(only(parts(values[0], 4)), 4)), 2, 1);
  const auto single =
      parts(f.run("ImageSummary", {text("t"), batch}, {{"max_images", int64_t{1}}}), 1);
  CHECK(only(parts(only(single), 1)) == "t/image");
}

TEST_CASE("what is no picture is refused") {
  Summaries f;
  CHECK(f.error("ImageSummary", {text("t"), Tensor::scalar(1.F)}) ==
        "Tensor must be 4-D with last dim 1, 3, or 4, not []");
  CHECK(f.error("ImageSummary", {text("t"), Tensor::of<float>(Shape{1, 1, 1, 2}, {1, 2})}) ==
        "Tensor must be 4-D with last dim 1, 3, or 4, not [1,1,1,2]");
  CHECK(f.error("ImageSummary", {text("t"), Tensor::of<float>(Shape{1, 0, 1, 1}, {})}) ==
        "PNG encoding failed: Invalid IHDR data");
  const Tensor image = Tensor::of<float>(Shape{1, 1, 1, 3}, {1, 2, 3});
  CHECK(
      f.error("ImageSummary", {text("t"), image}, {{"bad_color", Tensor::vector<uint8_t>({1})}}) ==
      "expected depth <= bad_color.size, got depth = 3, bad_color.size = 1");
}

TEST_CASE("a sound is a WAV of 16 bits whose samples are cut off at the ends") {
  Summaries f;
  const Tensor sound = Tensor::of<float>(Shape{1, 4}, {0.5F, -2, 2, NAN});
  const std::string value =
      only(parts(f.run("AudioSummaryV2", {text("t"), sound, Tensor::scalar(8000.F)},
                       {{"max_outputs", int64_t{1}}}),
                 1));
  CHECK(only(parts(value, 1)) == "t/audio");
  const std::string audio = only(parts(value, 6));
  CHECK(only(parts(audio, 5)) == "audio/wav");
  CHECK(only(parts(audio, 4)) ==
        raw("RIFF\x2c\x00\x00\x00WAVEfmt "
            "\x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00"
            "\x02\x00\x10\x00"
            "data\x08\x00\x00\x00\x00\x40\x00\x80\xff\x7f\x00\x00"));
  CHECK(f.error("AudioSummaryV2", {text("t"), sound, Tensor::scalar(-1.F)}) ==
        "sample_rate must be in (0, 2^32), got: -1");
  const Tensor two = Tensor::vector<float>({1, 2});
  CHECK(f.error("AudioSummaryV2", {text("t"), sound, two}) ==
        "sample_rate must be a scalar, got shape [2]");
  CHECK(f.run("AudioSummaryV2", {text("t"), sound, Tensor::vector<float>({8000})}) ==
        f.run("AudioSummaryV2", {text("t"), sound, Tensor::scalar(8000.F)}));
  CHECK(f.error("AudioSummaryV2", {text("t"), Tensor::scalar(1.F), Tensor::scalar(1.F)}) ==
        "Tensor must be 3-D or 2-D, got: []");
}

TEST_CASE("a tensor is kept as it is, with what says how to show it") {
  Summaries f;
  const std::string numbers = only(parts(
      f.run("TensorSummaryV2", {text("t"), Tensor::vector<int32_t>({7}), text(raw("\x0a\x00"))}),
      1));
  CHECK(only(parts(numbers, 8)) == raw("\x08\x03\x12\x04\x12\x02\x08\x01\x22\x04\x07\x00\x00\x00"));
  CHECK(only(parts(numbers, 9)) == raw("\x0a\x00"));
  const std::string strings = only(parts(f.run("TensorSummary", {text("a")}), 1));
  CHECK(only(parts(strings, 7)) == "node");
  CHECK(only(parts(strings, 8)) == raw("\x08\x07\x12\x00\x42\x01"
                                       "a"));
}

}  // namespace
}  // namespace millrace
