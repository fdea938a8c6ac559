#include "millrace/io/record_reader.h"

#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"

namespace millrace::io {
namespace {

constexpr size_t kHead = 12, kTail = 4;

bool is_checksum(std::string_view bytes, std::string_view data) {
  return read_little<uint32_t>(bytes) == masked(crc32c(data));
}

}  // namespace

Status RecordReader::truncated(std::string_view why) const {
  return error(Code::data_loss, "truncated record at ", offset_, "' failed with ", why);
}

Result<bool> RecordReader::next(std::string* record) {
  if (!failed_.ok()) return failed_;
  Result<bool> found = read_next(record);
  if (!found.ok()) failed_ = found.status();
  return found;
}

Result<bool> RecordReader::read_next(std::string* record) {
  std::string head;
  MR_ASSIGN(const bool has_head, read_exactly(*bytes_, kHead, &head));
  if (!has_head) return false;
  if (!is_checksum(std::string_view(head).substr(8), std::string_view(head).substr(0, 8)))
    return error(Code::data_loss, "corrupted record at ", offset_,
                 " (Is this even a TFRecord file?)");
  const auto size = read_little<uint64_t>(head);
  if (size > kLongestRecord)
    return invalid("the record at ", offset_, " has ", size, " bytes; at most ", kLongestRecord,
                   " are read");
  record->clear();
  MR_ASSIGN(const bool is_whole, read_exactly(*bytes_, size + kTail, record));
  if (!is_whole) return truncated("Read less bytes than requested");
  const std::string_view data = std::string_view(*record).substr(0, size);
  if (!is_checksum(std::string_view(*record).substr(size), data))
    return error(Code::data_loss, "corrupted record at ", offset_ + kHead);
  record->resize(size);
  offset_ += kHead + size + kTail;
  return true;
}

}  // namespace millrace::io
