// Part of families.h: register_ffts.
#include <algorithm>

#include "millrace/base/str_cat.h"
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/spectral/boxes.h"
#include "millrace/ops/spectral/families.h"
#include "millrace/ops/spectral/gradients.h"

namespace millrace {
namespace {

using Direction = Fourier::Direction;

// What goes in and comes out: complex numbers, or a real signal at one end, whose spectrum is kept
// as the half that says it all.
enum class Signal : uint8_t { complex, real_in, real_out };

struct Transform {
  Direction direction;
  Signal signal;
  int rank;  // of the last axes; 0: along those that input 2 names
};

// Along which axes, and how long those are.
struct Extent {
  std::vector<int> axes;
  std::vector<int64_t> lengths;
};

int64_t half_of(int64_t length) { return length == 0 ? 0 : length / 2 + 1; }

Result<std::vector<int64_t>> lengths_of(const Tensor& tensor, size_t count) {
  if (tensor.shape() != Shape{static_cast<int64_t>(count)})
    return invalid("fft_length must have shape [", count, "], not ", tensor.shape().to_string());
  MR_ASSIGN(std::vector<int64_t> lengths, read_integers(tensor, "fft_length"));
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) return invalid("fft_length[", i, "] must >= 0, but got: ", lengths[i]);
  }
  return lengths;
}

// Of what an op with named axes is told.
Result<Extent> named_extent(KernelContext& context) {
  Extent made;
  const Tensor& axes = context.input(2);
  if (axes.shape().rank() != 1)
    return invalid("axes must be a vector, not of shape ", axes.shape().to_string());
  MR_ASSIGN(const std::vector<int64_t> numbers, read_integers(axes, "axes"));
  MR_TRY(resolve_axes(numbers, context.input(0).shape().rank(), "axes").status());
  for (const int64_t number : numbers) {
    MR_ASSIGN(made.axes.emplace_back(),
              resolve_axis(number, context.input(0).shape().rank(), "axes"));
  }
  MR_ASSIGN(made.lengths, lengths_of(context.input(1), numbers.size()));
  return made;
}

Result<Extent> last_extent(KernelContext& context, const Transform& transform) {
  const Shape& shape = context.input(0).shape();
  if (shape.rank() < transform.rank)
    return invalid("Input must have rank of at least ", transform.rank,
                   " but got: ", shape.to_string());
  Extent made;
  for (int axis = shape.rank() - transform.rank; axis < shape.rank(); ++axis) {
    made.axes.push_back(axis);
    made.lengths.push_back(shape.dim(axis));
  }
  if (transform.signal == Signal::complex) return made;
  MR_ASSIGN(made.lengths, lengths_of(context.input(1), made.axes.size()));
  for (size_t i = 0; i < made.axes.size(); ++i) {
    const bool halves = transform.signal == Signal::real_out && i + 1 == made.axes.size();
    const int64_t least = halves ? half_of(made.lengths[i]) : made.lengths[i];
    // Nothing at all is filled up, as in TensorFlow.
    if (shape.dim(made.axes[i]) == 0 || shape.dim(made.axes[i]) >= least) continue;
    return invalid("Input dimension ", made.axes[i], " must have length of at least ", least,
                   " but got: ", shape.dim(made.axes[i]));
  }
  return made;
}

Result<Tensor> transformed(KernelContext& context, const Transform& transform) {
  MR_ASSIGN(const Extent extent,
            transform.rank == 0 ? named_extent(context) : last_extent(context, transform));
  const Tensor& input = context.input(0);
  std::vector<int64_t> sizes(input.shape().dims().begin(), input.shape().dims().end());
  for (size_t i = 0; i < extent.axes.size(); ++i)
    sizes[static_cast<size_t>(extent.axes[i])] = extent.lengths[i];
  std::vector<int64_t> made = sizes, taken = sizes;
  const bool is_real = transform.signal != Signal::complex && !extent.axes.empty();
  const int last = is_real ? extent.axes.back() : 0;
  if (is_real) {
    auto& halved = transform.signal == Signal::real_in ? made : taken;
    halved[static_cast<size_t>(last)] = half_of(extent.lengths.back());
  }
  if (input.num_elements() == 0) {
    MR_ASSIGN(const Shape shape, Shape::create(made));
    return Tensor::zeros(context.output_dtype(0), shape);
  }
  MR_ASSIGN(SpectralBox box, SpectralBox::of(context, input, taken));
  for (const int axis : extent.axes) {
    if (transform.signal == Signal::real_out && axis == last) continue;
    MR_TRY(box.transform(context, axis, transform.direction));
  }
  if (transform.signal == Signal::real_out && is_real)
    MR_TRY(box.to_real_line(context, last, extent.lengths.back()));
  return box.as(context, context.output_dtype(0), made);
}

