// Part of resource_handle.h: Variant::settle.
#include <algorithm>

#include "millrace/tensor/resource_handle.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

Status Variant::settle() {
  nesting = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() != DType::variant) continue;
    for (const Variant& inner : tensor.flat<Variant>())
      nesting = std::max(nesting, inner.nesting + 1);
  }
  if (nesting <= kMostNested) return {};
  return invalid("a variant of type '", type_name.substr(0, 100), "' holds others that lie ",
                 nesting, " deep in each other; ", kMostNested, " is the most that is supported");
}

}  // namespace millrace
