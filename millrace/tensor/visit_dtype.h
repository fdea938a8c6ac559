// From a dtype to the C++ type that stores its elements.
//
//   visit_dtype(t.dtype(), [&]<class T>(std::type_identity<T>) { ... static_cast<const
//   T*>(t.data()) ... });
//
// Types without arithmetic of their own come as the integer that holds their bits. Calls nothing
// for DType::invalid.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "millrace/tensor/dtype.h"
#include "millrace/tensor/float_types.h"
#include "millrace/tensor/resource_handle.h"

namespace millrace {

template <class Visitor>
void visit_dtype(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::invalid:
      return;
    case DType::f32:
      return visit(std::type_identity<float>());
    case DType::f64:
      return visit(std::type_identity<double>());
    case DType::i32:
    case DType::qi32:
      return visit(std::type_identity<int32_t>());
    case DType::i16:
    case DType::qi16:
      return visit(std::type_identity<int16_t>());
    case DType::u16:
    case DType::qu16:
      return visit(std::type_identity<uint16_t>());
    case DType::i8:
    case DType::qi8:
    case DType::i4:
    case DType::i2:
      return visit(std::type_identity<int8_t>());
    case DType::u8:
    case DType::qu8:
    case DType::u4:
    case DType::u2:
    case DType::f8_e5m2:
    case DType::f8_e4m3fn:
    case DType::f8_e4m3fnuz:
    case DType::f8_e4m3b11fnuz:
    case DType::f8_e5m2fnuz:
    case DType::f4_e2m1fn:
      return visit(std::type_identity<uint8_t>());
    case DType::string:
      return visit(std::type_identity<std::string>());
    case DType::c64:
      return visit(std::type_identity<std::complex<float>>());
    case DType::c128:
      return visit(std::type_identity<std::complex<double>>());
    case DType::i64:
      return visit(std::type_identity<int64_t>());
    case DType::boolean:
      return visit(std::type_identity<bool>());
    case DType::bf16:
      return visit(std::type_identity<BFloat16>());
    case DType::f16:
      return visit(std::type_identity<Half>());
    case DType::resource:
      return visit(std::type_identity<ResourceHandle>());
    case DType::variant:
      return visit(std::type_identity<Variant>());
    case DType::u32:
      return visit(std::type_identity<uint32_t>());
    case DType::u64:
      return visit(std::type_identity<uint64_t>());
  }
}

}  // namespace millrace
