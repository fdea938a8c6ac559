// Generators whose state is a variable, and stateless samples: TensorFlow's numbers and its errors.
#include <doctest/doctest.h>

#include "millrace/ops/random/families.h"
#include "millrace/ops/state/variable.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

class Generator {
 public:
  explicit Generator(Tensor state = Tensor::vector<int64_t>({5, 7, 9}))
      : bench_((REQUIRE(register_random(ops_).ok()), ops_)),
        variable_(std::make_shared<StoredVariable>("g", state.dtype(), PartialShape())) {
    MutexLock lock(variable_->mutex());
    *variable_->tensor() = std::move(state);
    REQUIRE(bench_.resources().add<StoredVariable>("", "g", variable_).ok());
    ResourceHandle handle;
    handle.container = bench_.resources().default_container();
    handle.name = "g";
    handle.type_name = StoredVariable::kTypeName;
    handle_ = Tensor::scalar(handle);
  }

  Result<Tensor> draw(std::string_view op, DType dtype, std::vector<Tensor> more = {},
                      int64_t algorithm = 1, int64_t count = 3) {
    std::vector<Value> inputs{handle_, Tensor::scalar(algorithm), Tensor::vector<int64_t>({count})};
    inputs.insert(inputs.end(), more.begin(), more.end());
    Attrs attrs{{"dtype", dtype}, {"shape_dtype", DType::i64}};
    if (!more.empty() && more[0].dtype() == DType::f32) attrs.set("T", DType::f32);
    MR_ASSIGN(auto drawn, bench_.run(op, std::move(inputs), {.attrs = std::move(attrs)}));
    return drawn[0].tensor;
  }
  Result<std::vector<Value>> run(std::string_view op, std::vector<Tensor> more) {
    std::vector<Value> inputs{handle_};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return bench_.run(op, std::move(inputs));
  }
  Tensor state() { return variable_->read(); }

 private:
  OpRegistry ops_;
  Bench bench_;
  std::shared_ptr<StoredVariable> variable_;
  Tensor handle_;
};

Tensor state(int64_t first) { return Tensor::vector<int64_t>({first, 7, 9}); }

void near(const Tensor& drawn, std::initializer_list<float> expected) {
  auto at = drawn.flat<float>().begin();
  for (const float x : expected) CHECK(*at++ == doctest::Approx(x).epsilon(1e-6));
}

// Taken from TensorFlow 2.21.
TEST_CASE("a generator's state gives TensorFlow's numbers, and moves on by 256 blocks for each") {
  Generator u, n, t, i, f;
  near(u.draw("StatefulUniform", DType::f32).value(), {0.16008341f, 0.44395685f, 0.57843053f});
  CHECK(u.state() == state(773));
  near(n.draw("StatefulStandardNormalV2", DType::f32).value(),
       {0.6601987f, -1.7967354f, -0.9751532f});
  near(t.draw("StatefulTruncatedNormal", DType::f32, {}, 3).value(),
       {0.6601987f, -1.7967354f, -0.9751532f});
  const Tensor low = Tensor::scalar<int64_t>(0), high = Tensor::scalar<int64_t>(100);
  CHECK(i.draw("StatefulUniformInt", DType::i64, {low, high}).value() ==
        Tensor::vector<int64_t>({57, 23, 95}));
  CHECK(f.draw("StatefulUniformFullInt", DType::u64).value() ==
        Tensor::vector<uint64_t>(
            {12914304567718739357u, 17823119651950430723u, 16032687935575624295u}));
  CHECK(f.state() == state(773));
}

TEST_CASE("binomial numbers are TensorFlow's, and move the state on by many") {
  Generator g;
  const Tensor p = Tensor::scalar(0.3f);
  CHECK(g.draw("StatefulRandomBinomial", DType::i64, {Tensor::scalar(10.f), p}).value() ==
        Tensor::vector<int64_t>({5, 3, 6}));
  CHECK(g.state() == state(5 + 256 * 300));
  CHECK(g.draw("StatefulRandomBinomial", DType::i64, {Tensor::scalar(10.f), p}, 3)
            .status()
            .message() == "Unsupported algorithm id: 3");
}

