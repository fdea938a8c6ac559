#include "millrace/io/journal_writer.h"

#include <vector>

#include "millrace/base/str_cat.h"

namespace millrace::io {
namespace {

// A snapshot's frames are about so long: what is written at once, and read at once.
constexpr size_t kSnapshotFrame = 1 << 20;

// All journals of the folder, finished or not, but for that of `generation`.
Status remove_others(LastingFiles& files, const std::string& folder, uint64_t generation) {
  MR_ASSIGN(const std::vector<std::string> names, files.list(folder));
  for (const std::string& name : names) {
    const bool is_other = generation_of(name).value_or(generation) != generation;
    if (is_other || is_unfinished(name)) MR_TRY(files.remove(str_cat(folder, "/", name)));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<JournalWriter>> JournalWriter::create(
    LastingFiles& files, const JournalPlace& place, absl::FunctionRef<Status(RecordSink)> put_all) {
  // Before the new one is written: one that was broken off may be what fills the disk.
  MR_ASSIGN(const std::vector<std::string> names, files.list(place.folder));
  for (const std::string& name : names)
    if (is_unfinished(name)) MR_TRY(files.remove(str_cat(place.folder, "/", name)));

  const std::string path = str_cat(place.folder, "/", journal_name(place.generation));
  const std::string unfinished = str_cat(path, kUnfinished);
  const JournalHeader header = journal_header(place.generation, place.salt);
  MR_ASSIGN(std::unique_ptr<WritableFile> file, files.create(unfinished));
  std::unique_ptr<JournalWriter> made(new JournalWriter(std::move(file), header.seed));
  Status written = made->file_->append(header.bytes);
  made->bytes_ = header.bytes.size();
  if (written.ok()) written = made->put_snapshot(put_all);
  if (!written.ok()) {
    // It takes room that whoever tries again may need.
    (void)files.remove(unfinished);
    return written;
  }
  MR_TRY(files.rename(unfinished, path));
  MR_TRY(files.sync_folder(place.folder));
  // It counts from here on, whatever becomes of the others: the next one removes what is left.
  (void)remove_others(files, place.folder, place.generation);
  return made;
}

Status JournalWriter::put_snapshot(absl::FunctionRef<Status(RecordSink)> put_all) {
  std::string records;
  MR_TRY(put_all([&](std::string_view record) -> Status {
    put_record(&records, record);
    if (records.size() < kSnapshotFrame) return {};
    MR_TRY(frame(FrameKind::snapshot, records));
    records.clear();
    return {};
  }));
  if (!records.empty()) MR_TRY(frame(FrameKind::snapshot, records));
  MR_TRY(frame(FrameKind::snapshot_end, {}));
  MR_TRY(file_->sync());
  snapshot_bytes_ = bytes_;
  return {};
}

Status JournalWriter::frame(FrameKind kind, std::string_view records) {
  std::string around;
  const FrameHead head = put_frame_head(&around, seed_, sequence_++, kind, records.size());
  MR_TRY(file_->append(around));
  MR_TRY(file_->append(records));
  around.clear();
  put_frame_tail(&around, head, records);
  MR_TRY(file_->append(around));
  bytes_ += kFrameHeadBytes + records.size() + kFrameTailBytes;
  return {};
}

Status JournalWriter::group(std::string_view records) {
  MR_TRY(failed_);
  failed_ = frame(FrameKind::group, records);
  if (failed_.ok()) failed_ = file_->sync();
  return failed_;
}

Status JournalWriter::farewell() {
  MR_TRY(failed_);
  failed_ = frame(FrameKind::farewell, {});
  if (failed_.ok()) failed_ = file_->sync();
  if (failed_.ok()) failed_ = file_->close();
  Status result = failed_;
  if (failed_.ok()) failed_ = failed_precondition("the journal has been closed");
  return result;
}

}  // namespace millrace::io
