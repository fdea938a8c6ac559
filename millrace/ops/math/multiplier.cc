#include "millrace/ops/math/multiplier.h"

#include <algorithm>
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/onednn/product.h"

namespace millrace {
namespace {

// c += a * b for row-major matrices: a is rows x inner, b is inner x columns. Four rows of c share
// each row of b that is read; blocks of b stay in the second-level cache. Left unfinished if the
// step ends.
template <class T, class Sum>
void add_product(const T* a, const T* b, Sum* c, int64_t rows, int64_t inner, int64_t columns,
                 CancelProbe& probe) {
  constexpr int64_t kInnerBlock = 256, kColumnBlock = 256, kRows = 4;
  for (int64_t k0 = 0; k0 < inner; k0 += kInnerBlock) {
    const int64_t k1 = std::min(k0 + kInnerBlock, inner);
    for (int64_t j0 = 0; j0 < columns; j0 += kColumnBlock) {
      const int64_t width = std::min(kColumnBlock, columns - j0);
      int64_t i = 0;
      for (; i + kRows <= rows; i += kRows) {
        Sum* c0 = c + i * columns + j0;
        Sum *c1 = c0 + columns, *c2 = c1 + columns, *c3 = c2 + columns;
        for (int64_t k = k0; k < k1; ++k) {
          const T* column = a + i * inner + k;
          const Sum a0 = static_cast<Sum>(column[0]), a1 = static_cast<Sum>(column[inner]);
          const Sum a2 = static_cast<Sum>(column[2 * inner]);
          const Sum a3 = static_cast<Sum>(column[3 * inner]);
          const T* row = b + k * columns + j0;
          MR_INDEPENDENT
          for (int64_t j = 0; j < width; ++j) {
            const Sum x = static_cast<Sum>(row[j]);
            c0[j] = cpu::add(c0[j], cpu::multiply(a0, x));
            c1[j] = cpu::add(c1[j], cpu::multiply(a1, x));
            c2[j] = cpu::add(c2[j], cpu::multiply(a2, x));
            c3[j] = cpu::add(c3[j], cpu::multiply(a3, x));
          }
        }
        if (!probe.go_on(kRows * (k1 - k0) * width)) return;
      }
      for (; i < rows; ++i) {
        Sum* c0 = c + i * columns + j0;
        for (int64_t k = k0; k < k1; ++k) {
          const Sum a0 = static_cast<Sum>(a[i * inner + k]);
          const T* row = b + k * columns + j0;
          MR_INDEPENDENT
          for (int64_t j = 0; j < width; ++j)
            c0[j] = cpu::add(c0[j], cpu::multiply(a0, static_cast<Sum>(row[j])));
        }
        if (!probe.go_on((k1 - k0) * width)) return;
      }
    }
  }
}

template <class T>
void product_loop(const void* a, const void* b, void* c, int64_t rows, int64_t inner,
                  int64_t columns, CancelProbe& probe) {
  using Sum = cpu::Math<T>;
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(c);
  if constexpr (std::is_same_v<Sum, T>) {
    std::fill_n(z, rows * columns, T(0));
    add_product(x, y, z, rows, inner, columns, probe);
  } else {
    // Narrow floats are added up wide, a few rows at a time.
    const int64_t most = std::min<int64_t>(16, rows);
    std::vector<Sum> sums(static_cast<size_t>(most * columns));
    for (int64_t i = 0; i < rows; i += most) {
      const int64_t some = std::min(most, rows - i);
      std::fill(sums.begin(), sums.end(), Sum(0));
      add_product(x + i * inner, y, sums.data(), some, inner, columns, probe);
      if (!probe.status().ok()) return;
      for (int64_t j = 0; j < some * columns; ++j) z[i * columns + j] = static_cast<T>(sums[j]);
    }
  }
}

template <class T>
void conjugate(Tensor& tensor) {
  for (T& value : tensor.mutable_flat<T>()) value = std::conj(value);
}

// The tensor with its last two axes swapped; conjugated, too, for an adjoint.
Result<Tensor> turned(const Tensor& tensor, Side side, CancelProbe& probe) {
  if (side == Side::as_is) return tensor;
  const int rank = tensor.shape().rank();
  std::vector<int64_t> dims(tensor.shape().dims().begin(), tensor.shape().dims().end());
  Strides from = row_major_strides(tensor.shape());
  std::swap(dims[rank - 2], dims[rank - 1]);
  std::swap(from[rank - 2], from[rank - 1]);
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor made, copied_box(shape, tensor, {0, from}, probe));
  if (side == Side::adjoint && tensor.dtype() == DType::c64) conjugate<std::complex<float>>(made);
  if (side == Side::adjoint && tensor.dtype() == DType::c128) conjugate<std::complex<double>>(made);
  return made;
}

// --- oneDNN ---

// Products below this are sooner done here than handed over.
constexpr double kWorthACall = 1 << 15;

bool goes_to_onednn(DType dtype, const Shape& c, int64_t inner) {
  if (wide_type(dtype) != DType::f32 || c.num_elements() == 0) return false;
  const double work = static_cast<double>(c.dim(c.rank() - 2)) *
                      static_cast<double>(c.dim(c.rank() - 1)) * static_cast<double>(inner);
  return work >= kWorthACall && onednn::can_multiply();
}

// The rows, or the columns, of a part of a product.
struct Span {
  int64_t begin, size;
};

// One side of a product, cut into `number` parts of `size`; the last one may be smaller.
struct Cut {
  int64_t length, size, number;

