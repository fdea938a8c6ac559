// Files of runs: their bytes, and what becomes of files that are not what was written.
#include <string>

#include <doctest/doctest.h>

#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"
#include "millrace/io/testing/memory_files.h"
#include "millrace/mapreduce/run_reader.h"
#include "millrace/mapreduce/testing/jobs_lab.h"

namespace millrace::mapreduce {
namespace {

using millrace::testing::MemoryFiles;
using testing::run_of;

// "key=value" of each pair of a segment, or the error's code at the end.
std::string told_pairs(Files& files, const Segment& segment) {
  Result<RunReader> reader = RunReader::open(files, segment);
  if (!reader.ok()) return code_name(reader.status().code());
  std::string all;
  for (;;) {
    const Result<bool> is_one = reader->next();
    if (!is_one.ok()) return all + code_name(is_one.status().code());
    if (!*is_one) return all;
    str_append(&all, reader->key(), "=", reader->value(), " ");
  }
}

TEST_CASE("a file of runs has the bytes that run_format.h draws") {
  MemoryFiles files;
  RunWriter writer = RunWriter::create(files, "runs").value();
  REQUIRE(writer.add("a", "one").ok());
  REQUIRE(writer.add("b", "").ok());
  const Segment first = writer.end_segment().value();
  const Segment none = writer.end_segment().value();
  REQUIRE(writer.add("", std::string(200, 'v')).ok());
  const Segment last = writer.end_segment().value();
  REQUIRE(writer.close().ok());
  const std::string bytes = files.contents()["runs"];
  CHECK(bytes.substr(0, 8) == "MRRUNS2\n");
  CHECK(bytes.substr(8, 4) == std::string("\x09\0\0\0", 4));
  CHECK(bytes.substr(16, 9) == std::string("\x01\x03"
                                           "aone"
                                           "\x01\x00"
                                           "b",
                                           9));
  CHECK(bytes.substr(25, 4) == std::string("\xcb\0\0\0", 4));
  CHECK(bytes.substr(33, 3) == std::string("\x00\xc8\x01", 3));
  CHECK(bytes.size() == 25 + 8 + 3 + 200);
  CHECK(first.offset == 8);
  CHECK(first.length == 17);
  CHECK(none.length == 0);
  CHECK(last.offset == 25);
  CHECK(told_pairs(files, first) == "a=one b= ");
  CHECK(told_pairs(files, none) == "");
  CHECK(told_pairs(files, last) == "=" + std::string(200, 'v') + " ");
}

TEST_CASE("what is longer than a block comes back whole, and so do many blocks") {
  MemoryFiles files;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (int i = 0; i < 300; ++i)
    pairs.emplace_back(str_cat("key", 1000 + i), std::string(static_cast<size_t>(i) * 40, 'x'));
  pairs.emplace_back("large", std::string(3 * kBlockBytes, 'y'));
  pairs.emplace_back("last", "z");
  const Segment segment = run_of(files, "runs", pairs);
  std::string expected;
  for (const auto& [key, value] : pairs) str_append(&expected, key, "=", value, " ");
  CHECK(told_pairs(files, segment) == expected);
}

TEST_CASE("a file that is cut off anywhere is told as damaged, and never read beyond its end") {
  MemoryFiles files;
  const Segment segment = run_of(files, "runs", {{"a", "one"}, {"b", "two"}, {"c", "three"}});
  const std::string whole = files.contents()["runs"];
  for (size_t size = 0; size < whole.size(); ++size) {
    files.contents()["runs"] = whole.substr(0, size);
    CHECK_MESSAGE(told_pairs(files, segment) == "DATA_LOSS", size);
  }
}

TEST_CASE("a byte that has changed is told as damage, whichever it is") {
  MemoryFiles files;
  const Segment segment = run_of(files, "runs", {{"a", "one"}, {"b", "two"}, {"c", "three"}});
  const std::string whole = files.contents()["runs"];
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      files.contents()["runs"] = whole;
      files.contents()["runs"][at] ^= static_cast<char>(change);
      CHECK_MESSAGE(told_pairs(files, segment) == "DATA_LOSS", at);
    }
  }
}

// A block with a right checksum, whatever is in it.
std::string block_of(std::string_view entries) {
  std::string head;
  io::put_little(&head, static_cast<uint32_t>(entries.size()));
  std::string made = head;
  io::put_little(&made, io::masked(io::crc32c(entries, io::crc32c(head))));
  return made.append(entries);
}

TEST_CASE("blocks that somebody made are not believed") {
  MemoryFiles files;
  const auto told = [&](const std::string& blocks) {
    files.contents()["runs"] = "MRRUNS2\n" + blocks;
    return told_pairs(files, {"runs", 8, blocks.size()});
  };
  CHECK(told(block_of(std::string("\x01\x01"
                                  "ab",
                                  4))) == "a=b ");
  CHECK(told(block_of("")) == "DATA_LOSS");
  CHECK(told(block_of("\x01")) == "DATA_LOSS");
  CHECK(told(block_of("\x05\x01"
                      "ab")) == "DATA_LOSS");
  CHECK(told(block_of("\x01\x05"
                      "ab")) == "DATA_LOSS");
  CHECK(told(block_of("\xff\xff\xff\xff\x0f\x01"
                      "ab")) == "DATA_LOSS");
  CHECK(told(block_of("\xff\xff\xff\xff\xff\xff\x01"
                      "ab")) == "DATA_LOSS");
  // A block that says that it has four gigabytes asks for none of them.
  CHECK(told("\xff\xff\xff\xff"
             "abcd") == "DATA_LOSS");
  // Keys that descend, in a block and from one to the next.
  CHECK(told(block_of(std::string("\x01\x00"
                                  "b"
                                  "\x01\x00"
                                  "a",
                                  6))) == "b= DATA_LOSS");
  CHECK(told(block_of(std::string("\x01\x00"
                                  "b",
                                  3)) +
             block_of(std::string("\x01\x00"
                                  "a",
                                  3))) == "b= DATA_LOSS");
  CHECK(told_pairs(files, {"runs", 8, uint64_t{1} << 60}) == "DATA_LOSS");
  CHECK(told_pairs(files, {"runs", uint64_t{1} << 60, 20}) == "DATA_LOSS");
  CHECK(told_pairs(files, {"runs", ~uint64_t{0} - 3, 20}) == "DATA_LOSS");
}

TEST_CASE("an error says which file is damaged, and where") {
  MemoryFiles files;
  const Segment segment = run_of(files, "runs", {{"a", "one"}});
  files.contents()["runs"][20] ^= 1;
  RunReader reader = RunReader::open(files, segment).value();
  CHECK(reader.next().status().to_string() ==
        "DATA_LOSS: runs, byte 8: its checksum is another one; it is damaged");
}

}  // namespace
}  // namespace millrace::mapreduce
