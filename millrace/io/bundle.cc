#include "millrace/io/bundle.h"

#include <cstdio>

#include "millrace/format/shape_codec.h"
#include "millrace/format/wire_format.h"
#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"
#include "millrace/io/slice_codec.h"

namespace millrace::io {
namespace {

using wire::Field;
using wire::NestedField;
using wire::Reader;
using wire::WireType;

// BundleHeaderProto and VersionDef, BundleEntryProto.
enum HeaderField : uint32_t { kNumShards = 1, kEndianness = 2, kVersion = 3 };
enum VersionField : uint32_t { kProducer = 1, kMinConsumer = 2 };
enum EntryField : uint32_t {
  kDtype = 1,
  kShape = 2,
  kShard = 3,
  kOffset = 4,
  kSize = 5,
  kChecksum = 6,
  kSlices = 7
};

Status data_loss(std::string_view what) { return Status(Code::data_loss, std::string(what)); }

// Malformed bytes in a file are lost data, not somebody's wrong argument.
template <class T>
Result<T> or_loss(Result<T> read, std::string_view what) {
  if (read.ok()) return read;
  return data_loss(str_cat(what, ": ", read.status().message()));
}

Result<BundleEntry> read_entry(Reader reader) {
  BundleEntry entry;
  for (Field field; reader.next(&field);) {
    if (field.is(kDtype, WireType::varint)) {
      const auto dtype = wire::dtype_or_ref_from_number(field.value);
      if (!dtype) return data_loss(str_cat("a type of number ", field.value, " is not known"));
      entry.dtype = *dtype;
    } else if (field.is(kShape, WireType::bytes)) {
      MR_ASSIGN(entry.shape, wire::read_shape(reader.inside(field)));
    } else if (field.is(kShard, WireType::varint)) {
      entry.shard = field.as_int32();
    } else if (field.is(kOffset, WireType::varint)) {
      entry.offset = field.value;
    } else if (field.is(kSize, WireType::varint)) {
      entry.size = field.value;
    } else if (field.is(kChecksum, WireType::fixed32)) {
      entry.checksum = static_cast<uint32_t>(field.value);
    } else if (field.is(kSlices, WireType::bytes)) {
      MR_ASSIGN(Slice slice, read_slice(reader.inside(field)));
      entry.slices.push_back(std::move(slice));
    }
  }
  MR_TRY(reader.status());
  return entry;
}

Result<BundleHeader> read_header(Reader reader) {
  BundleHeader header;
  header.num_shards = 0;
  for (Field field; reader.next(&field);) {
    if (field.is(kNumShards, WireType::varint)) header.num_shards = field.as_int32();
    if (field.is(kEndianness, WireType::varint)) header.is_big_endian = field.value != 0;
    if (!field.is(kVersion, WireType::bytes)) continue;
    Reader version = reader.inside(field);
    for (Field part; version.next(&part);)
      if (part.is(kMinConsumer, WireType::varint)) header.min_consumer = part.as_int32();
    MR_TRY(version.status());
  }
  MR_TRY(reader.status());
  return header;
}

}  // namespace

std::string encode(const BundleHeader& header) {
  std::string bytes;
  wire::put_varint_field(&bytes, kNumShards, static_cast<uint64_t>(header.num_shards));
  {
    const NestedField version(&bytes, kVersion);
    wire::put_varint_field(&bytes, kProducer, kBundleVersion);
  }
  return bytes;
}

std::string encode(const BundleEntry& entry) {
  std::string bytes;
  wire::put_varint_field(&bytes, kDtype, static_cast<uint64_t>(entry.dtype));
  wire::put_shape(&bytes, kShape, entry.shape);
  if (entry.shard != 0) wire::put_varint_field(&bytes, kShard, static_cast<uint64_t>(entry.shard));
  if (entry.offset != 0) wire::put_varint_field(&bytes, kOffset, entry.offset);
  if (entry.size != 0) wire::put_varint_field(&bytes, kSize, entry.size);
  if (entry.slices.empty()) {
    wire::put_tag(&bytes, kChecksum, WireType::fixed32);
    put_little(&bytes, entry.checksum);
  }
  for (const Slice& slice : entry.slices) put_slice(&bytes, kSlices, slice);
  return bytes;
}

Result<BundleHeader> decode_bundle_header(std::string_view bytes) {
  MR_ASSIGN(const BundleHeader header,
            or_loss(read_header(Reader(bytes)), "the header of a checkpoint"));
  if (header.num_shards < 0) return data_loss("the header counts less than no shards of data");
  if (header.is_big_endian)
    return unimplemented("the checkpoint was written on a machine of the other byte order");
  if (header.min_consumer > kBundleVersion) {
    return failed_precondition("the checkpoint wants a reader of version ", header.min_consumer,
                               " or later; this one is ", kBundleVersion);
  }
  return header;
}

Result<BundleEntry> decode_bundle_entry(std::string_view bytes) {
  MR_ASSIGN(BundleEntry entry, or_loss(read_entry(Reader(bytes)), "an entry of a checkpoint"));
  if (entry.dtype == DType::invalid) return data_loss("an entry of a checkpoint has no type");
  return entry;
}

uint32_t crc_with_length(uint32_t before, uint64_t length) {
  std::string number;
  put_little(&number, length);
  if (length <= UINT32_MAX) number.resize(4);
  return crc32c(number, before);
}

uint32_t crc_with_whole_length(uint32_t before, uint64_t length) {
  std::string number;
  put_little(&number, length);
  return crc32c(number, before);
}

std::string index_path(std::string_view prefix) { return str_cat(prefix, ".index"); }

std::string data_path(std::string_view prefix, int shard, int num_shards) {
  char number[40];
  std::snprintf(number, sizeof number, ".data-%05d-of-%05d", shard, num_shards);
  return str_cat(prefix, number);
}

}  // namespace millrace::io
