// Normal numbers between bounds: TensorFlow's for equal seeds, and what is refused.
#include <array>
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "millrace/ops/random/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& truncated_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_truncated_normals(*made).ok());
    return made;
  }();
  return *kOps;
}

template <class T>
Result<Tensor> drawn(std::initializer_list<int32_t> shape, std::array<T, 4> parameters) {
  MR_ASSIGN(auto made, run_op(truncated_ops(), "ParameterizedTruncatedNormal",
                              {Tensor::vector<int32_t>(shape), Tensor::scalar(parameters[0]),
                               Tensor::scalar(parameters[1]), Tensor::scalar(parameters[2]),
                               Tensor::scalar(parameters[3])},
                              {{"seed", 3}, {"seed2", 9}}));
  return made[0];
}

template <class T>
void check_begins(const Result<Tensor>& made, std::initializer_list<double> expected) {
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  size_t i = 0;
  for (const double x : expected)
    CHECK(static_cast<double>(made->flat<T>()[i++]) == doctest::Approx(x).epsilon(1e-6));
}

constexpr float kEndless = HUGE_VALF;

// Taken from TensorFlow 2.21.
TEST_CASE("same seeds give TensorFlow's numbers, whichever way they are drawn") {
  check_begins<float>(drawn<float>({7}, {0, 1, -2, 2}),
                      {0.3239149, 0.5614552, 1.0739447, -1.0764138});
  check_begins<double>(drawn<double>({7}, {0, 1, -2, 2}),
                       {-0.13526153, -1.19679014, 1.23912436, -0.32177883});
  check_begins<float>(drawn<float>({5}, {0, 1, 4, kEndless}),
                      {4.0495925, 4.2728972, 4.280254, 4.0219254, 4.0315413});
  check_begins<float>(drawn<float>({6}, {0, 0.1F, 0.05F, 0.1F}),
                      {0.09052612, 0.0541641, 0.06573694, 0.06875914, 0.09374653, 0.07453799});
  check_begins<float>(drawn<float>({250}, {1, 2, -kEndless, 0}),
                      {-0.32804537, -1.8051739, -1.8538351, -0.1450342});
}

TEST_CASE("rows have parameters of their own, or share them") {
  const auto rows =
      run_op(truncated_ops(), "ParameterizedTruncatedNormal",
             {Tensor::vector<int32_t>({2, 3}), Tensor::vector<float>({0, 8}), Tensor::scalar(1.F),
              Tensor::vector<float>({-1, 5}), Tensor::vector<float>({1, 6})},
             {{"seed", 3}, {"seed2", 9}});
  REQUIRE_MESSAGE(rows.ok(), rows.status().to_string());
  // TensorFlow's.
  const std::initializer_list<float> wanted = {0.62104464F, -0.833436F, -0.37052226F,
                                               5.9446564F,  5.822384F,  5.5497255F};
  size_t i = 0;
  for (const float x : wanted)
    CHECK((*rows)[0].flat<float>()[i++] == doctest::Approx(x).epsilon(1e-6));
}

TEST_CASE("no number lies outside of its bounds, however far they are") {
  const std::array<float, 4> kBounds[] = {{0, 1, -1, 1},    {0, 1, 3, 3.5F},
                                          {5, 2, -9, -8},   {0, 1, 8, kEndless},
                                          {0, 1, -0.1F, 4}, {-3, 0.5F, -kEndless, 9}};
  for (const auto& bounds : kBounds) {
    CAPTURE(bounds[2]);
    const auto made = drawn<float>({1000}, bounds);
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    for (const float x : made->flat<float>()) {
      if (x < bounds[2] || x > bounds[3]) FAIL_CHECK(x);
    }
  }
}

TEST_CASE("distributions that have no numbers are refused in words") {
  const auto words = [](const std::array<float, 4>& parameters) {
    return std::string(drawn<float>({2}, parameters).status().message());
  };
  const std::array<float, 4> kNone[] = {{0, 0, -1, 1},
                                        {0, -1, -1, 1},
                                        {0, 1, 1, 1},
                                        {0, 1, 2, 1},
                                        {0, 1, -kEndless, kEndless},
                                        {NAN, 1, 0, 1},
                                        {0, NAN, 0, 1},
                                        {0, 1, NAN, 1},
                                        {kEndless, 1, 0, 1}};
  for (const auto& parameters : kNone) CHECK(words(parameters).starts_with("Invalid parameters"));
  // 1000 tries find nothing where there is next to nothing.
  CHECK(drawn<float>({1}, {0, 1, 3e38F, kEndless}).status().code() == Code::internal);
}

TEST_CASE("parameters of other shapes are refused") {
  const auto words = [](const Tensor& shape, const Tensor& means) {
    return std::string(
        run_op(truncated_ops(), "ParameterizedTruncatedNormal",
               {shape, means, Tensor::scalar(1.F), Tensor::scalar(-1.F), Tensor::scalar(1.F)})
            .status()
            .message());
  };
  const Tensor two = Tensor::vector<int32_t>({2, 2});
  CHECK(words(two, Tensor::vector<float>({1, 2, 3}))
            .starts_with("Input means should have length 1 or shape[0], got shape: [3]"));
  CHECK(words(two, Tensor::of<float>({1, 1}, {1}))
            .starts_with("Input means should be a scalar or vector, got shape: [1,1]"));
  CHECK(words(Tensor::vector<int32_t>({}), Tensor::scalar(0.F))
            .starts_with("Shape tensor must not be empty"));
  CHECK(words(Tensor::vector<int32_t>({0, 5}), Tensor::scalar(0.F)) == "");
  const Tensor seed = Tensor::vector<int64_t>({1, 2});
  const auto stateless =
      run_op(truncated_ops(), "StatelessParameterizedTruncatedNormal",
             {Tensor::vector<int32_t>({3, 2}), seed, Tensor::vector<float>({1, 2, 3}),
              Tensor::scalar(1.F), Tensor::scalar(-1.F), Tensor::scalar(1.F)});
  CHECK(stateless.status().message() ==
        "Shape passed in must end with broadcasted shape: [3,2] and [3]");
}

}  // namespace
}  // namespace millrace