// --- shapes ---

InferFn infer_transform(Transform transform) {
  return [transform](InferContext& context) -> Status {
    const PartialShape& input = context.input(0);
    if (!input.has_rank()) {
      context.set_output(0, PartialShape::unknown());
      return {};
    }
    if (input.rank() < transform.rank)
      return invalid("Shape must be at least rank ", transform.rank, " but is rank ", input.rank());
    if (transform.rank > 0 && transform.signal == Signal::complex) {
      context.set_output(0, input);
      return {};
    }
    std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
    MR_TRY(context.input_of_rank(1, 1));
    MR_ASSIGN(const auto lengths, constant_integers(context, 1, "fft_length"));
    std::vector<int64_t> axes;
    if (transform.rank == 0) {
      MR_TRY(context.input_of_rank(2, 1));
      MR_ASSIGN(const auto named, constant_integers(context, 2, "axes"));
      if (!named) {
        context.set_output(0, PartialShape::of_rank(input.rank()));
        return {};
      }
      axes = *named;
    } else {
      for (int axis = -transform.rank; axis < 0; ++axis) axes.push_back(axis);
    }
    if (lengths && lengths->size() != axes.size())
      return invalid("fft_length must have shape [", axes.size(), "]");
    for (size_t i = 0; i < axes.size(); ++i) {
      MR_ASSIGN(const int axis, resolve_axis(axes[i], input.rank(), "axes"));
      const bool halves = transform.signal == Signal::real_in && i + 1 == axes.size();
      const int64_t length = lengths ? (*lengths)[i] : kUnknownDim;
      if (lengths && length < 0) return invalid("fft_length[", i, "] must >= 0, but got: ", length);
      dims[static_cast<size_t>(axis)] = halves && lengths ? half_of(length) : length;
    }
    return context.set_output(0, PartialShape::create(dims));
  };
}

// --- ops ---

KernelFactory transform_kernel(Transform transform) {
  return kernel([transform](KernelContext& context) { return transformed(context, transform); });
}

constexpr const char* kAxes[] = {"", "the last axis", "the last two axes", "the last three axes"};

std::string with_rank(std::string_view name, int rank) {
  return rank == 1 ? std::string(name) : str_cat(name, rank, "D");
}

// An example along the last axis, wrapped so that it has `rank` axes.
std::string wrapped(std::string_view value, int rank) {
  return str_cat(std::string(static_cast<size_t>(rank - 1), '['), value,
                 std::string(static_cast<size_t>(rank - 1), ']'));
}
std::string ones_and(int rank, int last) {
  std::string made = "[";
  for (int i = 1; i < rank; ++i) made += "1 ";
  return str_cat(made, last, "]");
}

Status add_complex(OpRegistry& ops, int rank) {
  const std::string x = wrapped("[1 2 3 4]", rank), even = wrapped("[1 0 1 0]", rank);
  const std::string spectrum = wrapped("[2 0 2 0]", rank), back = wrapped("[0.5 0 0.5 0]", rank);
  for (const bool is_old : {false, true}) {
    const std::string signature =
        is_old ? "input: complex64 -> output: complex64"
               : "input: Tcomplex -> output: Tcomplex | Tcomplex: {complex64, complex128} = "
                 "complex64";
    const std::string prefix = is_old ? "Batch" : "";
    const Transform forward{Direction::forward, Signal::complex, rank};
    MR_TRY(ops.add({
        .name = prefix + with_rank("FFT", rank),
        .doc = str_cat("The Fourier transform along ", kAxes[rank], "."),
        .signature = signature,
        .infer = infer_transform(forward),
        .cpu = transform_kernel(forward),
        .grad = grad::fft,
        .cost = Cost::heavy,
        .examples = {str_cat(even, " -> ", spectrum), x},
    }));
    const Transform backward{Direction::backward, Signal::complex, rank};
    MR_TRY(ops.add({
        .name = prefix + with_rank("IFFT", rank),
        .doc = str_cat("The inverse Fourier transform along ", kAxes[rank], "."),
        .signature = signature,
        .infer = infer_transform(backward),
        .cpu = transform_kernel(backward),
        .grad = grad::ifft,
        .cost = Cost::heavy,
        .examples = {str_cat(even, " -> ", back), x},
    }));
  }
  return {};
}

