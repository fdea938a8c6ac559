#include "millrace/ops/recurrent/cell_math.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/vector_math.h"

namespace millrace {
namespace {

float sigmoid_of(float x) { return 1 / (1 + std::exp(-x)); }
float tangent_of(float x) { return std::tanh(x); }

void apply(cpu::VectorFunction function, float (*one)(float), float* x, int64_t n) {
  if (const cpu::VectorLoop loop = cpu::vector_loop(function, DType::f32)) return loop(x, x, n);
  std::transform(x, x + n, x, one);
}

}  // namespace

Result<Tensor> float_input(KernelContext& context, int slot, std::string_view name, int rank) {
  const Tensor& input = context.input(slot);
  if (input.shape().rank() != rank)
    return invalid(name, " must be rank ", rank, " but is rank ", input.shape().rank(), ".");
  return widened(input, CancelProbe(context));
}

Status set_narrowed(KernelContext& context, int slot, const Tensor& made) {
  return context.set_output(slot, narrowed(made, context.output_dtype(slot), CancelProbe(context)));
}

Status check_dim(const Tensor& tensor, std::string_view name, int axis, int64_t wanted,
                 std::string_view called) {
  const int64_t dim = tensor.shape().dim(axis);
  if (dim == wanted) return {};
  return invalid(name, ".dim_size(", axis, ") != ", called, ": ", dim, " vs. ", wanted);
}

Result<Tensor> side_by_side(const float* a, int64_t a_columns, const float* b, int64_t b_columns,
                            int64_t rows) {
  MR_ASSIGN(const Shape shape, Shape::create(std::array{rows, a_columns + b_columns}));
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, shape));
  float* to = static_cast<float*>(made.mutable_data());
  for (int64_t row = 0; row < rows; ++row) {
    to = std::copy_n(a + row * a_columns, a_columns, to);
    to = std::copy_n(b + row * b_columns, b_columns, to);
  }
  return made;
}

void copy_columns(const Tensor& matrix, int64_t begin, int64_t count, float* to) {
  const float* from = static_cast<const float*>(matrix.data()) + begin;
  const int64_t rows = matrix.shape().dim(0), columns = matrix.shape().dim(1);
  for (int64_t row = 0; row < rows; ++row, from += columns) to = std::copy_n(from, count, to);
}

void add_rows(const Tensor& matrix, float* to) {
  const float* from = static_cast<const float*>(matrix.data());
  const int64_t rows = matrix.shape().dim(0), columns = matrix.shape().dim(1);
  for (int64_t row = 0; row < rows; ++row, from += columns)
    for (int64_t i = 0; i < columns; ++i) to[i] += from[i];
}

Result<Tensor> product(KernelContext& context, const Tensor& a, const Tensor& b, Side a_side,
                       Side b_side) {
  return Multiplier(a_side, b_side, product_loop_for(DType::f32)).run(context, a, b);
}

void sigmoids(float* x, int64_t n) { apply(cpu::VectorFunction::sigmoid, sigmoid_of, x, n); }
void tangents(float* x, int64_t n) { apply(cpu::VectorFunction::tanh, tangent_of, x, n); }

namespace grad {

SideBySide of_product(GradContext& g, Endpoint x, Endpoint h, Endpoint w, Endpoint arriving) {
  const Endpoint axis = g.scalar(DType::i32, 1);
  const Endpoint x_shape = g.shape_node(x), h_shape = g.shape_node(h);
  const Endpoint offsets = g.add("ConcatOffset", {axis, x_shape, h_shape}, {{"N", int64_t{2}}});
  const Endpoint both = g.add("MatMul", {arriving, w}, {{"transpose_b", true}});
  const Endpoint joined = g.add("ConcatV2", {x, h, axis}, {{"N", int64_t{2}}});
  return {g.add("Slice", {both, offsets, x_shape}),
          g.add("Slice", {both, {offsets.node, 1}, h_shape}),
          g.add("MatMul", {joined, arriving}, {{"transpose_a", true}})};
}

}  // namespace grad

}  // namespace millrace
