// Part of families.h: register_patches.
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

  int64_t reach() const { return (size - 1) * rate + 1; }
  int64_t count(int64_t dim) const {
    if (is_same) return dim / stride + (dim % stride != 0 ? 1 : 0);
    return dim < reach() ? 0 : (dim - reach()) / stride + 1;
  }
  int64_t padding(int64_t dim) const {
    if (!is_same) return 0;
    return std::max<int64_t>((count(dim) - 1) * stride - dim + reach(), 0) / 2;
  }
};

struct PatchAxes {
  PatchAxis rows, columns;
};

Result<PatchAxes> read_patch_axes(const AttrView& attrs) {
  std::vector<int64_t> lists[3];
  const char* names[3] = {"ksizes", "strides", "rates"};
  constexpr int64_t kMost = int64_t{1} << 31;
  for (int i = 0; i < 3; ++i) {
    MR_ASSIGN(lists[i], attrs.integers(names[i]));
    if (lists[i].size() != 4) {
      return invalid(names[i], " must have 4 entries, one per axis of the images; it has ",
                     lists[i].size());
    }
    if (lists[i][0] != 1 || lists[i][3] != 1) {
      return unimplemented("ExtractImagePatches takes patches of rows and columns only: ", names[i],
                           "[0] and ", names[i], "[3] must be 1");
    }
    for (const int axis : {1, 2}) {
      if (lists[i][axis] < 1 || lists[i][axis] > kMost)
        return invalid(names[i], "[", axis, "] = ", lists[i][axis], " must be positive");
    }
  }
  MR_ASSIGN(const std::string padding, attrs.string("padding"));
  const bool is_same = padding == "SAME";
  return PatchAxes{{lists[0][1], lists[1][1], lists[2][1], is_same},
                   {lists[0][2], lists[1][2], lists[2][2], is_same}};
}

struct BoundPatchAxes {
  Result<PatchAxes> read(const KernelSpec& spec) const { return read_patch_axes(spec.attrs); }
};

Result<PartialShape> patches_shape(const PartialShape& images, const PatchAxes& axes) {
  std::vector<int64_t> dims(images.dims().begin(), images.dims().end());
  if (dims[1] != kUnknownDim) dims[1] = axes.rows.count(dims[1]);
  if (dims[2] != kUnknownDim) dims[2] = axes.columns.count(dims[2]);
  int64_t pixels = 0;
  if (__builtin_mul_overflow(axes.rows.size, axes.columns.size, &pixels) ||
      (dims[3] != kUnknownDim && __builtin_mul_overflow(dims[3], pixels, &dims[3])))
    return invalid("a patch of ksizes ", axes.rows.size, " by ", axes.columns.size,
                   " has more than 2^63 - 1 elements");
  return PartialShape::create(dims);
}

Result<Tensor> extract_patches(KernelContext& context, const PatchAxes& axes) {
  const Tensor& images = context.input(0);
  const Shape& from = images.shape();
  if (from.rank() != 4) return invalid("input must be 4-dimensional: ", from.to_string());
  MR_ASSIGN(const PartialShape known, patches_shape(from, axes));
  const Shape shape = *known.to_shape();
  MR_ASSIGN(Tensor made, Tensor::zeros(images.dtype(), shape));
  if (made.num_elements() == 0 || images.num_elements() == 0) return made;
  const int64_t height = from.dim(1), width = from.dim(2), depth = from.dim(3);
  const int64_t bytes = depth * static_cast<int64_t>(dtype_size(images.dtype()));
  const int64_t above = axes.rows.padding(height), left = axes.columns.padding(width);
  const char* const source = static_cast<const char*>(images.data());
  char* to = static_cast<char*>(made.mutable_data());
  CancelProbe probe(context);
  const int64_t patches = shape.dim(0) * shape.dim(1) * shape.dim(2);
  for (int64_t patch = 0; patch < patches; ++patch) {
    const int64_t image = patch / (shape.dim(1) * shape.dim(2));
    const int64_t top = patch / shape.dim(2) % shape.dim(1) * axes.rows.stride - above;
    const int64_t begin = patch % shape.dim(2) * axes.columns.stride - left;
    for (int64_t i = 0; i < axes.rows.size; ++i) {
      const int64_t row = top + i * axes.rows.rate;
      for (int64_t j = 0; j < axes.columns.size; ++j, to += bytes) {
        const int64_t column = begin + j * axes.columns.rate;
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        const int64_t at = (image * height + row) * width + column;
        copy_elements(images.dtype(), source + at * bytes, to, depth);
      }
      if (!probe.go_on(axes.columns.size * depth)) return probe.status();
    }
  }
  return made;
}

Status infer_patches(InferContext& context) {
  MR_ASSIGN(const PatchAxes axes, read_patch_axes(context.attrs()));
  MR_ASSIGN(const PartialShape images, context.input_of_rank(0, 4));
  if (!images.has_rank()) return {};
  return context.set_output(0, patches_shape(images, axes));
}

}  // namespace

Status register_patches(OpRegistry& ops) {
  return ops.add({
      .name = "ExtractImagePatches",
      .doc = "Patches of images, strides apart, made of pixels rates apart: each is a row of all "
             "elements of its pixels. Beyond the edge are zeros.",
      .signature =
          "images: T -> patches: T | ksizes: list(int) >= 4, strides: list(int) >= 4, "
          "rates: list(int) >= 4, T: {bfloat16, half, float, double, int8, int16, int32, int64, "
          "uint8, uint16, uint32, uint64, complex64, complex128, bool}, "
          "padding: {'SAME', 'VALID'}",
      .infer = infer_patches,
      .cpu = kernel_with(extract_patches, BoundPatchAxes()),
      .grad = grad::extract_image_patches,
      .examples = {"[[[[1] [2] [3]] [[4] [5] [6]]]] -> [[[[1 2 4 5] [2 3 5 6]]]] | "
                   "ksizes = {1, 2, 2, 1}, strides = {1, 1, 1, 1}, rates = {1, 1, 1, 1}, "
                   "padding = 'VALID', T = float",
                   "[[[[1] [2]]]] -> [[[[1 2] [2 0]]]] | ksizes = {1, 1, 2, 1}, "
                   "strides = {1, 1, 1, 1}, rates = {1, 1, 1, 1}, padding = 'SAME', T = float"},
  });
}

}  // namespace millrace
