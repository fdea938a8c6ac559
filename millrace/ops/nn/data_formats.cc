// Part of families.h: register_data_formats.
#include <algorithm>
#include <string>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/nn/families.h"

namespace millrace {
namespace {

// Two orders of the same axes, a letter each: "NHWC" and "NCHW".
struct Formats {
  std::string from, to;
};

struct BoundFormats {
  Result<Formats> read(const KernelSpec& spec) const {
    Formats formats;
    MR_ASSIGN(formats.from, spec.attrs.string("src_format"));
    MR_ASSIGN(formats.to, spec.attrs.string("dst_format"));
    for (const auto& [name, format] :
         {std::pair("Source", &formats.from), std::pair("Destination", &formats.to)}) {
      if (format->size() == 4 || format->size() == 5) continue;
      return invalid(name, " format must be of length 4 or 5, received ",
                     format == &formats.from ? "src_format" : "dst_format", " = ", *format);
    }
    std::string a = formats.from, b = formats.to;
    std::ranges::sort(a);
    std::ranges::sort(b);
    if (a == b && std::ranges::adjacent_find(a) == a.end()) return formats;
    return invalid("Destination and source format must determine a permutation, got ", formats.from,
                   " and ", formats.to);
  }
};

// The bits of an int32 or int64, in the type of the tensor.
template <class T>
Result<Tensor> mapped(const Tensor& x, const Formats& formats) {
  MR_ASSIGN(Tensor made, Tensor::allocate(x.dtype(), x.shape()));
  const auto size = static_cast<int64_t>(formats.from.size());
  const auto from = x.flat<T>();
  const auto to = made.mutable_flat<T>();
  for (size_t i = 0; i < from.size(); ++i) {
    const auto axis = static_cast<size_t>((int64_t{from[i]} % size + size) % size);
    to[i] = static_cast<T>(formats.to.find(formats.from[axis]));
  }
  return made;
}

Result<Tensor> map_dims(KernelContext& context, const Formats& formats) {
  const Tensor& x = context.input(0);
  return x.dtype() == DType::i32 ? mapped<int32_t>(x, formats) : mapped<int64_t>(x, formats);
}

Status check_per_axis(const Shape& shape, size_t axes) {
  const auto all = static_cast<int64_t>(axes), spatial = all - 2;
  if (shape.rank() != 1 && shape.rank() != 2)
    return invalid("input must be a vector or 2D tensor, but got shape ", shape.to_string());
  if (shape.dim(0) != all && shape.dim(0) != spatial) {
    return invalid(shape.rank() == 1 ? "1D input" : "First dimension of 2D input",
                   " must be of size ", spatial, " or ", all, ", but got shape ",
                   shape.to_string());
  }
  if (shape.rank() == 2 && shape.dim(1) != 2) {
    return invalid("Second dimension of 2D input must be of size 2, but got shape ",
                   shape.to_string());
  }
  return {};
}

// Only the letters of axes along which images extend.
std::string spatial_letters(const std::string& format) {
  std::string letters;
  for (const char letter : format)
    if (letter != 'N' && letter != 'C') letters.push_back(letter);
  return letters;
}

Result<Tensor> permute(KernelContext& context, const Formats& formats) {
  const Tensor& x = context.input(0);
  MR_TRY(check_per_axis(x.shape(), formats.from.size()));
  std::string from = formats.from, to = formats.to;
  if (x.shape().dim(0) != static_cast<int64_t>(from.size())) {
    from = spatial_letters(from);
    to = spatial_letters(to);
    if (static_cast<int64_t>(from.size()) != x.shape().dim(0)) {
      return invalid("formats ", formats.from, " and ", formats.to,
                     " need N and C for an input of ", x.shape().dim(0), " axes");
    }
  }
  MR_ASSIGN(Tensor made, context.allocate(0, x.shape()));
  const size_t bytes = x.num_bytes() / to.size();
  const char* const source = static_cast<const char*>(x.data());
  char* const target = static_cast<char*>(made.mutable_data());
  for (size_t i = 0; i < to.size(); ++i)
    std::copy_n(source + from.find(to[i]) * bytes, bytes, target + i * bytes);
  return made;
}

Status add_format_op(OpRegistry& ops, std::string name, std::string doc, KernelFactory cpu,
                     std::vector<std::string> examples) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "x: T -> y: T | T: {int32, int64} = int32, src_format: string = 'NHWC', "
                   "dst_format: string = 'NCHW'",
      .infer = infer::same_as_input,
      .cpu = std::move(cpu),
      .not_differentiable = "axes and sizes are no real numbers",
      .examples = std::move(examples),
  });
}

}  // namespace

Status register_data_formats(OpRegistry& ops) {
  MR_TRY(
      add_format_op(ops, "DataFormatDimMap", "Which axis of dst_format each axis of src_format is.",
                    kernel_with(map_dims, BoundFormats()), {"[0 1 2 3 -1 -4] -> [0 2 3 1 1 0]"}));
  return add_format_op(ops, "DataFormatVecPermute",
                       "A value per axis (or two), in the order of dst_format instead of "
                       "src_format; of the spatial axes alone, or of all.",
                       kernel_with(permute, BoundFormats()),
                       {"[1 2 3 4] -> [1 4 2 3]", "[2 3] -> [2 3]",
                        "[[1 2] [3 4] [5 6] [7 8]] -> [[1 2] [7 8] [3 4] [5 6]]"});
}

}  // namespace millrace
