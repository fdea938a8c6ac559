// Part of families.h: register_combined.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "absl/strings/escaping.h"

#include "millrace/base/str_cat.h"
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strides.h"
#include "millrace/ops/loops/string_format.h"
#include "millrace/ops/text/families.h"

namespace millrace {
namespace {

constexpr const char* kWords = "strings have no gradient";

// --- ReduceJoin ---

// The axes to join along, the one that moves fastest first.
Result<std::vector<int>> joined_axes(const Tensor& indices, int rank) {
  MR_ASSIGN(const std::vector<int64_t> named, read_integers(indices, "reduction_indices"));
  std::vector<int> axes;
  for (const int64_t axis : named) {
    if (axis < -rank || axis >= rank) {
      return out_of_range("Invalid reduction dimension ", axis, " for input with ", rank,
                          " dimension(s)");
    }
    const int place = static_cast<int>(axis < 0 ? axis + rank : axis);
    if (std::ranges::find(axes, place) != axes.end())
      return invalid("Duplicate reduction dimension ", axis);
    axes.push_back(place);
  }
  return axes;
}

Shape::Dims reduced_dims(std::span<const int64_t> dims, const std::vector<int>& axes,
                         bool keep_dims) {
  Shape::Dims left;
  for (int axis = 0; axis < static_cast<int>(dims.size()); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) {
      left.push_back(dims[static_cast<size_t>(axis)]);
    } else if (keep_dims) {
      left.push_back(1);
    }
  }
  return left;
}

Result<Tensor> reduce_join(KernelContext& context, bool keep_dims, const std::string& separator) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(const std::vector<int> axes, joined_axes(context.input(1), input.shape().rank()));
  MR_ASSIGN(const Shape shape, Shape::create(reduced_dims(input.shape().dims(), axes, keep_dims)));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  // Walks through the input with the axes that stay outermost and the fastest innermost.
  const Strides strides = row_major_strides(input.shape());
  Shape::Dims dims;
  Strides steps;
  for (int axis = 0; axis < input.shape().rank(); ++axis) {
    if (std::ranges::find(axes, axis) != axes.end()) continue;
    dims.push_back(input.shape().dim(axis));
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  int64_t joined = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    dims.push_back(input.shape().dim(*axis));
    steps.push_back(strides[static_cast<size_t>(*axis)]);
    joined *= input.shape().dim(*axis);
  }
  const auto texts = input.flat<std::string>();
  const auto results = output.mutable_flat<std::string>();
  const Walk<1> walk(dims, {steps});
  int64_t next = 0;
  CancelProbe probe(context);
  walk.each_run([&](const auto& offsets) {
    for (int64_t i = 0; i < walk.run_length(); ++i, ++next) {
      std::string& result = results[static_cast<size_t>(next / joined)];
      if (next % joined != 0) result += separator;
      result += texts[static_cast<size_t>(offsets[0] + i * walk.run_stride(0))];
    }
    return probe.go_on(walk.run_length());
  });
  MR_TRY(probe.status());
  return output;
}

Status infer_reduce_join(InferContext& context) {
  const PartialShape& input = context.input(0);
  const Tensor* indices = context.constant(1);
  MR_ASSIGN(const bool keep_dims, context.attrs().boolean("keep_dims"));
  if (!input.has_rank() || indices == nullptr) {
    context.set_output(0, keep_dims && input.has_rank() ? PartialShape::of_rank(input.rank())
                                                        : PartialShape::unknown());
    return {};
  }
  MR_ASSIGN(const std::vector<int> axes, joined_axes(*indices, input.rank()));
  return context.set_output(0, PartialShape::create(reduced_dims(input.dims(), axes, keep_dims)));
}

// --- UnsortedSegmentJoin ---

