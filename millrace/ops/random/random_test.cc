#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "millrace/ops/loops/philox_blocks.h"
#include "millrace/ops/random/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

struct Fixture {
  OpRegistry ops;
  Fixture() { REQUIRE(register_random(ops).ok()); }
  Tensor draw(std::string_view op, Attrs attrs, int32_t count = 10000) {
    attrs.set("dtype", DType::f32);
    return (*run_op(ops, op, {Tensor::vector<int32_t>({count})}, std::move(attrs)))[0];
  }
};

TEST_CASE("equal seeds give equal numbers, other seeds and no seeds others") {
  Fixture f;
  const Attrs seeds = {{"seed", 1}, {"seed2", 2}};
  CHECK(f.draw("RandomUniform", seeds) == f.draw("RandomUniform", seeds));
  CHECK_FALSE(f.draw("RandomUniform", seeds) ==
              f.draw("RandomUniform", {{"seed", 2}, {"seed2", 1}}));
  CHECK_FALSE(f.draw("RandomUniform", {}) == f.draw("RandomUniform", {}));
}

TEST_CASE("without seeds the device's randomness decides, which a test may have decided") {
  Fixture f;
  const auto draw = [&](uint64_t seed, Attrs attrs) {
    SeededRandom random(seed);
    Bench bench(f.ops);
    bench.device().random = &random;
    attrs.set("dtype", DType::f32);
    auto drawn = bench.run("RandomUniform", {Tensor::vector<int32_t>({9})}, {.attrs = attrs});
    REQUIRE(drawn.ok());
    return (*drawn)[0].tensor;
  };
  CHECK(draw(1, {}) == draw(1, {}));
  CHECK_FALSE(draw(1, {}) == draw(2, {}));
  CHECK(draw(1, {{"seed", 7}}) == draw(2, {{"seed", 7}}));
}

