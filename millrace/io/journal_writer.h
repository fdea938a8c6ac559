// JournalWriter: writes one file of a journal (journal_format.h): first the snapshot, then groups.
//
// Waits inside system calls. One thread at a time. After an error nothing is known of the file's
// end, and every further call fails: the state is kept again once a file of the next generation has
// been begun.
#pragma once

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"

#include "millrace/io/journal_format.h"
#include "millrace/io/journal_reader.h"
#include "millrace/io/lasting_files.h"

namespace millrace::io {

struct JournalPlace {
  std::string folder;
  uint64_t generation = 1;
  uint64_t salt = 0;  // any number that nobody can guess
};

class JournalWriter {
 public:
  // Begins a file with the records that `put_all` gives to the sink, brings it to the disk, gives
  // it its name, and removes those of other generations. When it returns an error, what was there
  // before still counts.
  static Result<std::unique_ptr<JournalWriter>> create(
      LastingFiles& files, const JournalPlace& place,
      absl::FunctionRef<Status(RecordSink)> put_all);

  // Returns when the records, each as put_record() made it, are on the disk.
  Status group(std::string_view records);
  // No group will follow.
  Status farewell();

  uint64_t snapshot_bytes() const { return snapshot_bytes_; }
  uint64_t group_bytes() const { return bytes_ - snapshot_bytes_; }

 private:
  JournalWriter(std::unique_ptr<WritableFile> file, uint32_t seed)
      : file_(std::move(file)), seed_(seed) {}
  Status frame(FrameKind kind, std::string_view records);
  Status put_snapshot(absl::FunctionRef<Status(RecordSink)> put_all);

  const std::unique_ptr<WritableFile> file_;
  const uint32_t seed_;
  uint64_t sequence_ = 1;  // of the next frame
  uint64_t bytes_ = 0, snapshot_bytes_ = 0;
  Status failed_;
};

}  // namespace millrace::io
