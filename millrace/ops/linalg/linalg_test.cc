// What linear algebra says to inputs that no example shows: complex numbers, batches that
// broadcast, nothing at all, and matrices that can't be taken apart.
#include <cmath>
#include <complex>
#include <limits>

#include <doctest/doctest.h>

#include "millrace/ops/linalg/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

using C = std::complex<double>;

struct Algebra {
  OpRegistry ops;
  Algebra() { REQUIRE(register_linalg(ops).ok()); }

  std::vector<Tensor> run(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    auto outputs = run_op(ops, op, std::move(inputs), std::move(attrs));
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
    return *std::move(outputs);
  }
  std::string error(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    const auto outputs = run_op(ops, op, std::move(inputs), std::move(attrs));
    CHECK(outputs.status().code() == Code::invalid_argument);
    return outputs.status().message();
  }
};

Tensor numbers(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::of<double>(shape, values);
}
Tensor nothing(const Shape& shape) { return *Tensor::zeros(DType::f64, shape); }

template <class T = double>
bool is_close(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  const auto x = a.flat<T>(), y = b.flat<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(std::abs(x[i] - y[i]) <= 1e-12 * (1 + std::abs(y[i])))) return false;
  }
  return true;
}

// The product of matrices, or of the first with the adjoint of the second.
template <class T>
Tensor product(const Tensor& a, const Tensor& b, bool adjoint = false) {
  const int64_t rows = a.shape().dim(0), inner = a.shape().dim(1);
  const int64_t columns = b.shape().dim(adjoint ? 0 : 1);
  Tensor made = *Tensor::zeros(dtype_of<T>, Shape{rows, columns});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      T& sum = made.mutable_flat<T>()[static_cast<size_t>(i * columns + j)];
      for (int64_t k = 0; k < inner; ++k) {
        const T right = b.flat<T>()[static_cast<size_t>(adjoint ? j * inner + k : k * columns + j)];
        const T left = a.flat<T>()[static_cast<size_t>(i * inner + k)];
        if constexpr (std::is_same_v<T, C>)
          sum += left * (adjoint ? std::conj(right) : right);
        else
          sum += left * right;
      }
    }
  }
  return made;
}

TEST_CASE("what is not positive definite has NaN for a triangle, and zeros above") {
  Algebra f;
  const Tensor made = f.run("Cholesky", {numbers({2, 2}, {0, 0, 0, 0})})[0];
  CHECK(std::isnan(made.flat<double>()[0]));
  CHECK(made.flat<double>()[1] == 0);
  CHECK(std::isnan(made.flat<double>()[2]));
}

TEST_CASE("a matrix's triangle is made of its lower half alone") {
  Algebra f;
  CHECK(is_close(f.run("Cholesky", {numbers({2, 2}, {4, 99, 2, 10})})[0],
                 numbers({2, 2}, {2, 0, 1, 3})));
}

TEST_CASE("the triangle of a complex matrix times its adjoint is the matrix") {
  Algebra f;
  const Tensor a = Tensor::of<C>({2, 2}, {C(4), C(1, 1), C(1, -1), C(5)});
  const Tensor l = f.run("Cholesky", {a})[0];
  CHECK(is_close<C>(product<C>(l, l, true), a));
}

TEST_CASE("matrices that are not square, or no matrices, are refused") {
  Algebra f;
  for (const char* op : {"Cholesky", "MatrixInverse", "MatrixDeterminant", "Lu", "MatrixSquareRoot",
                         "SelfAdjointEigV2"}) {
    CAPTURE(op);
    CHECK(f.error(op, {nothing({2, 3})}) == "Input matrix must be square: input 0 is [2,3]");
    CHECK(f.error(op, {nothing({3})}) == "Input tensor 0 must have rank >= 2, got 1");
  }
}

TEST_CASE("a singular matrix has no inverse, nor has one of NaN") {
  Algebra f;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Tensor& a : {nothing({2, 2}), numbers({2, 2}, {nan, nan, nan, nan})}) {
    CHECK(f.error("MatrixInverse", {a}) == "Input is not invertible.");
    CHECK(f.error("Lu", {a}) == "Input is not invertible.");
    CHECK(f.error("MatrixSolve", {a, nothing({2, 1})}) == "Input matrix is not invertible.");
  }
  CHECK(f.run("MatrixDeterminant", {nothing({2, 2})})[0] == Tensor::scalar(0.0));
  const auto parts = f.run("LogMatrixDeterminant", {nothing({2, 2})});
  CHECK(parts[0] == Tensor::scalar(0.0));
  CHECK(parts[1] == Tensor::scalar(-std::numeric_limits<double>::infinity()));
}