Result<Tensor> segment_join(KernelContext& context, const std::string& separator) {
  const Tensor& input = context.input(0);
  const Shape& ids_shape = context.input(1).shape();
  MR_ASSIGN(const int64_t count, read_integer(context.input(2), "num_segments"));
  if (count < 0) return invalid("Number of segments must be non-negative but got ", count);
  if (ids_shape.rank() > input.shape().rank()) {
    return invalid("Segment rank ", ids_shape.rank(), " is larger than input rank ",
                   input.shape().rank());
  }
  Shape::Dims dims{count};
  int64_t inner = 1;
  for (int axis = 0; axis < input.shape().rank(); ++axis) {
    if (axis >= ids_shape.rank()) {
      dims.push_back(input.shape().dim(axis));
      inner *= input.shape().dim(axis);
    } else if (ids_shape.dim(axis) != input.shape().dim(axis)) {
      return invalid("Segment dimension is ", ids_shape.dim(axis), " while input dimension is ",
                     input.shape().dim(axis), " in rank ", axis);
    }
  }
  MR_ASSIGN(const std::vector<int64_t> ids, read_elements(context.input(1), "segment_ids"));
  for (const int64_t id : ids) {
    if (id < 0 || id >= count) {
      return invalid(
          "segment_ids are not allowed to exceed num_segments or to have negative values.");
    }
  }
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  if (output.num_elements() == 0) return output;  // of any number of segments
  const auto texts = input.flat<std::string>();
  const auto results = output.mutable_flat<std::string>();
  CancelProbe probe(context);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<size_t>(ids[i]);
    for (size_t k = 0; k < static_cast<size_t>(inner); ++k) {
      std::string& result = results[id * static_cast<size_t>(inner) + k];
      // As TensorFlow has it: nothing separates a text from what is empty before it.
      if (!result.empty()) result += separator;
      result += texts[i * static_cast<size_t>(inner) + k];
    }
    if (!probe.go_on(inner)) return probe.status();
  }
  return output;
}

Status infer_segment_join(InferContext& context) {
  const PartialShape& input = context.input(0);
  const PartialShape& ids = context.input(1);
  if (!input.has_rank() || !ids.has_rank() || ids.rank() > input.rank()) return {};
  MR_ASSIGN(const auto count, constant_integers(context, 2, "num_segments"));
  Shape::Dims dims{count && count->size() == 1 && (*count)[0] >= 0 ? (*count)[0] : kUnknownDim};
  const auto rest = input.dims().subspan(static_cast<size_t>(ids.rank()));
  dims.insert(dims.end(), rest.begin(), rest.end());
  return context.set_output(0, PartialShape::create(dims));
}

// --- StringFormat ---

std::string shortest(double value, int digits, int more_digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  const double back =
      digits < 10 ? static_cast<double>(std::strtof(text, nullptr)) : std::strtod(text, nullptr);
  if (back != value && value == value) std::snprintf(text, sizeof text, "%.*g", more_digits, value);
  return text;
}

// One element as TensorFlow's summaries of the newer kind have it: strings in quotes, no longer
// numbers than needed.
std::string element_text(const Tensor& tensor, size_t index) {
  switch (tensor.dtype()) {
    case DType::string:
      return str_cat("\"", absl::Utf8SafeCEscape(tensor.flat<std::string>()[index]), "\"");
    case DType::f32:
      return shortest(tensor.flat<float>()[index], 6, 9);
    case DType::f64:
      return shortest(tensor.flat<double>()[index], 15, 17);
    case DType::f16:
      return shortest(static_cast<float>(tensor.flat<Half>()[index]), 6, 9);
    case DType::bf16:
      return shortest(static_cast<float>(tensor.flat<BFloat16>()[index]), 6, 9);
    case DType::boolean:
      return tensor.flat<bool>()[index] ? "1" : "0";
    case DType::resource:
    case DType::variant:
    case DType::c64:
    case DType::c128:
      return "?";
    default:
      return NumberFormat().text_of(tensor, index);
  }
}

// Nested brackets, with at most `ends` elements of each axis from either end.
void append_summary(const Tensor& tensor, int axis, int64_t ends, int64_t begin,
                    std::string& text) {
  const Shape& shape = tensor.shape();
  if (axis == shape.rank()) {
    text += element_text(tensor, static_cast<size_t>(begin));
    return;
  }
  int64_t stride = 1;
  for (int inner = axis + 1; inner < shape.rank(); ++inner) stride *= shape.dim(inner);
  const auto space = [&] {
    if (axis == shape.rank() - 1) {
      text += " ";
      return;
    }
    const auto depth = static_cast<size_t>(axis) + 1;
    text.append(static_cast<size_t>(shape.rank()) - depth, '\n');
    text.append(depth, ' ');
  };
  text += "[";
  const int64_t count = shape.dim(axis);
  const int64_t leading = std::min(ends, count);
  for (int64_t i = 0; i < leading; ++i) {
    if (i > 0) space();
    append_summary(tensor, axis + 1, ends, begin + i * stride, text);
  }
  if (count - ends > ends) {
    space();
    text += "...";
  }
  for (int64_t i = std::max(ends, count - ends); i < count; ++i) {
    space();
    append_summary(tensor, axis + 1, ends, begin + i * stride, text);
  }
  text += "]";
}

// What cannot be told has no brackets but the outer ones.
void append_marks(int64_t all, int64_t shown, std::string& text) {
  text += "[";
  for (int64_t i = 0; i < shown; ++i) text += i > 0 ? " ?" : "?";
  text += shown < all ? "...]" : "]";
}

