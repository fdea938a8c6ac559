// Part of families.h: register_depths.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

struct BlockLayout {
  int64_t size = 0;
  bool channels_first = false;

  int height() const { return channels_first ? 2 : 1; }
  int depth() const { return channels_first ? 1 : 3; }

  static Result<BlockLayout> from(const AttrView& attrs) {
    BlockLayout layout;
    MR_ASSIGN(layout.size, attrs.integer("block_size"));
    MR_ASSIGN(const std::string format, attrs.string("data_format"));
    if (format == "NCHW_VECT_C")
      return invalid("NCHW_VECT_C is a layout of GPUs; on a CPU data_format is NHWC or NCHW");
    layout.channels_first = format == "NCHW";
    return layout;
  }
};
struct BoundBlockLayout {
  Result<BlockLayout> read(const KernelSpec& spec) const { return BlockLayout::from(spec.attrs); }
};

enum class Towards : uint8_t { depth, space };

Result<PartialShape> depth_shape(const PartialShape& input, const BlockLayout& layout,
                                 Towards towards) {
  std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
  int64_t& height = dims[static_cast<size_t>(layout.height())];
  int64_t& width = dims[static_cast<size_t>(layout.height()) + 1];
  int64_t& depth = dims[static_cast<size_t>(layout.depth())];
  int64_t area = 0;
  if (__builtin_mul_overflow(layout.size, layout.size, &area))
    return invalid("block_size ", layout.size, " is too large");
  const auto scale = [](int64_t& dim, int64_t by) {
    return dim == kUnknownDim || !__builtin_mul_overflow(dim, by, &dim);
  };
  const auto divide = [](int64_t& dim, int64_t by) {
    if (dim == kUnknownDim) return true;
    if (dim % by != 0) return false;
    dim /= by;
    return true;
  };
  if (towards == Towards::depth) {
    if (!divide(height, layout.size) || !divide(width, layout.size)) {
      return invalid("Image width ", width, " and height ", height,
                     " should be divisible by block_size: ", layout.size);
    }
    if (!scale(depth, area)) return invalid("depth times block_size squared overflows int64");
  } else {
    if (!divide(depth, area)) {
      return invalid("Input depth dimension ", depth, " should be divisible by: ", area);
    }
    if (!scale(height, layout.size) || !scale(width, layout.size))
      return invalid("height or width times block_size overflows int64");
  }
  return PartialShape::create(dims);
}

Result<Tensor> move_depth(KernelContext& context, const BlockLayout& layout, Towards towards) {
  const Tensor& input = context.input(0);
  if (input.shape().rank() != 4)
    return invalid("Input rank should be: 4 instead of: ", input.shape().rank());
  MR_ASSIGN(const PartialShape known, depth_shape(input.shape(), layout, towards));
  const Shape shape = *known.to_shape();
  // Both shapes with the blocks as axes of their own: of the image (batch, height, by, width, bx,
  // depth) and of the deep one (batch, height, width, by, bx, depth), or with the depth first.
  const Shape& deep = towards == Towards::depth ? shape : input.shape();
  const int64_t batch = deep.dim(0), size = layout.size, area = size * size;
  const int64_t height = deep.dim(layout.height()), width = deep.dim(layout.height() + 1);
  const int64_t depth = deep.dim(layout.depth()) / area;
  std::vector<int64_t> image, packed;
  std::vector<int> image_axes, packed_axes;  // which of (batch, height, by, width, bx, depth)
  if (layout.channels_first) {
    image_axes = {0, 5, 1, 2, 3, 4};
    packed_axes = {0, 2, 4, 5, 1, 3};
  } else {
    image_axes = {0, 1, 2, 3, 4, 5};
    packed_axes = {0, 1, 3, 2, 4, 5};
  }
  const int64_t sizes[6] = {batch, height, size, width, size, depth};
  const auto sizes_of = [&](const std::vector<int>& axes) {
    std::vector<int64_t> dims;
    for (const int axis : axes) dims.push_back(sizes[axis]);
    return dims;
  };
  const std::vector<int>& from_axes = towards == Towards::depth ? image_axes : packed_axes;
  const std::vector<int>& to_axes = towards == Towards::depth ? packed_axes : image_axes;
  const Strides own = row_major_strides(sizes_of(from_axes));
  int64_t stride_of[6];
  for (size_t i = 0; i < 6; ++i) stride_of[from_axes[i]] = own[i];
  std::vector<int64_t> strides;
  for (const int axis : to_axes) strides.push_back(stride_of[axis]);
  MR_ASSIGN(const Shape box, Shape::create(sizes_of(to_axes)));
  MR_ASSIGN(const Tensor made, copied_box(box, input, {0, strides}, context));
  return made.reshaped(shape);
}

Status infer_depth(InferContext& context, Towards towards) {
  MR_ASSIGN(const BlockLayout layout, BlockLayout::from(context.attrs()));
  MR_ASSIGN(const PartialShape input, context.input_of_rank(0, 4));
  if (!input.has_rank()) return {};
  return context.set_output(0, depth_shape(input, layout, towards));
}

}  // namespace

Status register_depths(OpRegistry& ops) {
  const std::string signature =
      "input: T -> output: T | T: type, block_size: int >= 2, "
      "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'";
  MR_TRY(ops.add({
      .name = "SpaceToDepth",
      .doc = "Images whose blocks of block_size by block_size pixels become one pixel, with all "
             "their channels.",
      .signature = signature,
      .infer = [](InferContext& context) { return infer_depth(context, Towards::depth); },
      .cpu = kernel_with(
          [](KernelContext& context, const BlockLayout& layout) {
            return move_depth(context, layout, Towards::depth);
          },
          BoundBlockLayout()),
      .grad = grad::space_to_depth,
      .examples = {"[[[[1] [2]] [[3] [4]]]] -> [[[[1 2 3 4]]]] | block_size = 2",
                   "[[[[1 2] [3 4]]]] -> [[[[1]] [[2]] [[3]] [[4]]]] | block_size = 2, "
                   "data_format = 'NCHW'"},
  }));
  return ops.add({
      .name = "DepthToSpace",
      .doc = "Images whose pixels become blocks of block_size by block_size, each with a part of "
             "their channels.",
      .signature = signature,
      .infer = [](InferContext& context) { return infer_depth(context, Towards::space); },
      .cpu = kernel_with(
          [](KernelContext& context, const BlockLayout& layout) {
            return move_depth(context, layout, Towards::space);
          },
          BoundBlockLayout()),
      .grad = grad::depth_to_space,
      .examples = {"[[[[1 2 3 4]]]] -> [[[[1] [2]] [[3] [4]]]] | block_size = 2",
                   "[[[[1]] [[2]] [[3]] [[4]]]] -> [[[[1 2] [3 4]]]] | block_size = 2, "
                   "data_format = 'NCHW'"},
  });
}

}  // namespace millrace
