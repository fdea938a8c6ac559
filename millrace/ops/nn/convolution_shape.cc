#include "millrace/ops/nn/convolution_shape.h"

namespace millrace {
namespace {

bool is_known(int64_t dim) { return dim != kUnknownDim; }

Status empty_filter(const PartialShape& filter) {
  return invalid("filter must not have zero elements (i.e. all dimensions must be non-zero): ",
                 filter.to_string());
}

// Channels of the outputs, where they are known.
Result<int64_t> infer_outputs(Filter kind, int64_t channels, const PartialShape& filter) {
  const int64_t inner = filter.dim(filter.rank() - 2), last = filter.dim(filter.rank() - 1);
  if (kind == Filter::depthwise) {
    if (is_known(channels) && is_known(inner) && channels != inner) {
      return invalid("Dimensions must be equal, but are ", channels, " and ", inner,
                     ": input and filter must have the same depth");
    }
    const int64_t known = is_known(channels) ? channels : inner;
    if (!is_known(known) || !is_known(last)) return kUnknownDim;
    int64_t outputs = 0;
    if (!__builtin_mul_overflow(known, last, &outputs)) return outputs;
    return invalid("a filter of ", filter.to_string(), " has too many outputs");
  }
  if (!is_known(channels) || !is_known(inner)) return last;
  if (inner <= 0 || channels % inner != 0) {
    return invalid("Depth of input (", channels, ") is not a multiple of input depth of filter (",
                   inner, ")");
  }
  const int64_t groups = channels / inner;
  if (!is_known(last) || groups == 0 || last % groups == 0) return last;
  return invalid("Depth of output (", last, ") is not a multiple of the number of groups (", groups,
                 ")");
}

}  // namespace

Status check_axes(const Windows& windows, const Shape& shape, std::string_view what) {
  if (shape.rank() == windows.axes()) return {};
  return invalid(what, " must be ", windows.axes(), "-dimensional: ", shape.to_string());
}

Result<ConvolutionShape> convolution_of(const Windows& windows, Filter kind, const Shape& images,
                                        const Shape& filter) {
  MR_TRY(check_axes(windows, images, "input"));
  MR_TRY(check_axes(windows, filter, "filter"));
  if (filter.num_elements() == 0) return empty_filter(filter);
  ConvolutionShape made{.batch = images.dim(0), .channels = images.dim(windows.channels())};
  const int64_t inner = filter.dim(filter.rank() - 2), last = filter.dim(filter.rank() - 1);
  if (kind == Filter::depthwise) {
    if (made.channels != inner) {
      return invalid("input and filter must have the same depth: ", made.channels, " vs ", inner);
    }
    made.groups = made.channels;
    made.outputs = made.channels * last;  // no overflow: the filter has as many elements
  } else {
    if (made.channels == 0 || made.channels % inner != 0) {
      return invalid("input depth must be evenly divisible by filter depth: ", made.channels,
                     " vs ", inner);
    }
    made.groups = made.channels / inner;
    made.outputs = last;
    if (last % made.groups != 0) {
      return invalid("output depth must be evenly divisible by number of groups: ", last, " vs ",
                     made.groups);
    }
  }
  const std::vector<int64_t> sizes(filter.dims().begin(), filter.dims().end());
  MR_ASSIGN(made.slides, windows.slides(images, sizes));
  return made;
}

Result<Shape> output_shape(const Windows& windows, const ConvolutionShape& shape) {
  return Shape::create(image_dims(windows, shape.batch,
                                  spatial_sizes(windows, shape.slides, Side::out), shape.outputs));
}

Result<std::vector<int64_t>> convolved_dims(const Windows& windows, Filter kind,
                                            const PartialShape& images,
                                            const PartialShape& filter) {
  // The kernel refuses an empty filter. A rule that did would keep all other nodes from running,
  // for the client has none and has already put the node into its graph.
  for (int axis = 0; axis + 1 < filter.rank(); ++axis) {
    if (filter.dim(axis) != 0) continue;
    const std::vector<int64_t> unknown(static_cast<size_t>(windows.spatial_axes()), kUnknownDim);
    return image_dims(windows, images.dim(0), unknown, kUnknownDim);
  }
  MR_ASSIGN(const int64_t outputs, infer_outputs(kind, images.dim(windows.channels()), filter));
  std::vector<int64_t> sizes;
  for (int n = 0; n < windows.spatial_axes(); ++n) {
    MR_ASSIGN(sizes.emplace_back(),
              windows.number(n, images.dim(windows.spatial(n)), filter.dim(n)));
  }
  return image_dims(windows, images.dim(0), sizes, outputs);
}

InferFn infer_convolution(Filter kind) {
  return [kind](InferContext& context) -> Status {
    const Result<Windows> known = Windows::of(context.attrs());
    if (known.status().code() == Code::unimplemented) return {};  // the kernel says so
    MR_ASSIGN(const Windows windows, known);
    MR_ASSIGN(const PartialShape images, context.input_of_rank(0, windows.axes()));
    MR_ASSIGN(const PartialShape filter, context.input_of_rank(1, windows.axes()));
    MR_ASSIGN(const std::vector<int64_t> dims, convolved_dims(windows, kind, images, filter));
    return context.set_output(0, PartialShape::create(dims));
  };
}

}  // namespace millrace
