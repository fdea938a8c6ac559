#include "millrace/format/wire_format.h"

namespace millrace::wire {
namespace {

uint64_t little_endian(const char* bytes, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

char* write_varint(char* at, uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<char>(value);
  return at;
}

}  // namespace

Status Reader::status() const {
  if (ok()) return {};
  return invalid("malformed message at byte ", at_ - origin_, ": ", problem_);
}

Status Reader::malformed(std::string_view bytes, std::string_view what) const {
  return invalid("malformed message at byte ", bytes.data() - origin_, ": ", what);
}

bool Reader::fail(const char* problem) {
  problem_ = problem;
  return false;
}

bool Reader::slow_varint(uint64_t* value) {
  uint64_t result = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    if (at_ + i == end_) return fail("it ends inside a number");
    const auto byte = static_cast<unsigned char>(at_[i]);
    result |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      at_ += i + 1;
      *value = result;
      return true;
    }
  }
  return fail("a number of more than 10 bytes");
}

bool Reader::read_value(Field* field) {
  switch (field->type) {
    case WireType::varint:
      return next_varint(&field->value);
    case WireType::fixed32:
    case WireType::fixed64: {
      const int size = field->type == WireType::fixed32 ? 4 : 8;
      if (end_ - at_ < size) return fail("it ends inside a fixed-size number");
      field->value = little_endian(at_, size);
      at_ += size;
      return true;
    }
    case WireType::group:
      return skip_group(field->number, 1);
    case WireType::end_group:
      return fail("the end of a group that has no start");
    default:
      return fail("a tag with an unknown wire type");
  }
}

// Groups are long deprecated; they are skipped whole and reported as a field without content.
bool Reader::skip_group(uint32_t number, int depth) {
  if (depth > kMaxDepth) return fail("groups nested more than 100 deep");
  while (at_ != end_) {
    uint64_t tag;
    if (!next_varint(&tag)) return false;
    const auto inner_number = static_cast<uint32_t>(tag >> 3);
    Field inner;
    inner.number = inner_number;
    inner.type = static_cast<WireType>(tag & 7);
    if (inner.type == WireType::end_group)
      return inner_number == number || fail("the end of a group that was not started last");
    if (inner.type == WireType::group) {
      if (!skip_group(inner_number, depth + 1)) return false;
    } else if (inner.type == WireType::bytes) {
      uint64_t length;
      if (!next_varint(&length)) return false;
      if (length > static_cast<uint64_t>(end_ - at_))
        return fail("a length that passes the end of its message");
      at_ += length;
    } else if (!read_value(&inner)) {
      return false;
    }
  }
  return fail("it ends inside a group");
}

size_t varint_size(uint64_t value) {
  const int bits = std::bit_width(value | 1);
  return static_cast<size_t>((bits + 6) / 7);
}

void put_varint(std::string* out, uint64_t value) {
  char bytes[kMaxVarintBytes];
  out->append(bytes, write_varint(bytes, value));
}

void put_tag(std::string* out, int number, WireType type) {
  put_varint(out, static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type));
}

void put_varint_field(std::string* out, int number, uint64_t value) {
  put_tag(out, number, WireType::varint);
  put_varint(out, value);
}

void put_float_field(std::string* out, int number, float value) {
  put_tag(out, number, WireType::fixed32);
  char bytes[sizeof(float)];
  std::memcpy(bytes, &value, sizeof(bytes));
  out->append(bytes, sizeof(bytes));
}

void put_bytes_field(std::string* out, int number, std::string_view bytes) {
  put_tag(out, number, WireType::bytes);
  put_varint(out, bytes.size());
  out->append(bytes);
}

NestedField::NestedField(std::string* out, int number, size_t expected_size) : out_(out) {
  put_tag(out, number, WireType::bytes);
  length_at_ = out->size();
  length_bytes_ = varint_size(expected_size);
  out->append(length_bytes_, '\0');
}

NestedField::~NestedField() {
  const size_t size = out_->size() - length_at_ - length_bytes_;
  char bytes[kMaxVarintBytes];
  const char* end = write_varint(bytes, size);
  const auto count = static_cast<size_t>(end - bytes);
  if (count == length_bytes_) {
    std::memcpy(out_->data() + length_at_, bytes, count);
  } else {
    out_->replace(length_at_, length_bytes_, bytes, count);
  }
}

}  // namespace millrace::wire