TEST_CASE("an infinite determinant has a sign, and one that is no number has none") {
  Algebra f;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double sign : {1.0, -1.0}) {
    const auto parts = f.run("LogMatrixDeterminant", {numbers({2, 2}, {kInfinity, 1, 1, sign})});
    CHECK(parts[0] == Tensor::scalar(sign));
    CHECK(parts[1] == Tensor::scalar(kInfinity));
  }
  for (const Tensor& part :
       f.run("LogMatrixDeterminant", {numbers({2, 2}, {kInfinity, kInfinity, 1, 1})}))
    CHECK(std::isnan(part.item<double>()));
}

TEST_CASE("a matrix of no elements has the determinant 1, and solves to nothing") {
  Algebra f;
  CHECK(f.run("MatrixDeterminant", {nothing({0, 0})})[0] == Tensor::scalar(1.0));
  CHECK(f.run("MatrixDeterminant", {nothing({2, 0, 0})})[0] == Tensor::vector<double>({1, 1}));
  CHECK(f.run("MatrixInverse", {nothing({0, 0})})[0].shape() == Shape{0, 0});
  CHECK(f.run("MatrixSolve", {nothing({0, 0}), nothing({0, 3})})[0].shape() == Shape{0, 3});
  CHECK(f.run("MatrixSolveLs", {nothing({0, 3}), nothing({0, 1}), Tensor::scalar(0.0)})[0] ==
        nothing({3, 1}));
  CHECK(f.run("SelfAdjointEigV2", {nothing({0, 0})})[0].shape() == Shape{0});
  const auto qr = f.run("Qr", {nothing({2, 0})}, {{"full_matrices", true}});
  CHECK(qr[0] == numbers({2, 2}, {1, 0, 0, 1}));
  CHECK(qr[1].shape() == Shape{2, 0});
  const auto svd = f.run("Svd", {nothing({0, 2})}, {{"full_matrices", true}});
  CHECK(svd[0].shape() == Shape{0});
  CHECK(svd[2] == numbers({2, 2}, {1, 0, 0, 1}));
}

TEST_CASE("what solves for triangles broadcasts its batches") {
  Algebra f;
  const Tensor a = numbers({2, 1, 1, 1}, {2, 4}), b = numbers({3, 1, 1}, {4, 8, 16});
  CHECK(f.run("MatrixTriangularSolve", {a, b})[0] == numbers({2, 3, 1, 1}, {2, 4, 8, 1, 2, 4}));
  CHECK(f.run("BandedTriangularSolve", {a, b})[0] == numbers({2, 3, 1, 1}, {2, 4, 8, 1, 2, 4}));
  CHECK(f.error("MatrixTriangularSolve", {nothing({2, 1, 1}), nothing({3, 1, 1})}).find("[2]") !=
        std::string::npos);
  CHECK(f.error("MatrixTriangularSolve", {nothing({3, 3}), nothing({2, 3})}) ==
        "In[0] mismatch In[1] shape: 3 vs. 2: [3,3] [2,3]");
}

TEST_CASE("a triangle with a zero on its diagonal gives infinities, its bands an error") {
  Algebra f;
  const Tensor made = f.run("MatrixTriangularSolve", {nothing({1, 1}), numbers({1, 1}, {2})})[0];
  CHECK(std::isinf(made.flat<double>()[0]));
  CHECK(f.error("BandedTriangularSolve", {nothing({1, 1}), numbers({1, 1}, {2})}) ==
        "Input matrix is not invertible.");
}

TEST_CASE("an adjoint is of complex numbers their conjugate, whole and in bands") {
  Algebra f;
  const Tensor a = Tensor::of<C>({2, 2}, {C(0, 2), C(0), C(1, 1), C(3)});
  const Tensor bands = Tensor::of<C>({2, 2}, {C(0, 2), C(3), C(9, 9), C(1, 1)});
  const Tensor b = Tensor::of<C>({2, 1}, {C(1), C(6)});
  const Attrs adjoint = {{"adjoint", true}};
  // x1 = 6 / 3, and -2i x0 + (1 - i) x1 = 1.
  const Tensor x = Tensor::of<C>({2, 1}, {C(-1, -0.5), C(2)});
  CHECK(is_close<C>(f.run("MatrixTriangularSolve", {a, b}, adjoint)[0], x));
  CHECK(is_close<C>(f.run("BandedTriangularSolve", {bands, b}, adjoint)[0], x));
}