  Cut(int64_t along, int64_t wanted) : length(along) {
    constexpr int64_t kLine = 16;
    size = ((length + wanted - 1) / wanted + kLine - 1) / kLine * kLine;
    number = (length + size - 1) / size;
  }
  Span operator[](int64_t i) const { return {i * size, std::min(size, length - i * size)}; }
};

// A product cut into blocks, by its shape alone, each worth a thread's while. A block reads all
// rows of one operand and all columns of the other that it is made of, and packs them first: so
// both sides are cut, as far as it takes to have the least read.
struct Blocks {
  Cut rows, columns;

  static Blocks of(int64_t rows, int64_t inner, int64_t columns) {
    constexpr int64_t kLeast = 64, kMost = 16, kWork = int64_t{1} << 20;
    const double work = static_cast<double>(rows) * static_cast<double>(columns) *
                        static_cast<double>(inner) / static_cast<double>(kWork);
    const int64_t wanted = static_cast<int64_t>(std::clamp<double>(work, 1, kMost));
    const int64_t most_by_rows = std::clamp<int64_t>(rows / kLeast, 1, wanted);
    const int64_t most_by_columns = std::max<int64_t>(columns / kLeast, 1);
    int64_t best = 1;
    // Fewer blocks than are wanted are worse than anything that is read.
    std::pair<int64_t, double> least = {wanted, 0};
    for (int64_t by_rows = 1; by_rows <= most_by_rows; ++by_rows) {
      const int64_t by_columns = std::min(wanted / by_rows, most_by_columns);
      const double read = static_cast<double>(by_rows) * static_cast<double>(columns) +
                          static_cast<double>(by_columns) * static_cast<double>(rows);
      const std::pair cost(wanted - by_rows * by_columns, read);
      if (cost < least) {
        least = cost;
        best = by_rows;
      }
    }
    return {Cut(rows, best), Cut(columns, std::min(wanted / best, most_by_columns))};
  }
  int64_t number() const { return rows.number * columns.number; }
};

// The block of c = a * b that `rows` and `columns` say. `whole` describes the product of whole
// matrices.
Status multiply_block(onednn::Product whole, Span rows, Span columns, const float* a,
                      const float* b, float* c) {
  whole.rows = rows.size;
  a += rows.begin * (whole.a_transposed ? 1 : whole.a_stride);
  c += rows.begin * whole.c_stride;
  whole.columns = columns.size;
  b += columns.begin * (whole.b_transposed ? whole.b_stride : 1);
  c += columns.begin;
  return onednn::multiply(whole, a, b, c);
}

// The batch axes of both operands as those of c, and how far each walks along them.
struct Batches {
  Shape shape;
  std::array<Strides, 3> strides;  // of a, b and c, counted in matrices

  static Result<Batches> of(const Tensor& a, const Tensor& b, const Tensor& c) {
    const auto batch_of = [](const Tensor& t) {
      return Shape::create(t.shape().dims().first(t.shape().rank() - 2));
    };
    MR_ASSIGN(const Shape a_batch, batch_of(a));
    MR_ASSIGN(const Shape b_batch, batch_of(b));
    MR_ASSIGN(const Shape c_batch, batch_of(c));
    return Batches{c_batch,
                   {broadcast_strides(a_batch, c_batch), broadcast_strides(b_batch, c_batch),
                    row_major_strides(c_batch)}};
  }
  // Which matrix of operand `n` makes matrix `i` of c.
  int64_t matrix(int n, int64_t i) const {
    int64_t at = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      at += i % shape.dim(axis) * strides[static_cast<size_t>(n)][axis];
      i /= shape.dim(axis);
    }
    return at;
  }
};

}  // namespace

ProductLoop product_loop_for(DType dtype) {
  using All =
      cpu::Join<cpu::Join<cpu::Floating, cpu::Complex>,
                cpu::Types<int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>>;
  return cpu::pick<ProductLoop>(All(), dtype,
                                []<class T>() -> ProductLoop { return &product_loop<T>; });
}

