#include "millrace/io/records.h"

#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"

namespace millrace::io {
namespace {

constexpr size_t kHeadBytes = 12, kTailBytes = 4;

Status damaged(size_t at, std::string_view what) {
  return Status(Code::data_loss,
                str_cat("corrupted record at ", at, ": the checksum of its ", what, " is wrong"));
}

}  // namespace

std::string framed_record(std::string_view data) {
  std::string made;
  made.reserve(kHeadBytes + data.size() + kTailBytes);
  put_little<uint64_t>(&made, data.size());
  put_little(&made, masked(crc32c(made)));
  made += data;
  put_little(&made, masked(crc32c(data)));
  return made;
}

Result<std::vector<std::string_view>> records_of(std::string_view file) {
  std::vector<std::string_view> found;
  size_t at = 0;
  while (file.size() - at >= kHeadBytes) {
    const std::string_view head = file.substr(at, kHeadBytes);
    if (read_little<uint32_t>(head.substr(8)) != masked(crc32c(head.substr(0, 8))))
      return damaged(at, "length");
    const auto size = read_little<uint64_t>(head);
    const size_t left = file.size() - at - kHeadBytes;
    if (left < kTailBytes || size > left - kTailBytes) break;
    const std::string_view data = file.substr(at + kHeadBytes, size);
    const auto tail = file.substr(at + kHeadBytes + size, kTailBytes);
    if (read_little<uint32_t>(tail) != masked(crc32c(data))) return damaged(at, "data");
    found.push_back(data);
    at += kHeadBytes + size + kTailBytes;
  }
  return found;
}

}  // namespace millrace::io
