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

Result<uint64_t> RecordReader::size_in(std::string_view head) const {
  const std::optional<uint64_t> size = record_size(head);
  if (!size)
    return error(Code::data_loss, "corrupted record at ", offset_,
                 " (Is this even a TFRecord file?)");
  if (*size > kLongestRecord)
    return invalid("the record at ", offset_, " has ", *size, " bytes; at most ", kLongestRecord,
                   " are read");
  return *size;
}

Status RecordReader::check(std::string_view record, std::string_view tail) const {
  if (is_record_checksum(tail, record)) return {};
  return error(Code::data_loss, "corrupted record at ", offset_ + kRecordHeadBytes);
}

// Mostly the whole record is there: then it is checked where it lies, and copied once.
Result<bool> RecordReader::read_next(std::string* record) {
  MR_ASSIGN(const std::string_view there, bytes_->look());
  if (there.size() < kRecordHeadBytes) return gather(record);
  MR_ASSIGN(const uint64_t size, size_in(there.substr(0, kRecordHeadBytes)));
  const uint64_t whole = kRecordHeadBytes + size + kRecordTailBytes;
  if (there.size() < whole) return gather(record);
  const std::string_view data = there.substr(kRecordHeadBytes, size);
  MR_TRY(check(data, there.substr(kRecordHeadBytes + size)));
  record->assign(data);
  bytes_->take(whole);
  offset_ += whole;
  return true;
}

Result<bool> RecordReader::gather(std::string* record) {
  std::string head;
  MR_ASSIGN(const bool has_head, read_exactly(*bytes_, kRecordHeadBytes, &head));
  if (!has_head) return false;
  MR_ASSIGN(const uint64_t size, size_in(head));
  record->clear();
  MR_ASSIGN(const bool is_whole, read_exactly(*bytes_, size + kRecordTailBytes, record));
  if (!is_whole) return truncated("Read less bytes than requested");
  const std::string_view read = *record;
  MR_TRY(check(read.substr(0, size), read.substr(size)));
  record->resize(size);
  offset_ += kRecordHeadBytes + size + kRecordTailBytes;
  return true;
}

}  // namespace millrace::io
