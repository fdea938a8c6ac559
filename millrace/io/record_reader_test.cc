// Files of records, piece by piece: packed, damaged, cut off, and with lengths that lie.
#include "millrace/io/record_reader.h"

#include <doctest/doctest.h>

#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"
#include "millrace/io/records.h"
#include "millrace/io/testing/memory_files.h"
#include "millrace/io/testing/packed.h"

namespace millrace::io {
namespace {

using testing::packed;

RecordReader reader_of(std::string bytes, Packing packing = Packing::none) {
  testing::MemoryFiles files;
  files.contents()["f"] = std::move(bytes);
  return RecordReader(bytes_of(files.open("f").value(), packing));
}

// All records, each with a bar behind it, and how it ended.
std::string told(RecordReader reader) {
  std::string text, record;
  for (;;) {
    const Result<bool> more = reader.next(&record);
    if (!more.ok()) {
      CHECK(reader.next(&record).status().message() == more.status().message());
      return text + more.status().message();
    }
    if (!*more) return text + "end";
    text += record + "|";
  }
}

std::string head_of(uint64_t size) {
  std::string head;
  put_little<uint64_t>(&head, size);
  put_little(&head, masked(crc32c(head)));
  return head;
}

const std::string& two() {
  static const std::string bytes = framed_record("one") + framed_record("second");
  return bytes;
}

TEST_CASE("records come in order, plain and packed, with the offset of the next") {
  RecordReader reader = reader_of(two());
  std::string record;
  CHECK(reader.offset() == 0);
  REQUIRE(reader.next(&record).value());
  CHECK(reader.offset() == 19);
  CHECK(told(reader_of(two())) == "one|second|end");
  CHECK(told(reader_of(packed(two(), Packing::zlib), Packing::zlib)) == "one|second|end");
  CHECK(told(reader_of(packed(two(), Packing::gzip), Packing::gzip)) == "one|second|end");
  CHECK(told(reader_of("")) == "end");
}

TEST_CASE("a record longer than a piece is whole") {
  const std::string large(1'000'003, 'x');
  for (const Packing packing : {Packing::zlib, Packing::gzip}) {
    const std::string file = framed_record(large) + framed_record("after");
    CHECK(told(reader_of(packed(file, packing), packing)) == large + "|after|end");
    CHECK(told(reader_of(file)) == large + "|after|end");
  }
}

TEST_CASE("records that lie across pieces are whole, and so are those around them") {
  std::string file, all;
  for (int i = 0; file.size() < 1'000'000; ++i) {
    const std::string record(static_cast<size_t>(i * 37 % 1'999), static_cast<char>('a' + i % 26));
    file += framed_record(record);
    all += record + "|";
  }
  CHECK(told(reader_of(file)) == all + "end");
  CHECK(told(reader_of(packed(file, Packing::gzip), Packing::gzip)) == all + "end");
  RecordReader reader = reader_of(file);
  for (std::string record; reader.next(&record).value();) {
  }
  CHECK(reader.offset() == file.size());
}

TEST_CASE("a GZIP file of several parts is all of them; behind a ZLIB stream nothing is read") {
  const std::string gzip = packed(two(), Packing::gzip), zlib = packed(two(), Packing::zlib);
  CHECK(told(reader_of(gzip + gzip, Packing::gzip)) == "one|second|one|second|end");
  CHECK(told(reader_of(zlib + zlib, Packing::zlib)) == "one|second|end");
}

TEST_CASE("every cut is told as data loss, but inside a head") {
  for (size_t size = 0; size < two().size(); ++size) {
    const std::string first = size >= 19 ? "one|" : "";
    const size_t begin = size >= 19 ? 19 : 0;
    const std::string end = size - begin < 12 ? "end"
                                              : str_cat("truncated record at ", begin,
                                                        "' failed with Read less bytes than "
                                                        "requested");
    CHECK(told(reader_of(two().substr(0, size))) == first + end);
  }
}

TEST_CASE("every changed byte is found") {
  for (size_t at = 0; at < 19; ++at) {
    std::string bytes = two();
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    CHECK(told(reader_of(bytes)) == (at < 12
                                         ? "corrupted record at 0 (Is this even a TFRecord file?)"
                                         : "corrupted record at 12"));
  }
}

TEST_CASE("a length that lies costs no memory") {
  CHECK(told(reader_of(head_of(2'000'000'000) + "few")) ==
        "truncated record at 0' failed with Read less bytes than requested");
  CHECK(told(reader_of(head_of(~uint64_t{0}) + "few")) ==
        "the record at 0 has 18446744073709551615 bytes; at most 2147483647 are read");
}

TEST_CASE("what does not unpack, or is cut off while packed, is data loss") {
  CHECK(told(reader_of(two(), Packing::zlib)).starts_with("inflate() failed with error -3"));
  CHECK(told(reader_of(two(), Packing::gzip)).starts_with("inflate() failed with error -3"));
  const std::string whole = packed(two(), Packing::gzip);
  for (size_t size = 1; size < whole.size(); ++size)
    CHECK(told(reader_of(whole.substr(0, size), Packing::gzip)).ends_with("it was cut off"));
}

TEST_CASE("records before the place where a packed file is damaged are read") {
  const std::string whole = packed(two(), Packing::gzip);
  std::string wrong_sum = whole;
  wrong_sum[whole.size() - 8] = static_cast<char>(wrong_sum[whole.size() - 8] ^ 1);
  const std::string damaged = "inflate() failed with error -3: incorrect data check";
  CHECK(told(reader_of(wrong_sum, Packing::gzip)) == "one|second|" + damaged);
  // So are those that unpack together with what is damaged.
  CHECK(told(reader_of(whole + wrong_sum, Packing::gzip)) == "one|second|one|second|" + damaged);
}

TEST_CASE("every changed byte behind the head of a packed file is found") {
  const std::string whole = packed(two(), Packing::gzip);
  for (size_t at = 10; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    CHECK_FALSE(told(reader_of(bytes, Packing::gzip)).ends_with("|end"));
  }
}

TEST_CASE("only TensorFlow's names of packings are known") {
  CHECK(packing_of("GZIP").value() == Packing::gzip);
  CHECK(packing_of("LZ4").status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace::io