Result<std::vector<std::string>> parts_of(std::string_view text, std::string_view placeholder) {
  if (placeholder.empty()) return invalid("StringFormat needs a placeholder that is not empty");
  std::vector<std::string> parts;
  for (size_t end; (end = text.find(placeholder)) != std::string_view::npos;) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + placeholder.size());
  }
  parts.emplace_back(text);
  return parts;
}

Status check_parts(const std::vector<std::string>& parts, size_t inputs) {
  if (parts.size() == inputs + 1) return {};
  return invalid("num placeholders in template and num inputs must match: ", parts.size() - 1,
                 " vs. ", inputs);
}

Result<std::unique_ptr<Kernel>> make_format(const KernelSpec& spec) {
  MR_ASSIGN(const std::string text, spec.attrs.string("template"));
  MR_ASSIGN(const std::string placeholder, spec.attrs.string("placeholder"));
  MR_ASSIGN(const int64_t summarize, spec.attrs.integer("summarize"));
  MR_ASSIGN(const std::vector<std::string> parts, parts_of(text, placeholder));
  MR_TRY(check_parts(parts, spec.inputs.size()));
  return kernel([parts, summarize](KernelContext& context) -> Result<Tensor> {
    std::string made = parts[0];
    for (int slot = 0; slot < context.num_inputs(); ++slot) {
      const Tensor& input = context.input(slot);
      const int64_t all = input.num_elements();
      const int64_t shown = summarize < 0 ? all : std::min(summarize, all);
      if (is_complex(input.dtype()) && !input.shape().is_scalar()) {
        append_marks(all, shown, made);
      } else {
        append_summary(input, 0, shown, 0, made);
      }
      made += parts[static_cast<size_t>(slot) + 1];
    }
    return Tensor::scalar(std::move(made));
  })(spec);
}

Status infer_format(InferContext& context) {
  MR_ASSIGN(const std::string text, context.attrs().string("template"));
  MR_ASSIGN(const std::string placeholder, context.attrs().string("placeholder"));
  MR_ASSIGN(const std::vector<std::string> parts, parts_of(text, placeholder));
  MR_TRY(check_parts(parts, static_cast<size_t>(context.num_inputs())));
  context.set_output(0, PartialShape::scalar());
  return {};
}

}  // namespace

Status register_combined(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "ReduceJoin",
      .doc = "The strings along some axes one after another, the first axis named moving fastest.",
      .signature = "inputs: string, reduction_indices: int32 -> output: string | "
                   "keep_dims: bool = false, separator: string = ''",
      .infer = infer_reduce_join,
      .cpu = kernel_with(reduce_join, boolean("keep_dims"), text("separator")),
      .not_differentiable = kWords,
      .examples = {"[['a' 'b'] ['c' 'd']], [1 0] -> 'a.b.c.d' | separator = '.'",
                   "[['a' 'b'] ['c' 'd']], [0 1] -> 'acbd'",
                   "[['a' 'b'] ['c' 'd']], -1 -> [['ab'] ['cd']] | keep_dims = true"},
  }));
  MR_TRY(ops.add({
      .name = "UnsortedSegmentJoin",
      .doc = "The strings of each segment one after another; segments that have none are empty.",
      .signature = "inputs: string, segment_ids: Tindices, num_segments: Tnumsegments -> "
                   "output: string | separator: string = '', Tindices: {int32, int64}, "
                   "Tnumsegments: {int32, int64} = int32",
      .infer = infer_segment_join,
      .cpu = kernel_with(segment_join, text("separator")),
      .not_differentiable = kWords,
      .examples = {"['a' 'b' 'c'], [2 0 2], 4 -> ['b' '' 'a,c' ''] | separator = ','",
                   "[['a' 'b'] ['c' 'd']], [1 1], 2 -> [['' ''] ['ac' 'bd']]"},
  }));
  return ops.add({
      .name = "StringFormat",
      .doc = "The template with each placeholder replaced by an input, in brackets, `summarize` "
             "elements from each end.",
      .signature = "inputs: T -> output: string | T: list(type) >= 0, template: string = '%s', "
                   "placeholder: string = '%s', summarize: int = 3",
      .infer = infer_format,
      .cpu = make_format,
      .not_differentiable = kWords,
      .examples = {"[1 2] -> 'x is [1 2].' | template = 'x is %s.', T = {int32}",
                   "[1 2 3 4 5 6 7 8], 'a' -> '[1 2 ... 7 8] \"a\"' | template = '%s %s', "
                   "summarize = 2, T = {int32, string}"},
  });
}

}  // namespace millrace
