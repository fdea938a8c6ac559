// ResourceHandle: the name of a thing that lives on a device (a variable, a queue), as a tensor
// element. Variant: an opaque value that we store and pass on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

// TensorFlow's VariantTensorDataProto as a value.
class Variant {
 public:
  std::string type_name;
  std::string metadata;
  std::vector<Tensor> tensors;
};

}  // namespace millrace
