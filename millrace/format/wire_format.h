// Protobuf's wire format, read and written by hand: a message is a run of fields,
//
//   | tag varint = number << 3 | type | value: varint, 4 bytes, 8 bytes, or length varint + bytes |
//
// Reader walks over the fields of one message in memory without copying. It is used where
// protobuf's own classes would cost too much: graphs, tensors.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::wire {

enum class WireType : uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  group = 3,
  end_group = 4,
  fixed32 = 5
};

inline constexpr int kMaxVarintBytes = 10;
// How deep messages may nest; protobuf's own default.
inline constexpr int kMaxDepth = 100;

struct Field {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;      // of a varint or a fixed field
  std::string_view bytes;  // of a length-delimited one

  // True if this is field `n` and was written as `t`. A known number with another type is skipped
  // like an unknown field.
  bool is(uint32_t n, WireType t) const { return number == n && type == t; }
  float as_float() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
  // As protobuf does: what does not fit is cut off.
  int32_t as_int32() const { return static_cast<int32_t>(value); }
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : Reader(bytes, bytes.data()) {}
  // A message inside another one, whose bytes start at `origin`: errors count from there.
  Reader(std::string_view bytes, const char* origin)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), origin_(origin) {}
  Reader inside(const Field& field) const { return Reader(field.bytes, origin_); }

  // The next field; false at the end of the message and at malformed bytes.
  bool next(Field* field);
  // Elements of a packed field, or the lengths in front of raw strings.
  bool next_varint(uint64_t* value);
  bool at_end() const { return at_ == end_; }
  // What has not been read yet.
  std::string_view remaining() const { return {at_, static_cast<size_t>(end_ - at_)}; }

  bool ok() const { return problem_ == nullptr; }
  // OK, or INVALID_ARGUMENT with the offset from the origin.
  Status status() const;
  // An error about what stands at `bytes`, which must be part of the message.
  Status malformed(std::string_view bytes, std::string_view what) const;

 private:
  bool fail(const char* problem);
  bool slow_varint(uint64_t* value);
  bool read_value(Field* field);
  bool skip_group(uint32_t number, int depth);

  const char* at_;
  const char* end_;
  const char* origin_;
  const char* problem_ = nullptr;
};

inline bool Reader::next_varint(uint64_t* value) {
  if (at_ < end_ && static_cast<signed char>(*at_) >= 0) {
    *value = static_cast<unsigned char>(*at_++);
    return true;
  }
  return slow_varint(value);
}

inline bool Reader::next(Field* field) {
  if (at_ == end_ || problem_ != nullptr) return false;
  uint64_t tag;
  if (!next_varint(&tag)) return false;
  field->number = static_cast<uint32_t>(tag >> 3);
  field->type = static_cast<WireType>(tag & 7);
  if (tag >> 32 != 0 || field->number == 0) return fail("a tag with a field number that cannot be");
  if (field->type == WireType::bytes) {
    uint64_t length;
    if (!next_varint(&length)) return false;
    if (length > static_cast<uint64_t>(end_ - at_))
      return fail("a length that passes the end of its message");
    field->bytes = {at_, static_cast<size_t>(length)};
    at_ += length;
    return true;
  }
  return read_value(field);
}

// ---- Writing: appends to a string ---------------------------------------------------------------

size_t varint_size(uint64_t value);
void put_varint(std::string* out, uint64_t value);
void put_tag(std::string* out, int number, WireType type);
void put_varint_field(std::string* out, int number, uint64_t value);
void put_float_field(std::string* out, int number, float value);
void put_bytes_field(std::string* out, int number, std::string_view bytes);

// A nested message whose size is known only once it is written:
//
//   const NestedField node(out, kNode);
//   put_bytes_field(out, kName, name);
//   // the length is put in when `node` goes out of scope
//
// `expected_size` saves moving a large message by a few bytes; it need not be right.
class NestedField {
 public:
  NestedField(std::string* out, int number, size_t expected_size = 0);
  ~NestedField();
  NestedField(const NestedField&) = delete;
  NestedField& operator=(const NestedField&) = delete;

 private:
  std::string* const out_;
  size_t length_at_;
  size_t length_bytes_;
};

}  // namespace millrace::wire
