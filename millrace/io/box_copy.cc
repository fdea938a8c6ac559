#include "millrace/io/box_copy.h"

namespace millrace::io {

int64_t num_elements(const Slice& box) {
  int64_t count = 1;
  for (const Extent& extent : box.extents) count *= extent.length;
  return count;
}

Status copy_elements(const Slice& part, const Slice& from_box, const Tensor& from,
                     const Slice& to_box, Tensor& to) {
  if (from.dtype() != DType::string) {
    copy_part(part, from_box, static_cast<const char*>(from.data()), to_box,
              static_cast<char*>(to.mutable_data()), dtype_size(from.dtype()));
    return {};
  }
  // Strings are objects: where each goes is found with numbers in their place.
  MR_ASSIGN(Tensor places, Tensor::allocate(DType::i64, from.shape()));
  auto numbers = places.mutable_flat<int64_t>();
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i) + 1;
  MR_ASSIGN(Tensor placed, Tensor::zeros(DType::i64, to.shape()));
  copy_part(part, from_box, static_cast<const char*>(places.data()), to_box,
            static_cast<char*>(placed.mutable_data()), sizeof(int64_t));
  const auto texts = from.flat<std::string>();
  auto into = to.mutable_flat<std::string>();
  const auto sources = placed.flat<int64_t>();
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i] != 0) into[i] = texts[static_cast<size_t>(sources[i] - 1)];
  return {};
}

}  // namespace millrace::io
