#include "millrace/ops/nn/pool_shape.h"

#include <algorithm>

#include "millrace/ops/loops/arguments.h"

namespace millrace {
namespace {

Status check_images(const Windows& windows, const Shape& images) {
  if (images.rank() == windows.axes()) return {};
  return invalid("tensor_in must be ", windows.axes(), "-dimensional: ", images.to_string());
}

Result<PartialShape> pooled_depth(const Windows& windows, const PartialShape& images) {
  std::vector<int64_t> dims(images.dims().begin(), images.dims().end());
  int64_t& channels = dims[windows.channels()];
  if (channels != kUnknownDim) {
    if (channels % windows.depth() != 0)
      return unimplemented(
          "Depthwise max pooling requires the depth window to evenly divide the input depth.");
    channels /= windows.depth();
  }
  return PartialShape::create(dims);
}

}  // namespace

int64_t PoolShape::row_cost() const {
  double cost = static_cast<double>(slides.x.out) * static_cast<double>(channels);
  for (const Slide* slide : {&slides.z, &slides.y, &slides.x})
    cost *= static_cast<double>(std::min(slide->window, slide->in));
  return static_cast<int64_t>(std::min(cost, 1e15)) + 1;
}

bool pools_depth(const Windows& windows) { return windows.depth() != 1; }

Result<PoolShape> pool_of(const Windows& windows, const Shape& images) {
  MR_TRY(check_images(windows, images));
  if (pools_depth(windows) || windows.depth_stride() != 1)
    return unimplemented(
        "Non-spatial pooling is not yet supported: ksize and strides must be 1 "
        "for channels");
  PoolShape made{.batch = images.dim(0), .channels = images.dim(windows.channels())};
  std::vector<int64_t> sizes;
  for (int n = 0; n < windows.spatial_axes(); ++n) sizes.push_back(windows.window(n));
  MR_ASSIGN(made.slides, windows.slides(images, sizes));
  if (images.num_elements() > 0 && made.pixels() > INT32_MAX) {
    return invalid("images of ", images.to_string(), " have more than ", INT32_MAX,
                   " pixels, too many to be pooled");
  }
  return made;
}

Result<PoolShape> depth_pool_of(const Windows& windows, const Shape& images) {
  MR_TRY(check_images(windows, images));
  if (windows.window(0) != 1 || windows.window(1) != 1) {
    return unimplemented(
        "MaxPooling supports exactly one of pooling across depth or pooling across width/height.");
  }
  if (windows.depth() != windows.depth_stride()) {
    return unimplemented(
        "Depthwise max pooling requires the depth window to equal the depth "
        "stride.");
  }
  if (windows.channels_first())
    return unimplemented("Depthwise max pooling needs the data format NHWC");
  const int64_t channels = images.dim(3), depth = windows.depth();
  MR_TRY(pooled_depth(windows, images));
  PoolShape made{.batch = images.dim(0) * images.dim(1) * images.dim(2), .channels = 1};
  made.slides.y = {.in = 1, .out = 1};
  made.slides.x = {.in = channels, .out = channels / depth, .window = depth, .stride = depth};
  return made;
}

Result<Shape> pooled_shape(const Windows& windows, const PoolShape& pool) {
  return Shape::create(image_dims(windows, pool.batch,
                                  spatial_sizes(windows, pool.slides, Side::out), pool.channels));
}

Result<Shape> pooled_rows(const Windows& windows, const PoolShape& pool) {
  return rows_shape(windows, pool.batch, pool.slides, Side::out, pool.channels);
}

Status check_pooled(const Windows& windows, const PoolShape& pool, const Shape& shape,
                    std::string_view what) {
  MR_ASSIGN(const Shape expected, pooled_shape(windows, pool));
  if (shape.rank() != windows.axes())
    return invalid(what, " must be ", windows.axes(), "-dimensional: ", shape.to_string());
  if (shape == expected) return {};
  return invalid("Expected ", what, " shape to be ", expected.to_string(), ", but got ",
                 shape.to_string());
}

Result<Windows> windows_of(const Windows& said, KernelContext& context, int slot) {
  if (context.num_inputs() <= slot) return said;
  MR_ASSIGN(std::vector<int64_t> sizes, read_integers(context.input(slot), "ksize"));
  MR_ASSIGN(std::vector<int64_t> strides, read_integers(context.input(slot + 1), "strides"));
  return said.with_sizes(std::move(sizes), std::move(strides));
}

Result<PartialShape> pooled(const InferContext& context, int slot) {
  MR_ASSIGN(Windows windows, Windows::of(context.attrs()));
  MR_ASSIGN(const PartialShape images, context.input_of_rank(0, windows.axes()));
  if (slot > 0) {
    MR_ASSIGN(auto sizes, constant_integers(context, slot, "ksize"));
    MR_ASSIGN(auto strides, constant_integers(context, slot + 1, "strides"));
    if (!sizes || !strides) return PartialShape::of_rank(4);
    MR_ASSIGN(windows, windows.with_sizes(*std::move(sizes), *std::move(strides)));
  }
  if (pools_depth(windows) && windows.axes() == 4) return pooled_depth(windows, images);
  std::vector<int64_t> sizes;
  for (int n = 0; n < windows.spatial_axes(); ++n) {
    MR_ASSIGN(sizes.emplace_back(),
              windows.number(n, images.dim(windows.spatial(n)), windows.window(n)));
  }
  return PartialShape::create(
      image_dims(windows, images.dim(0), sizes, images.dim(windows.channels())));
}

Status infer_pool(InferContext& context, int slot) {
  return context.set_output(0, pooled(context, slot));
}

}  // namespace millrace
