#include "millrace/io/records.h"

#include <doctest/doctest.h>

namespace millrace::io {
namespace {

// As TensorFlow writes a record of the three bytes "abc".
constexpr std::string_view kAbc(
    "\x03\0\0\0\0\0\0\0"
    "\xb0\x99\x49\x0e"
    "abc"
    "\x6eW\xf1\x21",
    19);

TEST_CASE("a record has the bytes that TensorFlow writes") {
  const std::string made = framed_record("abc");
  CHECK(made.size() == kAbc.size());
  CHECK(made == kAbc);
}

TEST_CASE("what was written is read again, records of any size among it") {
  const std::string large(100'000, 'x');
  const std::string file = framed_record("") + framed_record("abc") + framed_record(large);
  const auto found = records_of(file);
  REQUIRE(found.ok());
  CHECK(*found == std::vector<std::string_view>{"", "abc", large});
}

TEST_CASE("a last record that is cut off anywhere is left out") {
  const std::string file = framed_record("abc") + framed_record("defg");
  for (size_t size = framed_record("abc").size(); size < file.size(); ++size) {
    const auto found = records_of(std::string_view(file).substr(0, size));
    REQUIRE(found.ok());
    CHECK(found->size() == 1);
  }
}

TEST_CASE("a byte that was changed is noticed wherever it is") {
  const std::string file = framed_record("abc");
  for (size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK(records_of(damaged).status().code() == Code::data_loss);
  }
}

}  // namespace
}  // namespace millrace::io
