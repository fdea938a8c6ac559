#include "millrace/ops/random/sizes.h"

#include "millrace/ops/loops/arguments.h"

namespace millrace {
namespace {

// The bits of an integer scalar of any type, as far as it fits 64.
Result<uint64_t> integer_bits(const Tensor& tensor, std::string_view what) {
  if (!tensor.shape().is_scalar())
    return invalid(what, " must be 0-D, got shape ", tensor.shape().to_string());
  if (tensor.dtype() == DType::u64) return tensor.item<uint64_t>();
  if (tensor.dtype() == DType::u32) return uint64_t{tensor.item<uint32_t>()};
  MR_ASSIGN(const int64_t value, read_integer(tensor, what));
  return static_cast<uint64_t>(value);
}

}  // namespace

Result<PhiloxBlocks> seeded_blocks(const Tensor& seed) {
  if (seed.shape() != Shape{2})
    return invalid("seed must have shape [2], not ", seed.shape().to_string());
  if (seed.dtype() == DType::u64) {
    const auto bits = seed.flat<uint64_t>();
    return PhiloxBlocks::scrambled(bits[0], bits[1]);
  }
  if (seed.dtype() == DType::u32) {
    const auto bits = seed.flat<uint32_t>();
    return PhiloxBlocks::scrambled(bits[0], bits[1]);
  }
  MR_ASSIGN(const std::vector<int64_t> seeds, read_elements(seed, "seed"));
  return PhiloxBlocks::scrambled(static_cast<uint64_t>(seeds[0]), static_cast<uint64_t>(seeds[1]));
}

Result<Shape> wanted_shape(KernelContext& context) {
  if (context.input(0).shape().rank() != 1) {
    return invalid("shape must be a vector of {int32,int64}, got shape ",
                   context.input(0).shape().to_string());
  }
  return read_shape(context.input(0), "shape");
}

Result<IntegerRange> wanted_range(const Tensor& low, const Tensor& high, const Shape& shape) {
  MR_ASSIGN(const uint64_t from, integer_bits(low, "minval"));
  MR_ASSIGN(const uint64_t to, integer_bits(high, "maxval"));
  const bool is_signed = low.dtype() == DType::i32 || low.dtype() == DType::i64;
  const bool is_empty =
      is_signed ? static_cast<int64_t>(from) >= static_cast<int64_t>(to) : from >= to;
  if (is_empty && shape.num_elements() > 0) {
    if (is_signed)
      return invalid("Need minval < maxval, got ", static_cast<int64_t>(from),
                     " >= ", static_cast<int64_t>(to));
    return invalid("Need minval < maxval, got ", from, " >= ", to);
  }
  return IntegerRange{false, from, to - from};
}

Result<Tensor> classes_output(KernelContext& context) {
  const Shape& logits = context.input(0).shape();
  if (logits.rank() != 2)
    return invalid("logits should be a matrix, got shape ", logits.to_string());
  if (!context.input(1).shape().is_scalar())
    return invalid("num_samples should be a scalar, got shape ",
                   context.input(1).shape().to_string());
  MR_ASSIGN(const int64_t samples, read_integer(context.input(1), "num_samples"));
  if (samples < 0) return invalid("num_samples should be nonnegative, got ", samples);
  if (samples > 0 && logits.dim(0) > 0 && logits.dim(1) <= 0)
    return invalid("num_classes should be positive, got ", logits.dim(1));
  MR_ASSIGN(const Shape shape, Shape::create(std::vector<int64_t>{logits.dim(0), samples}));
  return context.allocate(0, shape);
}

Status infer_classes(InferContext& context) {
  MR_ASSIGN(const PartialShape logits, context.input_of_rank(0, 2));
  MR_TRY(context.input_of_rank(1, 0));
  MR_ASSIGN(const auto samples, constant_integers(context, 1, "num_samples"));
  if (samples && samples->front() < 0)
    return invalid("num_samples should be nonnegative, got ", samples->front());
  context.set_output(0, PartialShape{logits.has_rank() ? logits.dim(0) : kUnknownDim,
                                     samples ? samples->front() : kUnknownDim});
  return {};
}

}  // namespace millrace