TEST_CASE("a block is what the authors of Philox say it is") {
  const uint32_t ones = ~uint32_t{0};
  PhiloxBlocks zeros({0, 0}, {0, 0, 0, 0}), full({ones, ones}, {ones, ones, ones, ones});
  CHECK(zeros.next() == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(full.next() == PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

// Taken from TensorFlow 2.21.
TEST_CASE("same seeds give TensorFlow's numbers") {
  Fixture f;
  const Attrs seeds = {{"seed", 1}, {"seed2", 2}};
  const auto near = [](const Tensor& drawn, std::initializer_list<float> expected) {
    auto at = drawn.flat<float>().begin();
    for (const float x : expected) CHECK(*at++ == doctest::Approx(x).epsilon(1e-6));
  };
  near(f.draw("RandomUniform", seeds, 6),
       {0.40639675f, 0.8575996f, 0.05539584f, 0.08587229f, 0.4121536f, 0.03663087f});
  near(f.draw("TruncatedNormal", seeds, 6),
       {-1.0467793f, 0.8397046f, 1.2358364f, 0.3037427f, 0.38869092f, 1.2367047f});
  const auto shuffled =
      run_op(f.ops, "RandomShuffle", {Tensor::vector<int32_t>({0, 1, 2, 3, 4, 5})}, seeds);
  CHECK((*shuffled)[0] == Tensor::vector<int32_t>({5, 1, 4, 0, 3, 2}));
}

TEST_CASE("skipping is drawing and not looking, with a carry into the upper half") {
  PhiloxBlocks blocks({1, 2}, {0xffffffff, 0xffffffff, 0xffffffff, 4});
  PhiloxBlocks later = blocks.from(2);
  blocks.next();
  blocks.next();
  CHECK(blocks.counter() == PhiloxBlock{1, 0, 0, 5});
  CHECK(blocks.next() == later.next());
}

TEST_CASE(
    "many blocks drawn together are those drawn one by one, also where the lower half runs over") {
  for (const uint32_t low : {0u, ~uint32_t{0} - 20}) {
    PhiloxBlocks alone({1, 2}, {low, ~uint32_t{0}, 3, 4}), together = alone;
    std::vector<PhiloxBlock> many(75);
    together.next(many.data(), static_cast<int64_t>(many.size()));
    for (const PhiloxBlock& block : many) CHECK(block == alone.next());
    CHECK(together.counter() == alone.counter());
  }
}

TEST_CASE("each run of one stream is different") {
  PhiloxStream stream(PhiloxBlocks::of_seeds(7, 0));
  CHECK(stream.reserve(1).next() != stream.reserve(1).next());
}

TEST_CASE("the distributions are what their names say") {
  Fixture f;
  const Attrs seed = {{"seed", 3}};
  const auto moments = [](const Tensor& tensor) {
    double mean = 0, square = 0;
    for (const float x : tensor.flat<float>()) {
      mean += x;
      square += double{x} * x;
    }
    mean /= static_cast<double>(tensor.num_elements());
    return std::pair(mean, square / static_cast<double>(tensor.num_elements()) - mean * mean);
  };
  const Tensor uniform = f.draw("RandomUniform", seed);
  CHECK(moments(uniform).first == doctest::Approx(0.5).epsilon(0.02));
  CHECK(moments(uniform).second == doctest::Approx(1.0 / 12).epsilon(0.05));
  const auto in_unit = [](float x) { return x >= 0 && x < 1; };
  CHECK(std::all_of(uniform.flat<float>().begin(), uniform.flat<float>().end(), in_unit));

  const Tensor normal = f.draw("RandomStandardNormal", seed);
  CHECK(std::abs(moments(normal).first) < 0.05);
  CHECK(moments(normal).second == doctest::Approx(1).epsilon(0.05));

  const Tensor truncated = f.draw("TruncatedNormal", seed);
  const auto near = [](float x) { return std::abs(x) <= 2; };
  CHECK(std::all_of(truncated.flat<float>().begin(), truncated.flat<float>().end(), near));
}

TEST_CASE("narrow floats never round up to 1") {
  Fixture f;
  const auto made = run_op(f.ops, "RandomUniform", {Tensor::vector<int32_t>({10000})},
                           {{"dtype", DType::bf16}, {"seed", 1}});
  for (const BFloat16 x : (*made)[0].flat<BFloat16>()) REQUIRE(static_cast<float>(x) < 1);
}

TEST_CASE("integers reach both ends of the widest range and stay inside a narrow one") {
  Fixture f;
  const auto draw = [&](int64_t low, int64_t high) {
    return run_op(f.ops, "RandomUniformInt",
                  {Tensor::vector<int32_t>({1000}), Tensor::scalar(low), Tensor::scalar(high)},
                  {{"seed", 5}});
  };
  const auto wide = draw(INT64_MIN, INT64_MAX);
  const auto elements = (*wide)[0].flat<int64_t>();
  CHECK(*std::min_element(elements.begin(), elements.end()) < INT64_MIN / 2);
  CHECK(*std::max_element(elements.begin(), elements.end()) > INT64_MAX / 2);
  const auto narrow = draw(-1, 2);
  for (const int64_t x : (*narrow)[0].flat<int64_t>()) REQUIRE((x >= -1 && x < 2));
  CHECK(draw(3, 3).status().message() == "Need minval < maxval, got 3 >= 3");
}

TEST_CASE("of no integers, any range will do") {
  Fixture f;
  const auto drawn = run_op(
      f.ops, "RandomUniformInt",
      {Tensor::vector<int32_t>({2, 0}), Tensor::scalar<int64_t>(3), Tensor::scalar<int64_t>(3)},
      {{"seed", 5}});
  CHECK((*drawn)[0].shape() == Shape{2, 0});
}

TEST_CASE("a count that no number of the type can hold is looked for until the step ends") {
  Fixture f;
  Bench bench(f.ops);
  bench.cancellation().cancel(cancelled("enough"));
  const Status status =
      bench
          .run("RandomPoissonV2", {Tensor::vector<int32_t>({1}), Tensor::scalar(1e12)},
               {.attrs = {{"dtype", DType::i32}, {"seed", 5}}})
          .status();
  CHECK(status.code() == Code::cancelled);
}

TEST_CASE("a shuffle keeps every row and moves some") {
  Fixture f;
  std::vector<int32_t> rows(100);
  for (int i = 0; i < 100; ++i) rows[i] = i;
  const Tensor value = Tensor::vector<int32_t>(std::span<const int32_t>(rows));
  const auto shuffled = (*run_op(f.ops, "RandomShuffle", {value}, {{"seed", 9}}))[0];
  CHECK_FALSE(shuffled == value);
  std::vector<int32_t> sorted(shuffled.flat<int32_t>().begin(), shuffled.flat<int32_t>().end());
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == rows);
}

}  // namespace
}  // namespace millrace
