#include "millrace/io/journal_reader.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/base/str_cat.h"
#include "millrace/io/journal_format.h"

namespace millrace::io {
namespace {

// One file, walked along from its front.
class JournalWalk {
 public:
  JournalWalk(const ReadableFile& file, uint64_t size, uint64_t generation)
      : file_(file), size_(size), generation_(generation) {}

  Result<JournalFound> walk(RecordSink replay) {
    MR_TRY(read_header());
    JournalFound found{.generation = generation_};
    for (bool in_snapshot = true; at_ < size_;) {
      MR_ASSIGN(const std::optional<FrameHead> head, next_frame());
      if (!head) {
        if (in_snapshot) return damaged("the snapshot is not whole");
        if (found.ended_well) return damaged("something follows the farewell");
        MR_TRY(nothing_follows());
        found.torn_bytes = size_ - at_;
        return found;
      }
      MR_TRY(check(*head, in_snapshot, found));
      in_snapshot = in_snapshot && head->kind != FrameKind::snapshot_end;
      found.ended_well = head->kind == FrameKind::farewell;
      MR_TRY(replay_records(replay, found));
      at_ += kFrameHeadBytes + head->length + kFrameTailBytes;
      ++sequence_;
      is_whole_ = is_whole_ || !in_snapshot;
    }
    if (!is_whole_) return damaged("the snapshot has no end");
    return found;
  }

 private:
  Status damaged(std::string_view what) const {
    return error(Code::data_loss, "at byte ", at_, " of ", size_, ": ", what,
                 "; what was acknowledged is missing, so nothing is read. Put back a copy of the "
                 "folder, or move the file away to begin with nothing");
  }

  Result<std::string> read(uint64_t at, uint64_t length) const {
    std::string bytes(std::min(length, size_ - std::min(at, size_)), '\0');
    MR_ASSIGN(const size_t some, file_.read(at, bytes));
    bytes.resize(some);
    return bytes;
  }

  Status read_header() {
    MR_ASSIGN(const std::string header, read(0, kJournalHeaderBytes));
    const std::optional<uint32_t> seed = read_journal_header(header, generation_);
    if (!seed) return damaged("the file does not begin as a journal of its name does");
    seed_ = *seed;
    at_ = kJournalHeaderBytes;
    return {};
  }

  // The frame that begins here, its records in payload_; none if it is not whole.
  Result<std::optional<FrameHead>> next_frame() {
    MR_ASSIGN(const std::string bytes, read(at_, kFrameHeadBytes));
    if (bytes.size() < kFrameHeadBytes) return std::optional<FrameHead>();
    const std::optional<FrameHead> head = read_frame_head(bytes, seed_);
    if (!head) return head;
    const uint64_t rest = size_ - at_ - kFrameHeadBytes;
    if (rest < kFrameTailBytes || head->length > rest - kFrameTailBytes)
      return std::optional<FrameHead>();
    // The next frame is begun when this one is on the disk: what has a successor was whole.
    MR_ASSIGN(payload_, read(at_ + kFrameHeadBytes, head->length));
    MR_ASSIGN(const std::string tail, read(at_ + kFrameHeadBytes + head->length, kFrameTailBytes));
    if (payload_.size() == head->length && tail.size() == kFrameTailBytes &&
        is_frame_tail(tail, *head, payload_))
      return head;
    if (rest > head->length + kFrameTailBytes)
      return damaged("a frame is damaged that others follow");
    return std::optional<FrameHead>();
  }

  Status check(const FrameHead& head, bool in_snapshot, const JournalFound& found) const {
    if (head.sequence != sequence_)
      return damaged(str_cat("frame ", head.sequence, " stands where ", sequence_, " should"));
    if (found.ended_well) return damaged("something follows the farewell");
    const bool is_of_snapshot =
        head.kind == FrameKind::snapshot || head.kind == FrameKind::snapshot_end;
    if (is_of_snapshot == in_snapshot) return {};
    return damaged("groups and the snapshot are mixed up");
  }

  Status replay_records(RecordSink replay, JournalFound& found) {
    for (std::string_view rest = payload_; !rest.empty(); ++found.records) {
      const Result<std::string_view> record = take_record(&rest);
      if (!record.ok()) return damaged(record.status().message());
      MR_TRY(replay(*record).with(str_cat("frame ", sequence_, " at byte ", at_)));
    }
    return {};
  }

  // That no later frame can be found where one is not whole: a group that was cut off is the last.
  Status nothing_follows() const {
    constexpr uint64_t kPiece = 1 << 20;
    for (uint64_t from = at_ + 1; from + kFrameHeadBytes <= size_; from += kPiece) {
      MR_ASSIGN(const std::string piece, read(from, kPiece + kFrameHeadBytes - 1));
      for (size_t i = 0; i + kFrameHeadBytes <= piece.size(); ++i) {
        const std::string_view bytes = std::string_view(piece).substr(i, kFrameHeadBytes);
        const std::optional<FrameHead> head = read_frame_head(bytes, seed_);
        if (head && head->sequence > sequence_)
          return damaged(str_cat("frame ", sequence_, " is damaged, and frame ", head->sequence,
                                 " follows at byte ", from + i));
      }
    }
    return {};
  }

  const ReadableFile& file_;
  const uint64_t size_, generation_;
  uint32_t seed_ = 0;
  uint64_t at_ = 0, sequence_ = 1;  // of the frame that is read next
  bool is_whole_ = false;           // the snapshot
  std::string payload_;
};

}  // namespace

Result<JournalFound> read_journal(Files& files, const std::string& folder, RecordSink replay) {
  MR_ASSIGN(const std::vector<std::string> names, files.list(folder));
  uint64_t newest = 0;
  for (const std::string& name : names) newest = std::max(newest, generation_of(name).value_or(0));
  if (newest == 0) return JournalFound{};
  const std::string path = str_cat(folder, "/", journal_name(newest));
  MR_ASSIGN(const std::unique_ptr<ReadableFile> file, files.open(path));
  MR_ASSIGN(const uint64_t size, file->size());
  return JournalWalk(*file, size, newest).walk(replay).with(path);
}

}  // namespace millrace::io