Result<PartialShape> product_shape(const PartialShape& a, Side a_side, const PartialShape& b,
                                   Side b_side) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::unknown();
  if (a.rank() < 2 || b.rank() < 2) {
    return invalid("a product needs matrices, but the shapes are ", a.to_string(), " and ",
                   b.to_string());
  }
  const auto matrix_dims = [](const PartialShape& shape, Side side) {
    const int64_t rows = shape.dim(shape.rank() - 2), columns = shape.dim(shape.rank() - 1);
    return side == Side::as_is ? std::pair(rows, columns) : std::pair(columns, rows);
  };
  const auto [rows, a_inner] = matrix_dims(a, a_side);
  const auto [b_inner, columns] = matrix_dims(b, b_side);
  if (a_inner != b_inner && a_inner != kUnknownDim && b_inner != kUnknownDim) {
    return invalid("Matrix size-incompatible: In[0]: ", a.to_string(), ", In[1]: ", b.to_string());
  }
  MR_ASSIGN(const PartialShape a_batch, PartialShape::create(a.dims().first(a.rank() - 2)));
  MR_ASSIGN(const PartialShape b_batch, PartialShape::create(b.dims().first(b.rank() - 2)));
  MR_ASSIGN(const PartialShape batch, broadcast_shapes(a_batch, b_batch));
  std::vector<int64_t> dims(batch.dims().begin(), batch.dims().end());
  dims.insert(dims.end(), {rows, columns});
  return PartialShape::create(dims);
}

Result<Tensor> Multiplier::run(KernelContext& context, const Tensor& a, const Tensor& b) const {
  MR_ASSIGN(const PartialShape known, product_shape(a.shape(), a_side_, b.shape(), b_side_));
  const Shape shape = *known.to_shape();
  const int64_t inner = a.shape().dim(a.shape().rank() - (a_side_ == Side::as_is ? 1 : 2));
  if (!goes_to_onednn(a.dtype(), shape, inner)) {
    MR_ASSIGN(Tensor c, Tensor::allocate(a.dtype(), shape));
    if (c.num_elements() > 0) MR_TRY(multiply_alone(context, a, b, c, inner));
    return c;
  }
  // Half and bfloat16 are added up as float either way.
  const CancelProbe probe(context);
  MR_ASSIGN(const Tensor wide_a, widened(a, probe));
  MR_ASSIGN(const Tensor wide_b, widened(b, probe));
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, shape));
  MR_TRY(multiply_shared(context, wide_a, wide_b, made, inner));
  return narrowed(made, a.dtype(), probe);
}

// By the loop of the type, on this thread.
Status Multiplier::multiply_alone(KernelContext& context, const Tensor& raw_a, const Tensor& raw_b,
                                  Tensor& c, int64_t inner) const {
  CancelProbe probe(context);
  MR_ASSIGN(const Tensor a, turned(raw_a, a_side_, probe));
  MR_ASSIGN(const Tensor b, turned(raw_b, b_side_, probe));
  MR_ASSIGN(const Batches batches, Batches::of(a, b, c));
  const int64_t rows = c.shape().dim(c.shape().rank() - 2);
  const int64_t columns = c.shape().dim(c.shape().rank() - 1);
  const auto& [a_strides, b_strides, c_strides] = batches.strides;
  const Walk<3> walk(batches.shape.dims(), {a_strides, b_strides, c_strides});
  const auto size = static_cast<int64_t>(dtype_size(c.dtype()));
  walk.each_run([&](const std::array<int64_t, 3>& at) {
    for (int64_t i = 0; i < walk.run_length(); ++i) {
      const auto matrix = [&](int n) { return (at[n] + i * walk.run_stride(n)) * size; };
      loop_(static_cast<const char*>(a.data()) + matrix(0) * rows * inner,
            static_cast<const char*>(b.data()) + matrix(1) * inner * columns,
            static_cast<char*>(c.mutable_data()) + matrix(2) * rows * columns, rows, inner, columns,
            probe);
      if (!probe.go_on(1)) return false;
    }
    return true;
  });
  return probe.status();
}

// By oneDNN, which reads operands either way round, in blocks that the step's pool shares.
Status Multiplier::multiply_shared(KernelContext& context, const Tensor& a, const Tensor& b,
                                   Tensor& c, int64_t inner) const {
  MR_ASSIGN(const Batches batches, Batches::of(a, b, c));
  const int64_t rows = c.shape().dim(c.shape().rank() - 2);
  const int64_t columns = c.shape().dim(c.shape().rank() - 1);
  const bool a_turned = a_side_ != Side::as_is, b_turned = b_side_ != Side::as_is;
  const onednn::Product whole{.rows = rows,
                              .inner = inner,
                              .columns = columns,
                              .a_transposed = a_turned,
                              .b_transposed = b_turned,
                              .a_stride = a_turned ? rows : inner,
                              .b_stride = b_turned ? inner : columns,
                              .c_stride = columns};
  const float* const x = a.flat<float>().data();
  const float* const y = b.flat<float>().data();
  float* const z = c.mutable_flat<float>().data();
  const Blocks blocks = Blocks::of(rows, inner, columns);
  const int64_t number = blocks.number();
  return share_work(
      context, batches.shape.num_elements() * number, [&](int64_t piece, CancelProbe&) {
        const int64_t i = piece / number, block = piece % number;
        return multiply_block(whole, blocks.rows[block / blocks.columns.number],
                              blocks.columns[block % blocks.columns.number],
                              x + batches.matrix(0, i) * rows * inner,
                              y + batches.matrix(1, i) * inner * columns, z + i * rows * columns);
      });
}

}  // namespace millrace
