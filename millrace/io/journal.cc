#include "millrace/io/journal.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace::io {
namespace {

// Makes the folder so that it lasts, with all above it that have to be made.
Status make_lasting_folder(LastingFiles& files, const std::string& path) {
  const Result<FileFacts> facts = files.facts(path);
  if (facts.ok() && facts->is_directory) return {};
  if (!facts.ok() && facts.status().code() != Code::not_found) return facts.status();
  const size_t slash = path.find_last_of('/');
  const bool has_parent = slash != std::string::npos && slash > 0;
  if (has_parent) MR_TRY(make_lasting_folder(files, path.substr(0, slash)));
  MR_TRY(files.make_directories(path));
  return files.sync_folder(has_parent ? path.substr(0, slash) : slash == 0 ? "/" : ".");
}

}  // namespace

Journal::Journal(const JournalMachine& machine, JournalOptions options, Journaled& source)
    : machine_(machine), options_(std::move(options)), source_(source) {}

Result<std::unique_ptr<Journal>> Journal::open(const JournalMachine& machine,
                                               JournalOptions options, Journaled& source,
                                               RecordSink replay) {
  std::unique_ptr<Journal> made(new Journal(machine, std::move(options), source));
  const std::string& folder = made->options_.folder;
  MR_TRY(make_lasting_folder(machine.files, folder).with("making the folder of a journal"));
  MR_ASSIGN(made->lock_, machine.files.lock(str_cat(folder, "/", kJournalLock)));
  MR_ASSIGN(made->found_, read_journal(machine.files, folder, replay));
  made->generation_ = made->found_.generation;
  MR_ASSIGN(made->writer_, made->next_file());
  return made;
}

Journal::~Journal() { (void)close(cancelled("the journal is going away")); }

void Journal::commit(Done<void> done) {
  std::optional<Status> refused;
  bool is_first = false;
  {
    MutexLock lock(mutex_);
    refused = closed_;
    if (!refused) {
      waiting_.push_back(std::move(done));
      is_first = !std::exchange(is_writing_, true);
    }
  }
  if (refused) return done(*refused);  // NOLINT(bugprone-use-after-move): not moved then
  if (is_first) machine_.blocking.post([this] { write_groups(); });
}

void Journal::write_groups() {
  while (true) {
    std::vector<Done<void>> group;
    {
      MutexLock lock(mutex_);
      group.swap(waiting_);
      if (group.empty()) {
        is_writing_ = false;
        idle_.notify_all();
        return;
      }
    }
    machine_.answers.post([group = std::move(group), kept = write_group()]() mutable {
      for (Done<void>& done : group) done(kept);
    });
  }
}

Status Journal::write_group() {
  Status written;
  if (writer_ == nullptr || is_long()) {
    // All of the state has all of its changes.
    writer_ = nullptr;
    auto next = next_file();
    written = next.status();
    if (next.ok()) writer_ = *std::move(next);
  } else {
    std::string records;
    written = source_.put_changes([&](std::string_view record) -> Status {
      put_record(&records, record);
      return {};
    });
    // What asked was kept by the group before.
    if (written.ok() && !records.empty()) written = writer_->group(records);
    if (!written.ok()) writer_ = nullptr;
  }
  return written.with(str_cat("keeping the state in '", options_.folder, "'"));
}

bool Journal::is_long() const {
  return writer_->group_bytes() > std::max(options_.spare_bytes, writer_->snapshot_bytes());
}

Result<std::unique_ptr<JournalWriter>> Journal::next_file() {
  return JournalWriter::create(
      machine_.files,
      {.folder = options_.folder, .generation = ++generation_, .salt = machine_.random.next()},
      [this](RecordSink sink) { return source_.put_all(sink); });
}

Status Journal::close(const Status& why) {
  {
    MutexLock lock(mutex_);
    if (closed_) return {};
    closed_ = why;
    while (is_writing_) idle_.wait(mutex_);
  }
  if (writer_ == nullptr) return {};  // who waited has heard of it
  MR_TRY(write_group());
  return writer_->farewell();
}

}  // namespace millrace::io
