#include "millrace/io/record_reader.h"

#include "millrace/io/records.h"

namespace millrace::io {

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
  MR_ASSIGN(const bool has_head, read_exactly(*bytes_, kRecordHeadBytes, &head));
  if (!has_head) return false;
  const std::optional<uint64_t> size = record_size(head);
  if (!size)
    return error(Code::data_loss, "corrupted record at ", offset_,
                 " (Is this even a TFRecord file?)");
  if (*size > kLongestRecord)
    return invalid("the record at ", offset_, " has ", *size, " bytes; at most ", kLongestRecord,
                   " are read");
  record->clear();
  MR_ASSIGN(const bool is_whole, read_exactly(*bytes_, *size + kRecordTailBytes, record));
  if (!is_whole) return truncated("Read less bytes than requested");
  const std::string_view read = *record;
  if (!is_record_checksum(read.substr(*size), read.substr(0, *size)))
    return error(Code::data_loss, "corrupted record at ", offset_ + kRecordHeadBytes);
  record->resize(*size);
  offset_ += kRecordHeadBytes + *size + kRecordTailBytes;
  return true;
}

}  // namespace millrace::io
