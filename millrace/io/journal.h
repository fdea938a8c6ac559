// Journal: keeps a state on the disk, a group of changes at a time.
//
// Whoever changes the state notes it (Journaled), and then asks to hear when it is on the disk:
//
//   journal->commit(Done<void>([...](Status kept) { ... }));
//
// One write and one sync serve all who asked while the one before was under way; nobody waits on a
// thread, but one for the disk. When what was written since the snapshot is longer than the
// snapshot and than `spare_bytes`, the next file is begun: the folder has at most two snapshots, as
// much again, and the largest group.
//
// After an error all who waited for that group hear it, and the next group begins a new file with
// all of the state, so that a disk that has room again is used again. What was refused is still in
// memory, and may be on the disk, or come to it with a later group: whoever was refused must not
// take it for undone.
//
// Owned by whoever owns the state. commit() from any thread; answers come on `answers`. The
// destructor waits for the disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/done.h"
#include "millrace/base/mutex.h"
#include "millrace/base/random.h"
#include "millrace/base/runner.h"
#include "millrace/io/journal_writer.h"

namespace millrace::io {

// A state that can be told in records. Called by one thread at a time, where blocking is allowed;
// the state may change meanwhile: each call tells of every part as it was at some moment of it.
class Journaled {
 public:
  virtual ~Journaled() = default;
  // Records from which all of it can be made anew. Nothing of what they tell is a change any more.
  virtual Status put_all(RecordSink sink) = 0;
  // What has changed since put_all() and put_changes() were called last. Nothing is a change any
  // more afterwards.
  virtual Status put_changes(RecordSink sink) = 0;
};

// What is kept at once.
struct JournalGroup {
  enum class Extent : uint8_t {
    unknown,  // the follower did not want its records
    changes,  // what has changed since the group before; may be nothing
    all       // all of the state, as a new file has it
  };
  Extent extent = Extent::unknown;
  std::string records;  // each as put_record() made it; none if they are not wanted
};

class Journal;

// A second place for groups, beside the file, which has a say in when they are acknowledged.
// Changes go to both at the same time.
class JournalFollower {
 public:
  virtual ~JournalFollower() = default;
  // The journal that it follows from now on, for a group that it wants itself (commit()); null: it
  // goes. Returns when nobody uses the one before.
  virtual void attach(Journal* journal) = 0;
  // What the next group is to have: `all` begins a new file. Called by who writes, before it does.
  virtual JournalGroup::Extent wants() = 0;
  // A record that is put behind all of the state in each new file. Called likewise.
  virtual std::string mark() = 0;
  // The next group, one after the other; also one without changes, if somebody asked for it. The
  // disk has begun with changes, and has all of a state already. Must not block.
  virtual void begins(JournalGroup group) = 0;
  // What became of the group that began last; of one that did not begin, only an error is told.
  // `acknowledge` answers those who wait for it: to be called once, with `kept` if that is one.
  virtual void wrote(const Status& kept, Done<void> acknowledge) = 0;
};

struct JournalOptions {
  std::string folder;
  // How long what follows the snapshot may be, if the snapshot is shorter.
  uint64_t spare_bytes = 16 << 20;
  // Outlives the journal; null: what the disk has is acknowledged.
  JournalFollower* follower = nullptr;
};

// The machine, as a journal needs it.
struct JournalMachine {
  LastingFiles& files;
  Random& random;
  Runner& blocking;  // where it writes
  Runner& answers;   // where it calls who waited
};

class Journal {
 public:
  // Takes the folder, making it if need be, gives what it has to `replay`, and begins a file with
  // what put_all() gives then. Waits for the disk. `source` outlives the journal.
  // Errors: FAILED_PRECONDITION if another process has the folder; DATA_LOSS for what is damaged;
  // those of files. The folder is left as it was.
  static Result<std::unique_ptr<Journal>> open(const JournalMachine& machine,
                                               JournalOptions options, Journaled& source,
                                               RecordSink replay);
  ~Journal();

  // Answers once everything that was changed before this call is on the disk.
  void commit(Done<void> done);
  // Brings everything to the disk, and says farewell. Waits. Further commits are refused with
  // `why`; so are those under way if the disk refuses them.
  Status close(const Status& why);

  // What there was when it was opened.
  const JournalFound& found() const { return found_; }

 private:
  Journal(const JournalMachine& machine, JournalOptions options, Journaled& source);
  // `records`: gets a copy of what is put in; null: nobody wants one.
  Result<std::unique_ptr<JournalWriter>> next_file(std::string* records = nullptr);
  void write_groups();
  // Shows each group to `follower`, if there is one.
  Status write_group(JournalFollower* follower);
  bool is_long() const;

  const JournalMachine machine_;
  const JournalOptions options_;
  Journaled& source_;
  std::unique_ptr<FileLock> lock_;  // set by open()
  JournalFound found_;              // set by open()

  // Of whoever writes: open(), then one turn of write_groups() at a time, then close().
  std::unique_ptr<JournalWriter> writer_;  // null after an error
  uint64_t generation_ = 0;                // that was tried last

  Mutex mutex_;
  Condition idle_;
  std::vector<Done<void>> waiting_ MR_GUARDED_BY(mutex_);
  bool is_writing_ MR_GUARDED_BY(mutex_) = false;
  std::optional<Status> closed_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::io
