#include "millrace/io/byte_source.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace millrace::io {
namespace {

constexpr size_t kPieceBytes = 256 << 10;

// Bytes that come in large pieces and are taken in small ones.
class InPieces : public ByteSource {
 public:
  Result<size_t> read(std::span<char> into) final {
    size_t filled = 0;
    while (filled < into.size()) {
      const std::span<char> rest = into.subspan(filled);
      if (at_ == end_ && rest.size() >= kPieceBytes) {
        // What is that large needs no piece in between.
        const size_t some = fill_unless_failed(rest);
        if (some == 0) break;
        filled += some;
        continue;
      }
      if (at_ == end_ && !refill()) break;
      const size_t some = std::min(rest.size(), end_ - at_);
      std::memcpy(rest.data(), piece_.get() + at_, some);
      at_ += some;
      filled += some;
    }
    if (filled < into.size() && !failed_.ok()) return failed_;
    return filled;
  }

  Result<std::string_view> look() final {
    if (at_ == end_ && !refill() && !failed_.ok()) return failed_;
    return std::string_view(piece_.get() + at_, end_ - at_);
  }
  void take(size_t count) final { at_ += count; }

 protected:
  // What came, and the error that came behind it.
  struct Filled {
    size_t count = 0;
    Status then;
  };
  // Fewer bytes than there is room for only at the end, or before an error.
  virtual Filled fill(std::span<char> piece) = 0;

 private:
  // How many came; none at the end, and once it has failed.
  size_t fill_unless_failed(std::span<char> into) {
    if (!failed_.ok()) return 0;
    Filled filled = fill(into);
    failed_ = std::move(filled.then);
    return filled.count;
  }

  // False if nothing comes any more.
  bool refill() {
    if (piece_ == nullptr) piece_ = std::make_unique_for_overwrite<char[]>(kPieceBytes);
    at_ = 0;
    end_ = fill_unless_failed({piece_.get(), kPieceBytes});
    return end_ > 0;
  }

  std::unique_ptr<char[]> piece_;
  size_t at_ = 0, end_ = 0;  // what of it was taken, and where it ends
  Status failed_;            // behind its end
};

class FileSource final : public InPieces {
 public:
  explicit FileSource(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}

  Filled fill(std::span<char> piece) override {
    Result<size_t> some = file_->read(offset_, piece);
    if (!some.ok()) return {0, std::move(some).status()};
    offset_ += *some;
    return {*some, {}};
  }

 private:
  const std::unique_ptr<ReadableFile> file_;
  uint64_t offset_ = 0;  // where in the file the piece ends
};

// What zlib calls damaged data, and programs know.
constexpr int kDamaged = -3;

std::string_view told(int outcome) {
  switch (outcome) {
    case ISAL_INVALID_WRAPPER:
      return "incorrect header check";
    case ISAL_UNSUPPORTED_METHOD:
      return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
      return "incorrect data check";
    case ISAL_NEED_DICT:
      return "the stream needs a dictionary";
    default:
      return "the compressed data is damaged";
  }
}

// By ISA-L: records came about twice as quickly as by zlib (bench/versus, B24). In large pieces:
// with room for a few bytes at a time they came a fifth more slowly.
class UnpackedSource final : public InPieces {
 public:
  UnpackedSource(std::unique_ptr<ReadableFile> file, Packing packing, CutOff cut_off)
      : packed_(std::move(file)), packing_(packing), cut_off_(cut_off) {
    isal_inflate_init(stream_.get());
    stream_->crc_flag = packing == Packing::gzip ? ISAL_GZIP : ISAL_ZLIB;
  }

  Filled fill(std::span<char> piece) override {
    size_t filled = 0;
    while (filled < piece.size() && !has_ended_) {
      // The stream may hold more than it had room for, though all that was packed is taken.
      Filled some = unpack(piece.subspan(filled));
      filled += some.count;
      if (!some.then.ok()) return {filled, std::move(some.then)};
      if (some.count > 0 || stream_->avail_in > 0) continue;
      Result<bool> has_more = take_more();
      if (!has_more.ok()) return {filled, std::move(has_more).status()};
      if (!*has_more) break;
    }
    return {filled, {}};
  }

 private:
  // False at the end of the file, which may come only between streams.
  Result<bool> take_more() {
    taken_.resize(kPieceBytes);
    MR_ASSIGN(const size_t some, packed_.read(taken_));
    stream_->next_in = reinterpret_cast<uint8_t*>(taken_.data());
    stream_->avail_in = static_cast<uint32_t>(some);
    if (some == 0 && is_inside_ && cut_off_ == CutOff::refused)
      return error(Code::data_loss, "the compressed file ends too early: it was cut off");
    return some > 0;
  }

  Filled unpack(std::span<char> into) {
    const uint32_t before = stream_->avail_in;
    if (before > 0) is_inside_ = true;
    if (!is_inside_) return {};
    stream_->next_out = reinterpret_cast<uint8_t*>(into.data());
    stream_->avail_out = static_cast<uint32_t>(into.size());
    const int outcome = isal_inflate(stream_.get());
    const size_t some = into.size() - stream_->avail_out;
    const bool is_done = stream_->block_state == ISAL_BLOCK_FINISH;
    const bool is_stuck = before > 0 && stream_->avail_in == before && some == 0 && !is_done;
    if (outcome < 0 || outcome == ISAL_NEED_DICT || is_stuck) {
      return {some, error(Code::data_loss, "inflate() failed with error ", kDamaged, ": ",
                          told(outcome))};
    }
    if (is_done) {
      is_inside_ = false;
      has_ended_ = packing_ == Packing::zlib;
      isal_inflate_reset(stream_.get());
    }
    return {some, {}};
  }

  FileSource packed_;
  const Packing packing_;
  const CutOff cut_off_;
  const std::unique_ptr<inflate_state> stream_ = std::make_unique<inflate_state>();
  std::string taken_;       // what the stream takes from
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

std::unique_ptr<ByteSource> bytes_of(std::unique_ptr<ReadableFile> file, Packing packing,
                                     CutOff cut_off) {
  if (packing == Packing::none) return std::make_unique<FileSource>(std::move(file));
  return std::make_unique<UnpackedSource>(std::move(file), packing, cut_off);
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
