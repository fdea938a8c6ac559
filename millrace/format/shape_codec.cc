#include "millrace/format/shape_codec.h"

#include <optional>
#include <utility>

namespace millrace::wire {
namespace {

using enum shape_fields::Number;

struct Dims {
  Shape::Dims sizes;
  bool unknown_rank = false;
};

Status read_dims(Reader reader, Dims* dims) {
  Field field;
  while (reader.next(&field)) {
    if (field.is(kUnknownRank, WireType::varint)) {
      dims->unknown_rank = field.value != 0;
    } else if (field.is(kDim, WireType::bytes)) {
      if (dims->sizes.size() == static_cast<size_t>(kMaxRank))
        return reader.malformed(field.bytes, "a shape of more than 254 dimensions");
      int64_t size = 0;
      Reader dim = reader.inside(field);
      Field part;
      while (dim.next(&part)) {
        if (part.is(kDimSize, WireType::varint)) size = static_cast<int64_t>(part.value);
      }
      MR_TRY(dim.status());
      dims->sizes.push_back(size);
    }
  }
  return reader.status();
}

}  // namespace

Result<PartialShape> read_partial_shape(Reader reader) {
  Dims dims;
  MR_TRY(read_dims(reader, &dims));
  if (!dims.unknown_rank) return PartialShape::create(dims.sizes);
  if (dims.sizes.empty()) return PartialShape::unknown();
  return reader.malformed(reader.remaining(),
                          "a shape that has dimensions and says that its rank is unknown");
}

Result<Shape> read_shape(Reader reader) {
  Dims dims;
  MR_TRY(read_dims(reader, &dims));
  if (dims.unknown_rank)
    return reader.malformed(reader.remaining(), "a value whose rank is unknown");
  return Shape::create(dims.sizes);
}

void put_shape(std::string* out, int number, const PartialShape& shape) {
  const NestedField nested(out, number);
  put_shape(out, shape);
}

void put_shape(std::string* out, const PartialShape& shape) {
  if (!shape.has_rank()) {
    put_varint_field(out, kUnknownRank, 1);
    return;
  }
  for (const int64_t size : shape.dims()) {
    const NestedField dim(out, kDim);
    put_varint_field(out, kDimSize, static_cast<uint64_t>(size));
  }
}

std::optional<DType> dtype_or_ref_from_number(uint64_t number) {
  if (number == 0) return DType::invalid;
  if (number > kRefOffset) number -= kRefOffset;
  if (number > kMaxDType) return std::nullopt;
  return dtype_from_number(static_cast<int>(number));
}

}  // namespace millrace::wire
