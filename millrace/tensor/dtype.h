// Element types. The numbers are those of TensorFlow's DataType; a reference to a type (what a
// variable's output carries) is the type + 100 on the wire and `Ref` on an ArgType here.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/tensor/float_types.h"

namespace millrace {

enum class DType : uint8_t {
  invalid = 0,
  f32 = 1,
  f64 = 2,
  i32 = 3,
  u8 = 4,
  i16 = 5,
  i8 = 6,
  string = 7,
  c64 = 8,
  i64 = 9,
  boolean = 10,
  qi8 = 11,
  qu8 = 12,
  qi32 = 13,
  bf16 = 14,
  qi16 = 15,
  qu16 = 16,
  u16 = 17,
  c128 = 18,
  f16 = 19,
  resource = 20,
  variant = 21,
  u32 = 22,
  u64 = 23,
  f8_e5m2 = 24,
  f8_e4m3fn = 25,
  f8_e4m3fnuz = 26,
  f8_e4m3b11fnuz = 27,
  f8_e5m2fnuz = 28,
  i4 = 29,
  u4 = 30,
  i2 = 31,
  u2 = 32,
  f4_e2m1fn = 33,
};
inline constexpr int kMaxDType = 33;
inline constexpr int kRefOffset = 100;  // wire number of X_REF minus that of X

// TensorFlow's short name: "float", "int32", "string", "bfloat16" …; "invalid" for no type.
std::string_view dtype_name(DType dtype);
// From "float", "float32", "DT_FLOAT" and the like.
std::optional<DType> dtype_from_name(std::string_view name);
// From a wire number that is not a reference type; nullopt for a number that is no type.
std::optional<DType> dtype_from_number(int number);

// Bytes of one element in memory; 0 for `invalid`. String, resource and variant elements are C++
// objects and have no wire size of their own.
size_t dtype_size(DType dtype);
// True if an element is its bytes: everything but string, resource and variant.
bool is_plain(DType dtype);
bool is_floating(DType dtype);
bool is_complex(DType dtype);

// Quantized and narrow types are stored as distinct C++ types only where arithmetic exists for
// them; as storage they are their bytes.
struct ResourceHandle;
class Variant;

template <class T>
struct DTypeOf;
#define MR_DTYPE_OF(type, name)                 \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  }
MR_DTYPE_OF(float, f32);
MR_DTYPE_OF(double, f64);
MR_DTYPE_OF(int32_t, i32);
MR_DTYPE_OF(uint8_t, u8);
MR_DTYPE_OF(int16_t, i16);
MR_DTYPE_OF(int8_t, i8);
MR_DTYPE_OF(std::string, string);
MR_DTYPE_OF(std::complex<float>, c64);
MR_DTYPE_OF(int64_t, i64);
MR_DTYPE_OF(bool, boolean);
MR_DTYPE_OF(BFloat16, bf16);
MR_DTYPE_OF(uint16_t, u16);
MR_DTYPE_OF(std::complex<double>, c128);
MR_DTYPE_OF(Half, f16);
MR_DTYPE_OF(ResourceHandle, resource);
MR_DTYPE_OF(Variant, variant);
MR_DTYPE_OF(uint32_t, u32);
MR_DTYPE_OF(uint64_t, u64);
#undef MR_DTYPE_OF
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace millrace
