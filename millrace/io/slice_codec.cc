#include "millrace/io/slice_codec.h"

namespace millrace::io {
namespace {

enum SliceField : uint32_t { kExtent = 1 };
enum ExtentField : uint32_t { kStart = 1, kLength = 2 };

Result<Extent> read_extent(wire::Reader reader) {
  Extent extent;
  for (wire::Field field; reader.next(&field);) {
    if (field.is(kStart, wire::WireType::varint)) extent.start = static_cast<int64_t>(field.value);
    if (field.is(kLength, wire::WireType::varint))
      extent.length = static_cast<int64_t>(field.value);
  }
  MR_TRY(reader.status());
  if (extent.start < 0 || extent.length < -1 || (extent.is_whole() && extent.start != 0))
    return error(Code::data_loss, "a slice has an extent that can't be");
  return extent;
}

}  // namespace

void put_slice(std::string* out, int number, const Slice& slice) {
  const wire::NestedField message(out, number);
  for (const Extent& extent : slice.extents) {
    const wire::NestedField one(out, kExtent);
    if (extent.start != 0) wire::put_varint_field(out, kStart, static_cast<uint64_t>(extent.start));
    if (!extent.is_whole())
      wire::put_varint_field(out, kLength, static_cast<uint64_t>(extent.length));
  }
}

Result<Slice> read_slice(wire::Reader reader) {
  Slice slice;
  for (wire::Field field; reader.next(&field);) {
    if (!field.is(kExtent, wire::WireType::bytes)) continue;
    MR_ASSIGN(const Extent extent, read_extent(reader.inside(field)));
    slice.extents.push_back(extent);
  }
  MR_TRY(reader.status());
  return slice;
}

}  // namespace millrace::io
