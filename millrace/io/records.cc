#include "millrace/io/records.h"

#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"

namespace millrace::io {
namespace {

Status damaged(size_t at, std::string_view what) {
  return Status(Code::data_loss,
                str_cat("corrupted record at ", at, ": the checksum of its ", what, " is wrong"));
}

}  // namespace

bool is_record_checksum(std::string_view kept, std::string_view bytes) {
  return read_little<uint32_t>(kept) == masked(crc32c(bytes));
}

std::optional<uint64_t> record_size(std::string_view head) {
  if (!is_record_checksum(head.substr(8), head.substr(0, 8))) return std::nullopt;
  return read_little<uint64_t>(head);
}

std::string framed_record(std::string_view data) {
  std::string made;
  made.reserve(kRecordHeadBytes + data.size() + kRecordTailBytes);
  put_little<uint64_t>(&made, data.size());
  put_little(&made, masked(crc32c(made)));
  made += data;
  put_little(&made, masked(crc32c(data)));
  return made;
}

Result<std::vector<std::string_view>> records_of(std::string_view file) {
  std::vector<std::string_view> found;
  size_t at = 0;
  while (file.size() - at >= kRecordHeadBytes) {
    const std::optional<uint64_t> size = record_size(file.substr(at, kRecordHeadBytes));
    if (!size) return damaged(at, "length");
    const std::string_view rest = file.substr(at + kRecordHeadBytes);
    if (rest.size() < kRecordTailBytes || *size > rest.size() - kRecordTailBytes) break;
    const std::string_view data = rest.substr(0, *size);
    if (!is_record_checksum(rest.substr(*size), data)) return damaged(at, "data");
    found.push_back(data);
    at += kRecordHeadBytes + *size + kRecordTailBytes;
  }
  return found;
}

}  // namespace millrace::io
