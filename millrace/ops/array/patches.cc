// Part of families.h: register_patches.
#include <algorithm>
#include <utility>
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

// Along one axis: how large a patch is, how far apart patches and the pixels of one are.
struct PatchAxis {
  int64_t size = 1, stride = 1, rate = 1;
  bool is_same = false;  // padded so that a patch is centred on each stride-th pixel
  // Where strides are so long that pixels are left over, the first patch begins among them.
  bool begins_inside = false;

  int64_t reach() const { return (size - 1) * rate + 1; }
  int64_t count(int64_t dim) const {
    if (is_same) return dim / stride + (dim % stride != 0 ? 1 : 0);
    return dim < reach() ? 0 : (dim - reach()) / stride + 1;
  }
  int64_t padding(int64_t dim) const {
    if (!is_same) return 0;
    const int64_t lacking = (count(dim) - 1) * stride - dim + reach();
    return (begins_inside ? lacking : std::max<int64_t>(lacking, 0)) / 2;
  }
};

// Of the axes between the first and the last: rows and columns, and planes before them in volumes.
using PatchAxes = std::vector<PatchAxis>;

// The axes of an op whose input has `rank` of them. The one for volumes has no rates.
Result<PatchAxes> read_patch_axes(const AttrView& attrs, int rank) {
  PatchAxes axes(static_cast<size_t>(rank) - 2);
  constexpr int64_t kMost = int64_t{1} << 31;
  const std::pair<const char*, int64_t PatchAxis::*> lists[] = {
      {"ksizes", &PatchAxis::size}, {"strides", &PatchAxis::stride}, {"rates", &PatchAxis::rate}};
  for (const auto& [name, field] : lists) {
    if (attrs.find(name) == nullptr) continue;
    MR_ASSIGN(const std::vector<int64_t> list, attrs.integers(name));
    if (static_cast<int>(list.size()) != rank) {
      return invalid(name, " must have ", rank, " entries, one per axis of the input; it has ",
                     list.size());
    }
    if (list.front() != 1 || list.back() != 1) {
      return unimplemented(attrs.op().name, " takes patches of the axes between only: ", name,
                           "[0] and ", name, "[", rank - 1, "] must be 1");
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].*field = list[i + 1];
      if (list[i + 1] < 1 || list[i + 1] > kMost)
        return invalid(name, "[", i + 1, "] = ", list[i + 1], " must be positive");
    }
  }
  MR_ASSIGN(const std::string padding, attrs.string("padding"));
  for (PatchAxis& axis : axes) {
    axis.is_same = padding == "SAME";
    axis.begins_inside = rank == 5;  // TensorFlow's of images do not
  }
  return axes;
}

struct BoundPatchAxes {
  int rank;
  Result<PatchAxes> read(const KernelSpec& spec) const { return read_patch_axes(spec.attrs, rank); }
};

Result<PartialShape> patches_shape(const PartialShape& images, const PatchAxes& axes) {
  std::vector<int64_t> dims(images.dims().begin(), images.dims().end());
  int64_t& elements = dims.back();
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t& dim = dims[i + 1];
    if (dim != kUnknownDim) dim = axes[i].count(dim);
    if (elements != kUnknownDim && __builtin_mul_overflow(elements, axes[i].size, &elements))
      return invalid("a patch has more than 2^63 - 1 elements: its axis ", i + 1, " alone has ",
                     axes[i].size);
  }
  return PartialShape::create(dims);
}

// Which pixel a patch begins at along each axis, and how the pixels of all patches are reached.
class PatchWalk {
 public:
  PatchWalk(const PatchAxes& axes, const Shape& from, const Shape& to)
      : axes_(axes), from_(from), to_(to), begin_(axes.size()) {}

  // The patch whose number among all of an image is `patch`.
  void go_to(int64_t patch) {
    for (size_t i = axes_.size(); i-- > 0;) {
      const int64_t dim = from_.dim(static_cast<int>(i) + 1);
      const int64_t count = to_.dim(static_cast<int>(i) + 1);
      begin_[i] = patch % count * axes_[i].stride - axes_[i].padding(dim);
      patch /= count;
    }
  }
  // Lines of pixels along the last axis that a patch has.
  int64_t lines() const {
    int64_t lines = 1;
    for (size_t i = 0; i + 1 < axes_.size(); ++i) lines *= axes_[i].size;
    return lines;
  }
  // The number in its image of the first pixel of that line of the image which holds a line of the
  // patch; -1 if it lies outside.
  int64_t line(int64_t number) const {
    int64_t at = 0, step = 1;
    for (size_t i = axes_.size() - 1; i-- > 0;) {
      const int64_t dim = from_.dim(static_cast<int>(i) + 1);
      const int64_t place = begin_[i] + number % axes_[i].size * axes_[i].rate;
      number /= axes_[i].size;
      if (place < 0 || place >= dim) return -1;
      at += place * step;
      step *= dim;
    }
    return at * from_.dim(from_.rank() - 2);
  }
  // Where pixel `k` of a line lies along the last axis; -1 if outside.
  int64_t column(int64_t k) const {
    const int64_t place = begin_.back() + k * axes_.back().rate;
    return place >= 0 && place < from_.dim(from_.rank() - 2) ? place : -1;
  }

