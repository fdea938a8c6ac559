// Transforms of every length beside the sum that defines them, and what the ops say to lengths that
// do not fit.
#include "millrace/ops/spectral/fourier.h"

#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

#include "millrace/ops/spectral/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

using Number = Fourier::Number;

std::vector<Number> signal(int64_t n) {
  std::vector<Number> made;
  for (int64_t i = 0; i < n; ++i)
    made.emplace_back(std::sin(0.7 * static_cast<double>(i)),
                      std::cos(0.3 * static_cast<double>(i * i)));
  return made;
}

std::vector<Number> by_definition(const std::vector<Number>& x, double sign) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<Number> made(x.size());
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t j = 0; j < n; ++j) {
      const double angle =
          sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      made[static_cast<size_t>(k)] += x[static_cast<size_t>(j)] * std::polar(1.0, angle);
    }
  }
  return made;
}

TEST_CASE("a transform of any length is the sum that defines it, both ways") {
  for (int64_t n = 1; n <= 130; ++n) {
    for (const auto direction : {Fourier::Direction::forward, Fourier::Direction::backward}) {
      CAPTURE(n);
      auto made = Fourier::create(n, direction);
      REQUIRE(made.ok());
      std::vector<Number> line = signal(n), room(static_cast<size_t>(made->room()));
      const auto expected = by_definition(line, direction == Fourier::Direction::forward ? -1 : 1);
      made->run(line.data(), room.data());
      for (size_t k = 0; k < line.size(); ++k) {
        CAPTURE(k);
        CHECK(std::abs(line[k] - expected[k]) <= 1e-10 * static_cast<double>(n));
      }
    }
  }
}

TEST_CASE("a length that is a large prime costs little more than its neighbours") {
  const auto prime = Fourier::create(65537, Fourier::Direction::forward);
  REQUIRE(prime.ok());
  CHECK(prime->cost() < int64_t{65537} * 1000);
}

struct Spectra {
  OpRegistry ops;
  Spectra() { REQUIRE(register_spectral(ops).ok()); }
  Result<Tensor> run(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    MR_ASSIGN(const auto outputs, run_op(ops, op, std::move(inputs), std::move(attrs)));
    return outputs[0];
  }
  std::string error(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    const auto made = run(op, std::move(inputs), std::move(attrs));
    CHECK(made.status().code() == Code::invalid_argument);
    return made.status().message();
  }
};

Tensor lengths(std::initializer_list<int32_t> values) { return Tensor::vector<int32_t>(values); }

TEST_CASE("a real signal comes back from the half of its spectrum, of even and odd length") {
  Spectra f;
  for (const int32_t n : {1, 2, 5, 8, 37}) {
    CAPTURE(n);
    Tensor x = *Tensor::zeros(DType::f32, {2, n});
    for (int64_t i = 0; i < x.num_elements(); ++i)
      x.mutable_flat<float>()[static_cast<size_t>(i)] = std::sin(static_cast<float>(i));
    const auto half = f.run("RFFT", {x, lengths({n})});
    REQUIRE(half.ok());
    CHECK(half->shape() == Shape{2, n / 2 + 1});
    const auto back = f.run("IRFFT", {*half, lengths({n})});
    REQUIRE(back.ok());
    for (size_t i = 0; i < x.flat<float>().size(); ++i)
      CHECK(back->flat<float>()[i] == doctest::Approx(x.flat<float>()[i]).epsilon(1e-5));
  }
}

TEST_CASE("lengths that the signal does not have are refused") {
  Spectra f;
  const Tensor x = *Tensor::zeros(DType::f32, {2, 3});
  CHECK(f.error("RFFT", {x, lengths({4})}) ==
        "Input dimension 1 must have length of at least 4 but got: 3");
  CHECK(f.error("RFFT", {x, lengths({-1})}) == "fft_length[0] must >= 0, but got: -1");
  CHECK(f.error("RFFT", {x, lengths({2, 2})}).find("fft_length must have shape [1]") !=
        std::string::npos);
  const Tensor z = *Tensor::zeros(DType::c64, {2, 3});
  CHECK(f.error("FFT3D", {z}).find("rank") != std::string::npos);
  CHECK(f.error("FFTND", {z, lengths({2}), lengths({2})}).find("axes") != std::string::npos);
  CHECK(f.error("FFTND", {z, lengths({2, 2}), lengths({0, 0})}).find("axes") != std::string::npos);
}

TEST_CASE("nothing has the spectrum 0") {
  Spectra f;
  const auto made = f.run("RFFT", {*Tensor::zeros(DType::f32, {2, 0}), lengths({3})});
  REQUIRE(made.ok());
  CHECK(*made == *Tensor::zeros(DType::c64, {2, 2}));
  CHECK(f.run("RFFT", {*Tensor::zeros(DType::f32, {2, 3}), lengths({0})})->shape() == Shape{2, 0});
}

}  // namespace
}  // namespace millrace
