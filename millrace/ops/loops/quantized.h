// Quantized types as storage: what the numbers of one mean is said beside them, but they are kept,
// copied, compared and cast as the plain integers that they are.
#pragma once

#include "millrace/tensor/dtype.h"

namespace millrace {

// int8 for qint8 and so on; every other type is kept as itself.
constexpr DType kept_as(DType dtype) {
  switch (dtype) {
    case DType::qi8:
      return DType::i8;
    case DType::qu8:
      return DType::u8;
    case DType::qi16:
      return DType::i16;
    case DType::qu16:
      return DType::u16;
    case DType::qi32:
      return DType::i32;
    default:
      return dtype;
  }
}

}  // namespace millrace