Status add_real(OpRegistry& ops, int rank) {
  constexpr const char* kTypes =
      " | Treal: {float, double} = float, Tcomplex: {complex64, complex128} = complex64";
  const std::string length = ones_and(rank, 4);
  const Transform forward{Direction::forward, Signal::real_in, rank};
  MR_TRY(ops.add({
      .name = with_rank("RFFT", rank),
      .doc = str_cat("The Fourier transform of a real signal along ", kAxes[rank],
                     ", of which the first fft_length are taken: the half of the spectrum that "
                     "says it all."),
      .signature = str_cat("input: Treal, fft_length: int32 -> output: Tcomplex", kTypes),
      .infer = infer_transform(forward),
      .cpu = transform_kernel(forward),
      .grad = grad::rfft,
      .cost = Cost::heavy,
      .examples = {str_cat(wrapped("[1 0 1 0]", rank), ", ", length, " -> ",
                           wrapped("[2 0 2]", rank))},
  }));
  const Transform backward{Direction::backward, Signal::real_out, rank};
  return ops.add({
      .name = with_rank("IRFFT", rank),
      .doc = str_cat("The real signal of fft_length that has, along ", kAxes[rank],
                     ", the spectrum of which the input is a half."),
      .signature = str_cat("input: Tcomplex, fft_length: int32 -> output: Treal", kTypes),
      .infer = infer_transform(backward),
      .cpu = transform_kernel(backward),
      .grad = grad::irfft,
      .cost = Cost::heavy,
      .examples = {str_cat(wrapped("[2 0 2]", rank), ", ", length, " -> ",
                           wrapped("[1 0 1 0]", rank))},
  });
}

Status add_named(OpRegistry& ops, std::string name, std::string doc, Transform transform,
                 const std::string& types, std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = types,
      .infer = infer_transform(transform),
      .cpu = transform_kernel(transform),
      .not_differentiable = "TensorFlow gives it none; FFT, FFT2D, FFT3D and their kin have one",
      .cost = Cost::heavy,
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_ffts(OpRegistry& ops) {
  for (const int rank : {1, 2, 3}) {
    MR_TRY(add_complex(ops, rank));
    MR_TRY(add_real(ops, rank));
  }
  const std::string complex =
      "input: Tcomplex, fft_length: int32, axes: int32 -> output: Tcomplex | Tcomplex: {complex64, "
      "complex128} = complex64";
  const std::string types =
      " | Treal: {float, double} = float, Tcomplex: {complex64, complex128} = complex64";
  const std::string to_half =
      "input: Treal, fft_length: int32, axes: int32 -> output: Tcomplex" + types;
  const std::string to_real =
      "input: Tcomplex, fft_length: int32, axes: int32 -> output: Treal" + types;
  MR_TRY(add_named(ops, "FFTND",
                   "The Fourier transform along the axes, each cut off at its fft_length or filled "
                   "with zeros to it.",
                   {Direction::forward, Signal::complex, 0}, complex,
                   "[[1 5] [0 5] [1 5]], [4 1], [0 1] -> [[2] [0] [2] [0]]"));
  MR_TRY(add_named(ops, "IFFTND", "The inverse of FFTND.",
                   {Direction::backward, Signal::complex, 0}, complex,
                   "[[1] [0] [1] [0]], [4], [0] -> [[0.5] [0] [0.5] [0]]"));
  MR_TRY(add_named(ops, "RFFTND",
                   "The Fourier transform of a real signal along the axes; along the last that is "
                   "named, the half that says it all.",
                   {Direction::forward, Signal::real_in, 0}, to_half,
                   "[[1] [0] [1] [0]], [4], [0] -> [[2] [0] [2]]"));
  return add_named(ops, "IRFFTND", "The inverse of RFFTND.",
                   {Direction::backward, Signal::real_out, 0}, to_real,
                   "[[2] [0] [2]], [4], [0] -> [[1] [0] [1] [0]]");
}

}  // namespace millrace
