// ResourceHandle: the name of a thing that lives on a device (a variable, a queue), as a tensor
// element. Variant: an opaque value that we store and pass on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/status.h"
#include "millrace/tensor/dtype.h"
#include "millrace/tensor/shape.h"

namespace millrace {

// Fields as in TensorFlow's ResourceHandleProto. `hash_code` is private to the process that made
// the handle: kept, never interpreted.
struct ResourceHandle {
  std::string device;
  std::string container;
  std::string name;
  uint64_t hash_code = 0;
  std::string type_name;
  std::vector<std::pair<DType, PartialShape>> dtypes_and_shapes;

  friend bool operator==(const ResourceHandle&, const ResourceHandle&) = default;
};

class Tensor;

// TensorFlow's VariantTensorDataProto as a value. Its tensors may hold variants again, but not
// deeper than what goes through them has a stack for; a loop could put lists into lists for ever.
class Variant {
 public:
  static constexpr int kMostNested = 60;

  std::string type_name;
  std::string metadata;
  std::vector<Tensor> tensors;
  int nesting = 0;  // of the variants in `tensors`: 0 if there are none

  // Counts `nesting`; for whoever has put tensors into it, before anybody else sees it.
  // Errors: INVALID_ARGUMENT beyond kMostNested.
  Status settle();
};

}  // namespace millrace
