#include "millrace/io/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace millrace::io {
namespace {

constexpr size_t kPieceBytes = 256 << 10;

class FileSource final : public ByteSource {
 public:
  explicit FileSource(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}

  Result<size_t> read(std::span<char> into) override {
    size_t filled = 0;
    while (filled < into.size()) {
      if (at_ == piece_.size()) {
        MR_ASSIGN(const bool has_more, refill());
        if (!has_more) break;
      }
      const size_t some = std::min(into.size() - filled, piece_.size() - at_);
      std::memcpy(into.data() + filled, piece_.data() + at_, some);
      at_ += some;
      filled += some;
    }
    return filled;
  }

 private:
  Result<bool> refill() {
    piece_.resize(kPieceBytes);
    at_ = piece_.size();  // nothing is left, also if the disk fails
    MR_ASSIGN(const size_t some, file_->read(offset_, piece_));
    piece_.resize(some);
    offset_ += some;
    at_ = 0;
    return some > 0;
  }

  const std::unique_ptr<ReadableFile> file_;
  std::string piece_;    // read, not all taken
  size_t at_ = 0;        // what of it was taken
  uint64_t offset_ = 0;  // where in the file it ends
};

class UnpackedSource final : public ByteSource {
 public:
  UnpackedSource(std::unique_ptr<ReadableFile> file, Packing packing)
      : packed_(std::move(file)), packing_(packing) {
    // zlib's way to be told which head and checksum stand around the stream.
    const int window = packing == Packing::gzip ? MAX_WBITS + 16 : MAX_WBITS;
    is_ready_ = inflateInit2(&stream_, window) == Z_OK;
  }
  ~UnpackedSource() override {
    if (is_ready_) (void)inflateEnd(&stream_);
  }

  Result<size_t> read(std::span<char> into) override {
    if (!is_ready_) return error(Code::resource_exhausted, "no memory to unpack a file");
    size_t filled = 0;
    while (filled < into.size() && !has_ended_) {
      if (stream_.avail_in == 0) {
        MR_ASSIGN(const bool has_more, refill());
        if (!has_more) break;
      }
      MR_ASSIGN(const size_t some, unpack(into.subspan(filled)));
      filled += some;
    }
    return filled;
  }

 private:
  // False at the end of the file, which may come only between streams.
  Result<bool> refill() {
    piece_.resize(kPieceBytes);
    MR_ASSIGN(const size_t some, packed_.read(piece_));
    stream_.next_in = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_in = static_cast<uInt>(some);
    if (some == 0 && is_inside_)
      return error(Code::data_loss, "the compressed file ends too early: it was cut off");
    return some > 0;
  }

  Result<size_t> unpack(std::span<char> into) {
    const size_t room = std::min(into.size(), kPieceBytes);
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(room);
    is_inside_ = true;
    const int outcome = inflate(&stream_, Z_NO_FLUSH);
    if (outcome == Z_STREAM_END) {
      is_inside_ = false;
      has_ended_ = packing_ == Packing::zlib;
      (void)inflateReset(&stream_);
    } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
      return error(Code::data_loss, "inflate() failed with error ", outcome, ": ",
                   stream_.msg != nullptr ? stream_.msg : "the compressed data is damaged");
    }
    return room - stream_.avail_out;
  }

  FileSource packed_;
  const Packing packing_;
  bool is_ready_ = false;
  z_stream stream_{};
  std::string piece_;       // what the stream takes from
  bool is_inside_ = false;  // of a stream that has begun and not ended
  bool has_ended_ = false;
};

}  // namespace

Result<Packing> packing_of(std::string_view name) {
  if (name.empty()) return Packing::none;
  if (name == "ZLIB") return Packing::zlib;
  if (name == "GZIP") return Packing::gzip;
  return invalid("Unsupported compression_type:", name, ".; '', 'ZLIB' and 'GZIP' are there");
}

std::unique_ptr<ByteSource> bytes_of(std::unique_ptr<ReadableFile> file, Packing packing) {
  if (packing == Packing::none) return std::make_unique<FileSource>(std::move(file));
  return std::make_unique<UnpackedSource>(std::move(file), packing);
}

Result<bool> skip(ByteSource& source, uint64_t count) {
  std::string scrap;
  while (count > 0) {
    scrap.resize(std::min<uint64_t>(count, kPieceBytes));
    MR_ASSIGN(const size_t some, source.read(scrap));
    if (some < scrap.size()) return false;
    count -= some;
  }
  return true;
}

Result<bool> read_exactly(ByteSource& source, uint64_t count, std::string* into) {
  while (count > 0) {
    const size_t before = into->size();
    const size_t piece = std::min<uint64_t>(count, kPieceBytes);
    into->resize(before + piece);
    const Result<size_t> some = source.read(std::span(*into).subspan(before));
    into->resize(before + (some.ok() ? *some : 0));
    if (!some.ok()) return some.status();
    if (*some < piece) return false;
    count -= piece;
  }
  return true;
}

}  // namespace millrace::io
