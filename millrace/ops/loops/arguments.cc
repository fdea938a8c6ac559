#include "millrace/ops/loops/arguments.h"

#include <limits>

namespace millrace {
namespace {

template <class T>
std::vector<int64_t> widened(const Tensor& tensor) {
  const std::span<const T> elements = tensor.flat<T>();
  return {elements.begin(), elements.end()};
}

template <class T>
Result<Tensor> narrowed(const Shape& shape, std::span<const int64_t> values) {
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<T>, shape));
  const std::span<T> elements = made.mutable_flat<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < std::numeric_limits<T>::min() || values[i] > std::numeric_limits<T>::max())
      return invalid(values[i], " does not fit ", dtype_name(dtype_of<T>), "; ask for int64");
    elements[i] = static_cast<T>(values[i]);
  }
  return made;
}

}  // namespace

Result<std::vector<int64_t>> read_elements(const Tensor& tensor, std::string_view what) {
  switch (tensor.dtype()) {
    case DType::i8:
      return widened<int8_t>(tensor);
    case DType::u8:
      return widened<uint8_t>(tensor);
    case DType::i16:
      return widened<int16_t>(tensor);
    case DType::u16:
      return widened<uint16_t>(tensor);
    case DType::i32:
      return widened<int32_t>(tensor);
    case DType::i64:
      return widened<int64_t>(tensor);
    default:
      return invalid(what, " is ", dtype_name(tensor.dtype()), "; it must be an integer type");
  }
}

Result<std::vector<int64_t>> read_integers(const Tensor& tensor, std::string_view what) {
  if (tensor.shape().rank() > 1) {
    return invalid(what, " has shape ", tensor.shape().to_string(),
                   "; it must be a vector or a scalar");
  }
  return read_elements(tensor, what);
}

Result<int64_t> read_integer(const Tensor& tensor, std::string_view what) {
  if (tensor.num_elements() != 1)
    return invalid(what, " must be a scalar, but has shape ", tensor.shape().to_string());
  MR_ASSIGN(const std::vector<int64_t> values, read_elements(tensor, what));
  return values[0];
}

Result<Shape> read_shape(const Tensor& tensor, std::string_view what) {
  MR_ASSIGN(const std::vector<int64_t> dims, read_integers(tensor, what));
  return Shape::create(dims).with(what);
}

Result<PartialShape> known_shape(const KnownElements& dims) {
  std::vector<int64_t> sizes;
  for (const std::optional<int64_t>& dim : dims) sizes.push_back(dim.value_or(kUnknownDim));
  return PartialShape::create(sizes);
}

Status infer_shape_of(InferContext& context, std::string_view what, int slot) {
  if (const Tensor* dims = context.constant(slot)) {
    MR_ASSIGN(const Shape shape, read_shape(*dims, what));
    context.set_output(0, shape);
    return {};
  }
  if (const auto known = context.elements(slot)) {
    MR_ASSIGN(PartialShape shape, known_shape(*known).with(what));
    context.set_output(0, std::move(shape));
    return {};
  }
  const PartialShape& dims = context.input(slot);
  if (dims.rank() == 1 && dims.dim(0) != kUnknownDim && dims.dim(0) <= kMaxRank)
    context.set_output(0, PartialShape::of_rank(static_cast<int>(dims.dim(0))));
  return {};
}

Result<PartialShape> read_partial_shape(const Tensor& tensor, std::string_view what) {
  MR_ASSIGN(const std::vector<int64_t> dims, read_integers(tensor, what));
  return PartialShape::create(dims).with(what);
}

Result<int> resolve_axis(int64_t axis, int rank, std::string_view what) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  return invalid(what, " is ", axis, "; for a tensor of rank ", rank, " it must be in [", -rank,
                 ", ", rank, ")");
}

Result<std::vector<bool>> resolve_axes(std::span<const int64_t> axes, int rank,
                                       std::string_view what) {
  std::vector<bool> named(rank, false);
  for (const int64_t axis : axes) {
    MR_ASSIGN(const int resolved, resolve_axis(axis, rank, what));
    if (named[resolved]) {
      return invalid(what, " names axis ", axis,
                     " twice. Axes contains duplicate dimension: ", resolved);
    }
    named[resolved] = true;
  }
  return named;
}

Result<std::optional<std::vector<int64_t>>> constant_integers(const InferContext& context, int slot,
                                                              std::string_view what) {
  const Tensor* constant = context.constant(slot);
  if (constant == nullptr) return std::optional<std::vector<int64_t>>();
  MR_ASSIGN(std::vector<int64_t> values, read_integers(*constant, what));
  return std::optional<std::vector<int64_t>>(std::move(values));
}

Result<Tensor> integer_tensor(DType dtype, const Shape& shape, std::span<const int64_t> values) {
  switch (dtype) {
    case DType::i16:
      return narrowed<int16_t>(shape, values);
    case DType::u16:
      return narrowed<uint16_t>(shape, values);
    case DType::i32:
      return narrowed<int32_t>(shape, values);
    case DType::i64:
      return narrowed<int64_t>(shape, values);
    default:
      return invalid(dtype_name(dtype), " is no type for sizes and indices");
  }
}

}  // namespace millrace