TEST_CASE("a state of old begins with the algorithm, and gives the same numbers") {
  Generator now(Tensor::vector<int64_t>({5, 7, 9})), old(Tensor::vector<int64_t>({1, 5, 7, 9}));
  const auto drawn = old.run("StatefulStandardNormal", {Tensor::vector<int64_t>({3})});
  REQUIRE_MESSAGE(drawn.ok(), drawn.status().to_string());
  CHECK((*drawn)[0].tensor == now.draw("StatefulStandardNormalV2", DType::f32).value());
  CHECK(old.state() == Tensor::vector<int64_t>({1, 773, 7, 9}));
}

TEST_CASE("skipping moves the state on, and drawing nothing does not") {
  Generator g;
  const Tensor one = Tensor::scalar<int64_t>(1);
  REQUIRE(g.run("RngSkip", {one, Tensor::scalar<int64_t>(3)}).ok());
  CHECK(g.state() == state(773));
  const auto read =
      g.run("RngReadAndSkip", {Tensor::scalar<int32_t>(1), Tensor::scalar<uint64_t>(3)});
  CHECK(read.value()[0].tensor == state(773));
  CHECK(g.state() == state(1541));
  REQUIRE(g.draw("StatefulUniform", DType::f32, {}, 1, 0).ok());
  CHECK(g.state() == state(1541));
}

TEST_CASE("what was read of a state does not change with it") {
  Generator g;
  const Tensor before = g.state();
  REQUIRE(g.draw("StatefulUniform", DType::f32).ok());
  CHECK(before == state(5));
}

TEST_CASE("algorithms and states that make no sense are refused in TensorFlow's words") {
  Generator g, small(Tensor::vector<int64_t>({1, 2})), flat(*Tensor::zeros(DType::i64, {1, 3}));
  CHECK(g.draw("StatefulUniform", DType::f32, {}, 2).status().message() ==
        "Non-XLA devices don't support the ThreeFry algorithm.");
  CHECK(g.draw("StatefulUniform", DType::f32, {}, 7).status().message() ==
        "Unsupported algorithm id: 7");
  CHECK(small.draw("StatefulUniform", DType::f32).status().message() ==
        "For the Philox algorithm, the size of state must be at least 3; got 2");
  CHECK(flat.draw("StatefulUniform", DType::f32).status().message() ==
        "RNG state must have one and only one dimension, not 2");
  const Tensor five = Tensor::scalar<int64_t>(5);
  CHECK(g.draw("StatefulUniformInt", DType::i64, {five, five}).status().message() ==
        "Need minval < maxval, got 5 >= 5");
  CHECK_FALSE(g.draw("StatefulUniform", DType::i32).ok());
  CHECK(g.state() == state(5));
}

TEST_CASE("integers without a seed are other ones each time") {
  OpRegistry ops;
  REQUIRE(register_random(ops).ok());
  const auto draw = [&] {
    return run_op(ops, "NonDeterministicInts", {Tensor::vector<int64_t>({4})},
                  {{"dtype", DType::i64}})
        .value()[0];
  };
  CHECK(draw().shape() == Shape{4});
  CHECK_FALSE(draw() == draw());
}

