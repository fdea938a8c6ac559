#include "millrace/format/wire_format.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace millrace::wire {
namespace {

using namespace std::string_view_literals;

// Reads all fields; the status says how it ended.
Status walk(std::string_view bytes, std::vector<Field>* fields = nullptr) {
  Reader reader(bytes);
  Field field;
  while (reader.next(&field)) {
    if (fields) fields->push_back(field);
  }
  return reader.status();
}

TEST_CASE("fields of every type are read back as they were written") {
  std::string bytes;
  put_varint_field(&bytes, 1, 300);
  put_float_field(&bytes, 2, 1.5f);
  put_bytes_field(&bytes, 3, "text");
  put_varint_field(&bytes, 4, ~uint64_t{0});
  bytes += "\x29\x01\0\0\0\0\0\0\0"sv;  // field 5, fixed64

  std::vector<Field> fields;
  REQUIRE(walk(bytes, &fields).ok());
  REQUIRE(fields.size() == 5);
  CHECK(fields[0].value == 300);
  CHECK(fields[1].as_float() == 1.5f);
  CHECK(fields[2].bytes == "text");
  CHECK(fields[3].value == ~uint64_t{0});
  CHECK(fields[4].is(5, WireType::fixed64));
  CHECK(fields[4].value == 1);
}

TEST_CASE("malformed bytes are reported with their offset") {
  CHECK(walk("\x08"sv).message() == "malformed message at byte 1: it ends inside a number");
  CHECK(walk("\x08\x01\x12\x05xx"sv).message() ==
        "malformed message at byte 4: a length that passes the end of its message");
  CHECK(walk("\x0d\x01"sv).message() ==
        "malformed message at byte 1: it ends inside a fixed-size number");
  CHECK(walk("\x02\x00"sv).message() ==
        "malformed message at byte 1: a tag with a field number that cannot be");
  CHECK(walk("\x0f"sv).message() == "malformed message at byte 1: a tag with an unknown wire type");
  CHECK(walk("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv).message() ==
        "malformed message at byte 1: a number of more than 10 bytes");
  CHECK_FALSE(walk("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv).ok());
}

TEST_CASE("offsets inside nested messages count from the outermost") {
  const auto bytes = "\x0a\x03\x08\x01\x08"sv;
  Reader outer(bytes);
  Field field;
  REQUIRE(outer.next(&field));
  Reader inner = outer.inside(field);
  while (inner.next(&field)) {
  }
  CHECK(inner.status().message() == "malformed message at byte 5: it ends inside a number");
}

TEST_CASE("groups are skipped whole") {
  std::vector<Field> fields;
  // group 1 { field 2: 5, group 3 { field 1: "x" } }, field 4: 7
  REQUIRE(walk("\x0b\x10\x05\x1b\x0a\x01x\x1c\x0c\x20\x07"sv, &fields).ok());
  CHECK(fields.back().is(4, WireType::varint));
  CHECK(fields.back().value == 7);
  CHECK_FALSE(walk("\x0b\x10\x05"sv).ok());
  CHECK_FALSE(walk("\x0b\x14"sv).ok());
  CHECK_FALSE(walk("\x0c"sv).ok());
  CHECK(walk(std::string(1000, '\x0b')).message() ==
        "malformed message at byte 101: groups nested more than 100 deep");
}

TEST_CASE("a nested message gets its length, whatever was expected") {
  for (const size_t size : {0, 1, 127, 128, 300, 20000}) {
    for (const size_t expected : {0, 200, 100000}) {
      CAPTURE(size);
      CAPTURE(expected);
      std::string bytes = "before";
      const size_t start = bytes.size();
      {
        const NestedField nested(&bytes, 7, expected);
        bytes.append(size, 'x');
      }
      std::string wanted;
      put_bytes_field(&wanted, 7, std::string(size, 'x'));
      CHECK(bytes.substr(start) == wanted);
    }
  }
}

TEST_CASE("the size of a number is known before it is written") {
  for (int bits = 0; bits < 64; ++bits) {
    for (const uint64_t value : {(uint64_t{1} << bits) - 1, uint64_t{1} << bits}) {
      std::string bytes;
      put_varint(&bytes, value);
      CHECK(bytes.size() == varint_size(value));
    }
  }
}

}  // namespace
}  // namespace millrace::wire
