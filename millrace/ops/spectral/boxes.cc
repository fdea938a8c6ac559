#include "millrace/ops/spectral/boxes.h"

#include "millrace/ops/loops/share_work.h"

namespace millrace {
namespace {

using Number = Fourier::Number;

// visit(place in a, place in b, count) for rows of elements that two boxes share.
template <class Visit>
Status each_shared_row(KernelContext& context, const Shape& a, const Shape& b, Visit visit) {
  const int rank = a.rank();
  int64_t rows = 1;
  std::vector<int64_t> sizes;
  for (int axis = 0; axis < rank; ++axis) {
    sizes.push_back(std::min(a.dim(axis), b.dim(axis)));
    if (axis + 1 < rank) rows *= sizes.back();
  }
  const int64_t count = rank == 0 ? 1 : sizes.back();
  if (count == 0) return {};
  CancelProbe probe(context);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t left = row, in_a = 0, in_b = 0, step_a = 1, step_b = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (axis + 1 < rank) {
        const int64_t at = left % sizes[static_cast<size_t>(axis)];
        left /= sizes[static_cast<size_t>(axis)];
        in_a += at * step_a;
        in_b += at * step_b;
      }
      step_a *= a.dim(axis);
      step_b *= b.dim(axis);
    }
    visit(in_a, in_b, count);
    if (!probe.go_on(count)) return probe.status();
  }
  return {};
}

template <class T>
void widen_row(const void* from, Number* to, int64_t begin, int64_t count) {
  const T* const x = static_cast<const T*>(from) + begin;
  for (int64_t i = 0; i < count; ++i) to[i] = Number(x[i]);
}

template <class T>
void narrow_row(const Number* from, void* to, int64_t begin, int64_t count) {
  T* const y = static_cast<T*>(to) + begin;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>)
      y[i] = static_cast<T>(from[i].real());
    else
      y[i] = T(from[i]);
  }
}

using WidenRow = void (*)(const void* from, Number* to, int64_t begin, int64_t count);
using NarrowRow = void (*)(const Number* from, void* to, int64_t begin, int64_t count);

template <class Row>
Row of_type(DType dtype, Row f32, Row f64, Row c64, Row c128) {
  if (dtype == DType::f32) return f32;
  if (dtype == DType::f64) return f64;
  return dtype == DType::c64 ? c64 : c128;
}

// Lines along an axis: element `i` of line `at`.
struct Lines {
  int64_t count, size, stride;

  Lines(const Shape& shape, int axis) : size(shape.dim(axis)), stride(1) {
    for (int behind = axis + 1; behind < shape.rank(); ++behind) stride *= shape.dim(behind);
    count = size == 0 ? 0 : shape.num_elements() / size;
  }
  int64_t place(int64_t at, int64_t i) const {
    return (at / stride * size + i) * stride + at % stride;
  }
};

// make(line) for each line of `from`, which has room for the transform, and then goes to `to`.
template <class Make>
Status each_line(KernelContext& context, const Fourier& fourier, const Tensor& from,
                 const Lines& from_lines, Tensor& to, const Lines& to_lines, Make make) {
  const Number* const x = static_cast<const Number*>(from.data());
  Number* const y = static_cast<Number*>(to.mutable_data());
  const int64_t n = fourier.size();
  return share_range(context, from_lines.count, fourier.cost(),
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       MR_ASSIGN(Tensor room, Tensor::allocate(DType::c128, {n + fourier.room()}));
                       Number* const line = room.mutable_flat<Number>().data();
                       for (int64_t at = begin; at < end; ++at) {
                         for (int64_t i = 0; i < from_lines.size; ++i)
                           line[i] = x[from_lines.place(at, i)];
                         make(line);
                         fourier.run(line, line + n);
                         for (int64_t i = 0; i < n; ++i) y[to_lines.place(at, i)] = line[i];
                         if (!probe.go_on(fourier.cost())) return probe.status();
                       }
                       return {};
                     });
}

void scale(Tensor& tensor, double by) {
  for (Number& number : tensor.mutable_flat<Number>()) number *= by;
}

}  // namespace

Result<SpectralBox> SpectralBox::of(KernelContext& context, const Tensor& tensor,
                                    std::span<const int64_t> sizes) {
  MR_ASSIGN(const Shape shape, Shape::create(sizes));
  MR_ASSIGN(Tensor made, Tensor::zeros(DType::c128, shape));
  const WidenRow widen =
      of_type<WidenRow>(tensor.dtype(), widen_row<float>, widen_row<double>,
                        widen_row<std::complex<float>>, widen_row<std::complex<double>>);
  Number* const to = made.mutable_flat<Number>().data();
  MR_TRY(each_shared_row(context, tensor.shape(), shape,
                         [&](int64_t from_place, int64_t to_place, int64_t count) {
                           widen(tensor.data(), to + to_place, from_place, count);
                         }));
  return SpectralBox(std::move(made), shape);
}

Status SpectralBox::transform(KernelContext& context, int axis, Fourier::Direction direction) {
  const Lines lines(shape_, axis);
  if (lines.count == 0) return {};
  MR_ASSIGN(const Fourier fourier, Fourier::create(lines.size, direction));
  MR_TRY(each_line(context, fourier, tensor_, lines, tensor_, lines, [](Number*) {}));
  if (direction == Fourier::Direction::backward)
    scale(tensor_, 1.0 / static_cast<double>(lines.size));
  return {};
}

Status SpectralBox::to_real_line(KernelContext& context, int axis, int64_t size) {
  std::vector<int64_t> dims(shape_.dims().begin(), shape_.dims().end());
  dims[static_cast<size_t>(axis)] = size;
  MR_ASSIGN(const Shape whole, Shape::create(dims));
  MR_ASSIGN(Tensor made, Tensor::zeros(DType::c128, whole));
  if (made.num_elements() > 0) {
    MR_ASSIGN(const Fourier fourier, Fourier::create(size, Fourier::Direction::backward));
    const auto mirror = [size](Number* line) {
      line[0] = line[0].real();
      if (size % 2 == 0) line[size / 2] = line[size / 2].real();
      for (int64_t k = 1; 2 * k < size; ++k) line[size - k] = std::conj(line[k]);
    };
    MR_TRY(each_line(context, fourier, tensor_, Lines(shape_, axis), made, Lines(whole, axis),
                     mirror));
    scale(made, 1.0 / static_cast<double>(size));
  }
  tensor_ = std::move(made);
  shape_ = whole;
  return {};
}

Result<Tensor> SpectralBox::as(KernelContext& context, DType dtype,
                               std::span<const int64_t> sizes) const {
  MR_ASSIGN(const Shape shape, Shape::create(sizes));
  MR_ASSIGN(Tensor made, Tensor::zeros(dtype, shape));
  const NarrowRow narrow =
      of_type<NarrowRow>(dtype, narrow_row<float>, narrow_row<double>,
                         narrow_row<std::complex<float>>, narrow_row<std::complex<double>>);
  const Number* const from = tensor_.flat<Number>().data();
  MR_TRY(each_shared_row(context, shape_, shape,
                         [&](int64_t from_place, int64_t to_place, int64_t count) {
                           narrow(from + from_place, made.mutable_data(), to_place, count);
                         }));
  return made;
}

}  // namespace millrace