// Taken from TensorFlow 2.21.
TEST_CASE("stateless samples are TensorFlow's") {
  OpRegistry ops;
  REQUIRE(register_random(ops).ok());
  const Tensor seed = Tensor::vector<int32_t>({1, 2}), square = Tensor::vector<int32_t>({2, 2});
  const auto draw = [&](std::string_view op, std::vector<Tensor> more, DType dtype) {
    std::vector<Tensor> inputs{square, seed};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return run_op(ops, op, std::move(inputs), {{"dtype", dtype}}).value()[0];
  };
  near(draw("StatelessRandomGammaV2", {Tensor::vector<float>({3, 0.5f})}, DType::f32),
       {4.0681195f, 0.18136732f, 2.9890633f, 0.04758992f});
  CHECK(draw("StatelessRandomPoisson", {Tensor::vector<float>({3, 50})}, DType::i32) ==
        Tensor::of<int32_t>({2, 2}, {5, 60, 5, 58}));
  CHECK(draw("StatelessRandomBinomial",
             {Tensor::vector<float>({3, 500}), Tensor::vector<float>({0.3f, 0.4f})},
             DType::i64) == Tensor::of<int64_t>({2, 2}, {3, 216, 1, 213}));
}

TEST_CASE("parameters of samples that do not fit the shape are refused") {
  OpRegistry ops;
  REQUIRE(register_random(ops).ok());
  const Tensor seed = Tensor::vector<int32_t>({1, 2}), two = Tensor::vector<int32_t>({2});
  CHECK(run_op(ops, "StatelessRandomPoisson", {two, seed, Tensor::vector<float>({1, 2, 3})},
               {{"dtype", DType::i32}})
            .status()
            .message() == "Shape passed in must end with broadcasted shape.");
  CHECK(run_op(ops, "StatelessRandomBinomial",
               {two, seed, Tensor::vector<float>({1, 2, 3}), Tensor::vector<float>({1, 2})})
            .status()
            .message() == "counts and probs must have compatible batch dimensions: [3] vs. [2]");
  // More successes than the type can hold are as many as it can.
  CHECK(run_op(ops, "StatelessRandomBinomial",
               {two, seed, Tensor::scalar(1e30f), Tensor::scalar(1.f)}, {{"dtype", DType::i32}})
            .value()[0] == Tensor::vector<int32_t>({INT32_MAX, INT32_MAX}));
}

TEST_CASE("where nothing is drawn, neither the algorithm nor the parameters' shape is refused") {
  OpRegistry ops;
  REQUIRE(register_random(ops).ok());
  const Tensor none = Tensor::vector<int32_t>({0}), seed = Tensor::vector<int32_t>({1, 2});
  const Tensor rates = Tensor::vector<float>({1, 2, 3}), threefry = Tensor::scalar<int32_t>(2);
  const Tensor key = Tensor::vector<uint64_t>({1}), counter = Tensor::vector<uint64_t>({2, 3});
  CHECK(run_op(ops, "StatelessRandomPoisson", {none, seed, rates}, {{"dtype", DType::i32}})
            .value()[0]
            .num_elements() == 0);
  CHECK(run_op(ops, "StatelessRandomGammaV3", {none, key, counter, threefry, rates})
            .value()[0]
            .num_elements() == 0);
  CHECK_FALSE(run_op(ops, "StatelessShuffle", {rates, key, counter, threefry}).ok());
}

TEST_CASE("indices beyond their range and odd rounds are refused") {
  OpRegistry ops;
  REQUIRE(register_random(ops).ok());
  const Tensor seed = Tensor::vector<int32_t>({1, 2, 3}), five = Tensor::scalar<int32_t>(5);
  const auto words = [&](int32_t index, const Tensor& key, int rounds) {
    return run_op(ops, "RandomIndexShuffle", {Tensor::scalar(index), key, five},
                  {{"rounds", rounds}})
        .status()
        .message();
  };
  CHECK(words(6, seed, 4) == "max_index must be >= index, but 5 < 6");
  CHECK(words(-1, seed, 4) == "index must be >= 0 but was -1");
  CHECK(words(1, seed, 3) == "rounds must be even and at least 4, not 3");
  CHECK(words(1, seed, 1 << 20) == "rounds must be at most 65536, not 1048576");
  CHECK(words(1, Tensor::vector<int32_t>({1, 2}), 4).find("Seed must be a vector of size [3]") ==
        0);
}

}  // namespace
}  // namespace millrace
