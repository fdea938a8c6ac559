#include "millrace/io/slice.h"

#include <doctest/doctest.h>

namespace millrace::io {
namespace {

TEST_CASE("a slice is read from its text and written as it was") {
  for (const char* text : {"", "-", "0,10", "0,10:-:5,1", "-:-"})
    CHECK(Slice::parse(text).value().to_string() == text);
}

TEST_CASE("a text that is no slice is refused with the text") {
  for (const char* text : {":", "0", "a,b", "-1,2", "0,0", "0,1:", "3,", ",", "1,2,3"}) {
    const auto read = Slice::parse(text);
    REQUIRE_FALSE(read.ok());
    CHECK(read.status().code() == Code::invalid_argument);
    CHECK(read.status().message().find(text) != std::string::npos);
  }
}

TEST_CASE("a slice of a shape is inside it") {
  const SliceOfShape read = parse_slice_of_shape("20 30 5,10:-").value();
  CHECK(read.whole == Shape{20, 30});
  CHECK(read.slice.extents == std::vector<Extent>{{5, 10}, {0, 30}});
  CHECK(read.spelled.to_string() == "5,10:-");
  for (const char* text :
       {"20 30 15,10:-", "20 5,10:-", "20 30", "x 5,10", "20 30 5,10", "-5 0,1", "5,10"})
    CHECK_FALSE(parse_slice_of_shape(text).ok());
}

TEST_CASE("what two boxes share is copied from one to the other") {
  // A 3x4 tensor, of which rows 1 and 2 of columns 2 and 3 go to a box that begins at row 1.
  const std::vector<int32_t> from = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<int32_t> to(9, -1);
  const Slice from_box{{{0, 3}, {0, 4}}}, to_box{{{1, 3}, {2, 3}}};
  const Slice part = common_part(from_box, to_box);
  CHECK(part.extents == std::vector<Extent>{{1, 2}, {2, 2}});
  copy_part(part, from_box, reinterpret_cast<const char*>(from.data()), to_box,
            reinterpret_cast<char*>(to.data()), sizeof(int32_t));
  CHECK(to == std::vector<int32_t>{6, 7, -1, 10, 11, -1, -1, -1, -1});
}

TEST_CASE("boxes that share nothing copy nothing") {
  const Slice a{{{0, 2}}}, b{{{2, 2}}};
  const int32_t from[2] = {1, 2};
  int32_t to[2] = {-1, -1};
  copy_part(common_part(a, b), a, reinterpret_cast<const char*>(from), b,
            reinterpret_cast<char*>(to), sizeof(int32_t));
  CHECK(to[0] == -1);
  CHECK(to[1] == -1);
}

// Bytes that TensorFlow's EncodeTensorNameSlice writes.
TEST_CASE("the key of a slice is the one that TensorFlow writes") {
  CHECK(slice_key("w", Slice{{{0, -1}, {10, 20}}}) ==
        std::string("\0w\0\1\1\2\x80\x7f\x8a\x94", 10));
  // A number that needs two bytes, and one that needs three.
  CHECK(slice_key("w", Slice{{{64, 300}}}) == std::string("\0w\0\1\1\1\xc0\x40\xc1\x2c", 10));
  CHECK(slice_key("w", Slice{{{0, 100000}}}) == std::string("\0w\0\1\1\1\x80\xe1\x86\xa0", 10));
}

}  // namespace
}  // namespace millrace::io
