#include "millrace/launch/yarn/aggregated_logs.h"

#include <zlib.h>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// --- as Hadoop writes it ---

std::string tfile_big_endian(uint64_t value, int size) {
  std::string bytes;
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
    bytes += static_cast<char>((value >> shift) & 0xff);
  return bytes;
}

// One byte, two, or five.
std::string tfile_number(int64_t value) {
  if (value >= -32 && value < 128) return tfile_big_endian(static_cast<uint64_t>(value), 1);
  if (value >= -20 * 256 && value < 20 * 256)
    return tfile_big_endian(static_cast<uint64_t>((value >> 8) - 52), 1) +
           tfile_big_endian(static_cast<uint64_t>(value), 1);
  return tfile_big_endian(static_cast<uint64_t>(-125), 1) +
         tfile_big_endian(static_cast<uint64_t>(value), 4);
}

std::string tfile_text(const std::string& words) {
  return tfile_number(static_cast<int64_t>(words.size())) + words;
}
std::string tfile_short_text(const std::string& words) {
  return tfile_big_endian(words.size(), 2) + words;
}

std::string log_entry(const std::string& name, const std::string& bytes) {
  return tfile_short_text(name) + tfile_short_text(std::to_string(bytes.size())) + bytes;
}

// In two pieces, if there is enough of it.
std::string tfile_record(const std::string& key, const std::string& value) {
  const size_t first = value.size() / 2;
  const std::string begin =
      first == 0 ? "" : tfile_number(-static_cast<int64_t>(first)) + value.substr(0, first);
  return tfile_text(tfile_short_text(key)) + begin +
         tfile_number(static_cast<int64_t>(value.size() - first)) + value.substr(first);
}

std::string tfile_packed(const std::string& bytes) {
  std::string small(compressBound(bytes.size()), '\0');
  uLongf size = small.size();
  REQUIRE(compress(reinterpret_cast<Bytef*>(small.data()), &size,
                   reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) == Z_OK);
  small.resize(size);
  return small;
}

std::string tfile(const std::vector<std::string>& blocks, const std::string& packed_as = "none") {
  const bool is_plain = packed_as == "none";
  std::string file = "\xd1\x11\xd3\x68\x91\xb5\xd7\xb6\x39\xdf\x41\x40\x92\xba\xe1\x50";
  const std::string magic = file;
  std::string index = tfile_text(packed_as) + tfile_number(static_cast<int64_t>(blocks.size()));
  auto add = [&](const std::string& bytes) {
    const std::string stored = is_plain ? bytes : tfile_packed(bytes);
    const std::string place = tfile_number(static_cast<int64_t>(file.size())) +
                              tfile_number(static_cast<int64_t>(stored.size())) +
                              tfile_number(static_cast<int64_t>(bytes.size()));
    file += stored;
    return place;
  };
  for (const std::string& block : blocks) index += add(block);
  const std::string place = add(index);
  const size_t names = file.size();
  file += tfile_number(2) + tfile_text("data:TFile.meta") + tfile_text("none") + tfile_number(0) +
          tfile_number(0) + tfile_number(0) + tfile_text("data:BCFile.index") +
          tfile_text(packed_as) + place;
  return file + tfile_big_endian(names, 8) + tfile_big_endian(0x10000, 4) + magic;
}

Status read_into(const std::string& bytes, std::string& heard) {
  return read_aggregated({.size = bytes.size(),
                          .read = [&](uint64_t at, uint64_t size) -> Result<std::string> {
                            return bytes.substr(at, size);
                          }},
                         [&](const AggregatedLog& log) {
                           str_append(&heard, log.container, " ", log.name, "=", log.bytes, ";");
                           return Status();
                         });
}

std::string logs_in_tfile(const std::string& bytes) {
  std::string heard;
  const Status read = read_into(bytes, heard);
  return read.ok() ? heard : read.message();
}

TEST_CASE("the logs of all containers are read, and nothing else that stands there") {
  const std::string block =
      tfile_record("VERSION", tfile_big_endian(1, 4)) +
      tfile_record("APPLICATION_OWNER", tfile_short_text("anna")) +
      tfile_record("container_1_0001_01_000001",
                   log_entry("launcher.log", "words\n") + log_entry("stdout", ""));
  const std::string other =
      tfile_record("container_1_0001_01_000002", log_entry("stdout", "other"));
  const std::string heard =
      "container_1_0001_01_000001 launcher.log=words\n;container_1_0001_01_000001 stdout=;"
      "container_1_0001_01_000002 stdout=other;";
  CHECK(logs_in_tfile(tfile({block, other})) == heard);
  CHECK(logs_in_tfile(tfile({block, other}, "gz")) == heard);
  CHECK(logs_in_tfile(tfile({})).empty());
}

TEST_CASE("a log is read as it was written, however long it is") {
  std::string much;
  for (int i = 0; i < 30'000; ++i) str_append(&much, i, "\n");
  CHECK(logs_in_tfile(tfile({tfile_record("container_1", log_entry("a", much))})) ==
        str_cat("container_1 a=", much, ";"));
}

TEST_CASE("what is no such file, or half one, is said, wherever it is cut") {
  const std::string whole = tfile({tfile_record("container_1", log_entry("a", "some words"))});
  for (size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(logs_in_tfile(whole.substr(0, size)).find("no file of aggregated logs") !=
          std::string::npos);
  }
}

TEST_CASE("whatever byte is another, reading ends") {
  const std::string whole = tfile(
      {tfile_record("container_1", log_entry("a", "some words") + log_entry("b", "more"))}, "gz");
  for (size_t at = 0; at < whole.size(); ++at)
    for (const char byte : {'\0', '\x7f', '\x80', '\xff'}) {
      std::string other = whole;
      other[at] = byte;
      std::string heard;
      (void)read_into(other, heard);
    }
}

TEST_CASE("how they are packed, if it is unknown, is named") {
  std::string file = tfile({});
  file.replace(file.find("none"), 4, "lzo1");
  CHECK(logs_in_tfile(file).empty());  // of no block
  std::string other = tfile({tfile_record("container_1", log_entry("a", "x"))});
  other.replace(other.find("none"), 4, "lzo1");
  CHECK(logs_in_tfile(other) == "they are packed by 'lzo1'");
}

}  // namespace
}  // namespace millrace
