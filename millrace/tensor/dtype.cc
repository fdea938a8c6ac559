#include "millrace/tensor/dtype.h"

#include <array>
#include <complex>

#include "absl/strings/ascii.h"

#include "millrace/tensor/resource_handle.h"
#include "millrace/tensor/tensor.h"

namespace millrace {
namespace {

enum class Family : uint8_t { none, floating, integer, complex, quantized, boolean, object };

struct Traits {
  std::string_view name;
  size_t size;
  Family family;
};

// Indexed by the number of the type.
constexpr std::array<Traits, kMaxDType + 1> kTraits = {{
    {"invalid", 0, Family::none},
    {"float", 4, Family::floating},
    {"double", 8, Family::floating},
    {"int32", 4, Family::integer},
    {"uint8", 1, Family::integer},
    {"int16", 2, Family::integer},
    {"int8", 1, Family::integer},
    {"string", sizeof(std::string), Family::object},
    {"complex64", 8, Family::complex},
    {"int64", 8, Family::integer},
    {"bool", 1, Family::boolean},
    {"qint8", 1, Family::quantized},
    {"quint8", 1, Family::quantized},
    {"qint32", 4, Family::quantized},
    {"bfloat16", 2, Family::floating},
    {"qint16", 2, Family::quantized},
    {"quint16", 2, Family::quantized},
    {"uint16", 2, Family::integer},
    {"complex128", 16, Family::complex},
    {"half", 2, Family::floating},
    {"resource", sizeof(ResourceHandle), Family::object},
    {"variant", sizeof(Variant), Family::object},
    {"uint32", 4, Family::integer},
    {"uint64", 8, Family::integer},
    {"float8_e5m2", 1, Family::floating},
    {"float8_e4m3fn", 1, Family::floating},
    {"float8_e4m3fnuz", 1, Family::floating},
    {"float8_e4m3b11fnuz", 1, Family::floating},
    {"float8_e5m2fnuz", 1, Family::floating},
    {"int4", 1, Family::integer},
    {"uint4", 1, Family::integer},
    {"int2", 1, Family::integer},
    {"uint2", 1, Family::integer},
    {"float4_e2m1fn", 1, Family::floating},
}};

static_assert(sizeof(bool) == 1 && sizeof(std::complex<float>) == 8 &&
              sizeof(std::complex<double>) == 16);

const Traits& traits(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  return kTraits[number < kTraits.size() ? number : 0];
}

}  // namespace

std::string_view dtype_name(DType dtype) { return traits(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  std::string lowered;
  if (name.starts_with("DT_")) {
    lowered = name.substr(3);
    absl::AsciiStrToLower(&lowered);
    name = lowered;
  }
  if (name == "float32") return DType::f32;
  if (name == "float64") return DType::f64;
  if (name == "float16") return DType::f16;
  for (int number = 1; number <= kMaxDType; ++number) {
    if (kTraits[number].name == name) return static_cast<DType>(number);
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_number(int number) {
  if (number < 1 || number > kMaxDType) return std::nullopt;
  return static_cast<DType>(number);
}

size_t dtype_size(DType dtype) { return traits(dtype).size; }

bool is_plain(DType dtype) {
  const Family family = traits(dtype).family;
  return family != Family::object && family != Family::none;
}

bool is_floating(DType dtype) { return traits(dtype).family == Family::floating; }
bool is_complex(DType dtype) { return traits(dtype).family == Family::complex; }

}  // namespace millrace