TEST_CASE("right sides that do not go with their matrices are refused") {
  Algebra f;
  CHECK(f.error("MatrixSolve", {nothing({2, 2}), nothing({3, 1})}) ==
        "Input matrix and rhs are incompatible: they are [2,2] and [3,1]");
  CHECK(f.error("MatrixSolve", {nothing({1, 2, 2}), nothing({2, 1})}) ==
        "All input tensors must have the same rank: they are [1,2,2] and [2,1]");
  CHECK(f.error("MatrixSolve", {nothing({1, 2, 2}), nothing({3, 2, 1})}) ==
        "All input tensors must have the same outer dimensions: they are [1,2,2] and [3,2,1]");
  CHECK(f.error("MatrixSolveLs", {nothing({2, 3}), nothing({3, 1}), Tensor::scalar(0.0)}) ==
        "Input matrix and rhs are incompatible: they are [2,3] and [3,1]");
  CHECK(f.error("MatrixSolveLs", {nothing({2, 3}), nothing({2, 1}), Tensor::scalar(-1.0)}) ==
        "l2_regularizer must be >= 0, but is -1");
  CHECK(f.error("TridiagonalSolve", {nothing({2, 3}), nothing({3, 1})}) ==
        "Expected diagonals to be provided as a matrix with 3 rows, got 2 rows.");
  CHECK(f.error("TridiagonalSolve", {nothing({3, 2}), nothing({3, 1})}).find("2 and 3") !=
        std::string::npos);
  CHECK(f.error("TridiagonalMatMul",
                {nothing({1, 3}), nothing({1, 2}), nothing({1, 3}), nothing({3, 1})}) ==
        "Invalid main diagonal shape. It is [1,2], expected [1,3]");
}

TEST_CASE("least squares of a matrix that has no full rank need the slow way") {
  Algebra f;
  const Tensor a = numbers({2, 2}, {1, 1, 1, 1}), b = numbers({2, 1}, {2, 2});
  CHECK(
      f.error("MatrixSolveLs", {nothing({2, 2}), b, Tensor::scalar(0.0)}).find("rank deficient") !=
      std::string::npos);
  CHECK(is_close(f.run("MatrixSolveLs", {a, b, Tensor::scalar(0.0)}, {{"fast", false}})[0],
                 numbers({2, 1}, {1, 1})));
}

TEST_CASE("factors multiplied are what was taken apart") {
  Algebra f;
  const Tensor a = Tensor::of<C>({3, 2}, {C(1, 2), C(3), C(0, 1), C(4, -1), C(5), C(6, 2)});
  for (const bool full : {false, true}) {
    const auto qr = f.run("Qr", {a}, {{"full_matrices", full}});
    CHECK(is_close<C>(product<C>(qr[0], qr[1]), a));
    const auto svd = f.run("Svd", {a}, {{"full_matrices", full}});
    Tensor us = *svd[1].clone();
    const int64_t columns = us.shape().dim(1);
    for (int64_t i = 0; i < us.num_elements(); ++i) {
      const int64_t column = i % columns;
      us.mutable_flat<C>()[static_cast<size_t>(i)] *=
          column < 2 ? svd[0].flat<C>()[static_cast<size_t>(column)] : C(0);
    }
    if (!full) CHECK(is_close<C>(product<C>(us, svd[2], true), a));
    CHECK(svd[1].shape() == (full ? Shape{3, 3} : Shape{3, 2}));
  }
}

TEST_CASE("singular values alone come with no vectors, and those of NaN are NaN") {
  Algebra f;
  const auto alone = f.run("Svd", {numbers({1, 2}, {3, 4})}, {{"compute_uv", false}});
  CHECK(is_close(alone[0], numbers({1}, {5})));
  CHECK(alone[1].shape() == Shape{0});
  const Tensor nan = numbers({1, 1}, {std::numeric_limits<double>::quiet_NaN()});
  CHECK(std::isnan(f.run("Svd", {nan})[1].flat<double>()[0]));
}

