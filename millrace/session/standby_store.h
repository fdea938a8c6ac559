// StandbyStore: the folder of a task's state, as a side has it that does not serve: what the owner
// has sent is written to it as a journal, group by group (docs/design/standby.md).
//
// Has the folder's lock as long as it lives. Waits for the disk; one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/random.h"
#include "millrace/cluster/standby.h"
#include "millrace/io/journal_writer.h"
#include "millrace/io/lasting_files.h"

namespace millrace {

class StandbyStore {
 public:
  // Makes the folder if need be, and draws its identity the first time.
  // Errors: FAILED_PRECONDITION if another process has it; DATA_LOSS for what is damaged; those of
  // files. `files` and `random` outlive it.
  static Result<std::unique_ptr<StandbyStore>> open(LastingFiles& files, Random& random,
                                                    std::string folder);

  // Of the folder, whoever has it: not 0.
  uint64_t identity() const { return identity_; }
  // What is on the disk.
  const KeptStream& kept() const { return kept_; }
  // `records` (each as io::put_record() made it) are all of the state, and take the place of what
  // there is. Errors: DATA_LOSS for what are no records; those of files, and what there was counts.
  Status put_all(std::string_view records, const KeptStream& kept);
  // `records` are what has changed since; none is fine. Errors: those of files; nothing may be put
  // behind it then.
  Status put_group(std::string_view records, const KeptStream& kept);

 private:
  StandbyStore(LastingFiles& files, Random& random, std::string folder)
      : files_(files), random_(random), folder_(std::move(folder)) {}
  Status read();
  Status read_identity();
  Status begin_file(absl::FunctionRef<Status(io::RecordSink)> put_all);

  LastingFiles& files_;
  Random& random_;
  const std::string folder_;
  std::unique_ptr<FileLock> lock_;
  uint64_t identity_ = 0, generation_ = 0;
  KeptStream kept_;
  std::unique_ptr<io::JournalWriter> writer_;  // null: no file of this life yet
};

}  // namespace millrace
