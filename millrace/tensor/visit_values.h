// From a dtype to a value of the C++ type of its elements, for types that have values to read and
// write: not for those that are only bits here, nor handles.
//
//   visit_values(t.dtype(), [&]<class T>(T) { ... t.flat<T>() ... });
//
// False, and nothing is called, for the others. Where the bits are enough: visit_dtype.h.
#pragma once

#include <complex>
#include <cstdint>
#include <string>

#include "millrace/tensor/dtype.h"
#include "millrace/tensor/float_types.h"

namespace millrace {

template <class Visit>
bool visit_values(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::f32:
      return visit(float()), true;
    case DType::f64:
      return visit(double()), true;
    case DType::f16:
      return visit(Half()), true;
    case DType::bf16:
      return visit(BFloat16()), true;
    case DType::i8:
      return visit(int8_t()), true;
    case DType::i16:
      return visit(int16_t()), true;
    case DType::i32:
      return visit(int32_t()), true;
    case DType::i64:
      return visit(int64_t()), true;
    case DType::u8:
      return visit(uint8_t()), true;
    case DType::u16:
      return visit(uint16_t()), true;
    case DType::u32:
      return visit(uint32_t()), true;
    case DType::u64:
      return visit(uint64_t()), true;
    case DType::boolean:
      return visit(bool()), true;
    case DType::c64:
      return visit(std::complex<float>()), true;
    case DType::c128:
      return visit(std::complex<double>()), true;
    case DType::string:
      return visit(std::string()), true;
    default:
      return false;
  }
}

}  // namespace millrace