 private:
  const PatchAxes& axes_;
  const Shape &from_, &to_;
  std::vector<int64_t> begin_;
};

Result<Tensor> extract_patches(KernelContext& context, const PatchAxes& axes) {
  const Tensor& images = context.input(0);
  const Shape& from = images.shape();
  if (from.rank() != static_cast<int>(axes.size()) + 2)
    return invalid("input must be ", axes.size() + 2, "-dimensional: ", from.to_string());
  MR_ASSIGN(const PartialShape known, patches_shape(from, axes));
  const Shape shape = *known.to_shape();
  MR_ASSIGN(Tensor made, Tensor::zeros(images.dtype(), shape));
  if (made.num_elements() == 0 || images.num_elements() == 0) return made;
  const int64_t depth = from.dim(from.rank() - 1);
  const int64_t bytes = depth * static_cast<int64_t>(dtype_size(images.dtype()));
  const int64_t pixels = images.num_elements() / depth / from.dim(0);
  const int64_t patches = made.num_elements() / shape.dim(shape.rank() - 1) / shape.dim(0);
  const char* source = static_cast<const char*>(images.data());
  char* to = static_cast<char*>(made.mutable_data());
  PatchWalk walk(axes, from, shape);
  const int64_t lines = walk.lines(), length = axes.back().size;
  CancelProbe probe(context);
  for (int64_t image = 0; image < from.dim(0); ++image, source += pixels * bytes) {
    for (int64_t patch = 0; patch < patches; ++patch) {
      walk.go_to(patch);
      for (int64_t i = 0; i < lines; ++i) {
        const int64_t line = walk.line(i);
        for (int64_t k = 0; k < length; ++k, to += bytes) {
          const int64_t column = walk.column(k);
          if (line < 0 || column < 0) continue;
          copy_elements(images.dtype(), source + (line + column) * bytes, to, depth);
        }
        if (!probe.go_on(length * depth)) return probe.status();
      }
    }
  }
  return made;
}

InferFn infer_patches(int rank) {
  return [rank](InferContext& context) -> Status {
    MR_ASSIGN(const PatchAxes axes, read_patch_axes(context.attrs(), rank));
    MR_ASSIGN(const PartialShape images, context.input_of_rank(0, rank));
    if (!images.has_rank()) return {};
    return context.set_output(0, patches_shape(images, axes));
  };
}

}  // namespace

Status register_patches(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "ExtractImagePatches",
      .doc = "Patches of images, strides apart, made of pixels rates apart: each is a row of all "
             "elements of its pixels. Beyond the edge are zeros.",
      .signature =
          "images: T -> patches: T | ksizes: list(int) >= 4, strides: list(int) >= 4, "
          "rates: list(int) >= 4, T: {bfloat16, half, float, double, int8, int16, int32, int64, "
          "uint8, uint16, uint32, uint64, complex64, complex128, bool}, "
          "padding: {'SAME', 'VALID'}",
      .infer = infer_patches(4),
      .cpu = kernel_with(extract_patches, BoundPatchAxes{4}),
      .grad = grad::extract_patches,
      .examples = {"[[[[1] [2] [3]] [[4] [5] [6]]]] -> [[[[1 2 4 5] [2 3 5 6]]]] | "
                   "ksizes = {1, 2, 2, 1}, strides = {1, 1, 1, 1}, rates = {1, 1, 1, 1}, "
                   "padding = 'VALID', T = float",
                   "[[[[1] [2]]]] -> [[[[1 2] [2 0]]]] | ksizes = {1, 1, 2, 1}, "
                   "strides = {1, 1, 1, 1}, rates = {1, 1, 1, 1}, padding = 'SAME', T = float"},
  }));
  return ops.add({
      .name = "ExtractVolumePatches",
      .doc = "Patches of volumes, strides apart: each is a row of all elements of its pixels. "
             "Beyond the edge are zeros.",
      .signature = "input: T -> patches: T | ksizes: list(int) >= 5, strides: list(int) >= 5, "
                   "T: real, padding: {'SAME', 'VALID'}",
      .infer = infer_patches(5),
      .cpu = kernel_with(extract_patches, BoundPatchAxes{5}),
      .grad = grad::extract_patches,
      .examples = {"[[[[[1] [2] [3]]] [[[4] [5] [6]]]]] -> [[[[[1 2 4 5] [2 3 5 6]]]]] | "
                   "ksizes = {1, 2, 1, 2, 1}, strides = {1, 1, 1, 1, 1}, padding = 'VALID', "
                   "T = float",
                   "[[[[[1] [2]] [[3] [4]]]]] -> [[[[[1 2 3 4]]]]] | ksizes = {1, 1, 2, 2, 1}, "
                   "strides = {1, 2, 2, 2, 1}, padding = 'SAME'",
                   "[[[[[1 5]]] [[[2 6]]]]] -> [[[[[1 5 2 6]]] [[[2 6 0 0]]]]] | "
                   "ksizes = {1, 2, 1, 1, 1}, strides = {1, 1, 1, 1, 1}, padding = 'SAME', "
                   "T = double",
                   "[[[[[1] [2] [3]]]]] -> [[[[[2]]]]] | ksizes = {1, 1, 1, 1, 1}, "
                   "strides = {1, 1, 1, 3, 1}, padding = 'SAME'"},
  });
}

}  // namespace millrace
