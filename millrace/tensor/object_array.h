// Buffers whose elements are C++ objects: std::string, ResourceHandle, Variant. The buffer
// constructs and destroys them. Private to this room.
#pragma once

#include <cstddef>
#include <memory>

#include "millrace/base/result.h"
#include "millrace/tensor/buffer.h"
#include "millrace/tensor/dtype.h"

namespace millrace {

// `count` default-constructed elements of a dtype that is not plain; count * dtype_size must fit.
// Errors: RESOURCE_EXHAUSTED.
Result<std::shared_ptr<Buffer>> allocate_objects(DType dtype, size_t count);

}  // namespace millrace
