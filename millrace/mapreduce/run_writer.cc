#include "millrace/mapreduce/run_writer.h"

#include <utility>

#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"
#include "millrace/mapreduce/in_quotes.h"

namespace millrace::mapreduce {

RunWriter::RunWriter(std::string path, std::unique_ptr<WritableFile> file)
    : path_(std::move(path)),
      file_(std::move(file)),
      block_(kBlockHeadBytes, '\0'),
      end_(kRunMagic.size()),
      begin_(end_) {}

Result<RunWriter> RunWriter::create(Files& files, std::string path) {
  MR_ASSIGN(auto file, files.create(path));
  MR_TRY(file->append(kRunMagic));
  return RunWriter(std::move(path), std::move(file));
}

Status RunWriter::add(std::string_view key, std::string_view value) {
  if (key.size() > kLongestEntry || value.size() > kLongestEntry - key.size())
    return invalid("the pair of key ", in_quotes(key), " has ", key.size(), " and ", value.size(),
                   " bytes; the longest may have ", kLongestEntry);
  put_varint(&block_, key.size());
  put_varint(&block_, value.size());
  block_ += key;
  block_ += value;
  return block_.size() < kBlockBytes + kBlockHeadBytes ? Status() : flush();
}

Status RunWriter::flush() {
  const size_t size = block_.size() - kBlockHeadBytes;
  if (size == 0) return {};
  std::string head;
  io::put_little(&head, static_cast<uint32_t>(size));
  const uint32_t entries = io::crc32c({block_.data() + kBlockHeadBytes, size}, io::crc32c(head));
  io::put_little(&head, io::masked(entries));
  block_.replace(0, kBlockHeadBytes, head);
  MR_TRY(file_->append(block_));
  end_ += block_.size();
  block_.resize(kBlockHeadBytes);
  return {};
}

Result<Segment> RunWriter::end_segment() {
  MR_TRY(flush());
  const uint64_t begin = std::exchange(begin_, end_);
  return Segment{path_, begin, end_ - begin};
}

Status RunWriter::close() {
  MR_TRY(flush());
  return file_->close();
}

}  // namespace millrace::mapreduce