TEST_CASE("eigenvalues of real matrices are complex, and NaN has none") {
  Algebra f;
  const auto made = f.run("Eig", {numbers({2, 2}, {0, 1, -1, 0})}, {{"Tout", DType::c128}});
  CHECK(is_close<C>(made[0], Tensor::of<C>({2}, {C(0, 1), C(0, -1)})));
  const Tensor nan = numbers({1, 1}, {std::numeric_limits<double>::quiet_NaN()});
  CHECK(f.error("Eig", {nan}, {{"Tout", DType::c128}}) ==
        "Eigen decomposition was not successful. The input might not be valid.");
  CHECK(f.error("SelfAdjointEigV2", {numbers({2, 2}, {NAN, NAN, NAN, NAN})}) ==
        "Self-adjoint eigen decomposition was not successful. The input might not be valid.");
  CHECK(f.error("Eig", {nan}, {{"Tout", DType::c64}}) ==
        "Invalid output dtype complex64 of Eig for an input of double; it must be complex128");
}

TEST_CASE("the logarithm undoes the exponential, and an eigenvalue of 0 has none") {
  Algebra f;
  const Tensor a = Tensor::of<C>({2, 2}, {C(0.5, 1), C(2), C(-1), C(0.25, -0.5)});
  CHECK(is_close<C>(f.run("MatrixLogarithm", {f.run("MatrixExponential", {a})[0]})[0], a));
  CHECK(f.error("MatrixLogarithm", {*Tensor::zeros(DType::c128, {2, 2})}) ==
        "a matrix with an eigenvalue of 0 has no logarithm");
}

TEST_CASE("three diagonals are solved with and without changing rows, and may be singular") {
  Algebra f;
  const Tensor diagonals = numbers({3, 3}, {1, 2, 9, 0, 4, 5, 9, 6, 7});
  const Tensor rhs = numbers({3, 1}, {1, 16, 22});
  CHECK(is_close(f.run("TridiagonalSolve", {diagonals, rhs})[0],
                 numbers({3, 1}, {(16 - 4 - 6) / 6.0, 1, 3})));
  CHECK_FALSE(std::isfinite(
      f.run("TridiagonalSolve", {nothing({3, 1}), numbers({1, 1}, {1})})[0].flat<double>()[0]));
  CHECK(f.error("TridiagonalSolve", {diagonals, rhs},
                {{"partial_pivoting", false}, {"perturb_singular", true}}) ==
        "Setting perturb_singular requires also setting partial_pivoting.");
}

TEST_CASE("a pivot of 0 is moved as LAPACK moves it: by epsilon times the largest element") {
  Algebra f;
  const auto perturbed = [&](const Tensor& diagonals, const Tensor& rhs) {
    return f.run("TridiagonalSolve", {diagonals, rhs}, {{"perturb_singular", true}})[0];
  };
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  constexpr double kTiny = std::numeric_limits<double>::min();
  // No element is larger than 0: the smallest number of full precision, 1 + 2 + 4 + 8 times.
  CHECK(is_close(perturbed(nothing({3, 1}), numbers({1, 3}, {6, 9, 12})),
                 numbers({1, 3}, {6 / (15 * kTiny), 9 / (15 * kTiny), 12 / (15 * kTiny)})));
  CHECK(is_close(perturbed(numbers({3, 2}, {3, 0, 1, 3, 0, 1}), numbers({2, 1}, {1, 4})),
                 numbers({2, 1}, {1 - 3 / kEpsilon, 1 / kEpsilon})));
  // A row that takes the place of the one above it, and one that begins with 0 below a pivot of 0.
  CHECK(is_close(perturbed(numbers({3, 4}, {2, -1, 1, 0, 1, 4, 1, -1, 0, 2, 0, 3}),
                           numbers({4, 1}, {1, 2, 3, 4})),
                 numbers({4, 1}, {1 - 1.75 / kEpsilon, 0.875 / kEpsilon, 1.75, 1.25})));
  // What can be solved is solved.
  CHECK(is_close(
      perturbed(numbers({3, 3}, {1, 2, 9, 0, 4, 5, 9, 6, 7}), numbers({3, 1}, {1, 16, 22})),
      numbers({3, 1}, {1, 1, 3})));
}

}  // namespace
}  // namespace millrace
