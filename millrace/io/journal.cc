#include "millrace/io/journal.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/base/together.h"
#include "millrace/io/lasting_folder.h"

namespace millrace::io {
namespace {

// A few are answered sooner one by one.
constexpr size_t kMany = 4;

void answer(std::vector<Done<void>>& group, const Status& status) {
  std::optional<Together> together;
  if (group.size() >= kMany) together.emplace();
  for (Done<void>& done : group) done(status);
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
  if (made->options_.follower != nullptr) made->options_.follower->attach(made.get());
  return made;
}

Journal::~Journal() {
  if (options_.follower != nullptr) options_.follower->attach(nullptr);
  (void)close(cancelled("the journal is going away"));
}

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
    Status kept = write_group(options_.follower);
    // May be called when the journal has gone.
    Done<void> acknowledge(
        [&answers = machine_.answers, group = std::move(group)](const Status& status) mutable {
          answers.post([group = std::move(group), status]() mutable { answer(group, status); });
        });
    if (options_.follower != nullptr) {
      options_.follower->wrote(kept, std::move(acknowledge));
    } else {
      acknowledge(std::move(kept));
    }
  }
}

Status Journal::write_group(JournalFollower* follower) {
  using Extent = JournalGroup::Extent;
  const Extent wanted = follower != nullptr ? follower->wants() : Extent::unknown;
  const bool is_wanted = wanted != Extent::unknown;
  Status written;
  std::string records;
  if (writer_ == nullptr || is_long() || wanted == Extent::all) {
    // All of the state has all of its changes.
    writer_ = nullptr;
    auto next = next_file(is_wanted ? &records : nullptr);
    written = next.status();
    if (next.ok()) writer_ = *std::move(next);
    if (written.ok() && follower != nullptr)
      follower->begins({is_wanted ? Extent::all : Extent::unknown, std::move(records)});
  } else {
    written = source_.put_changes([&](std::string_view record) -> Status {
      put_record(&records, record);
      return {};
    });
    // While the disk is at it the follower is, too.
    if (written.ok() && follower != nullptr)
      follower->begins({is_wanted ? Extent::changes : Extent::unknown, is_wanted ? records : ""});
    // What asked was kept by the group before.
    if (written.ok() && !records.empty()) written = writer_->group(records);
    if (!written.ok()) writer_ = nullptr;
  }
  return written.with(str_cat("keeping the state in '", options_.folder, "'"));
}

bool Journal::is_long() const {
  return writer_->group_bytes() > std::max(options_.spare_bytes, writer_->snapshot_bytes());
}

Result<std::unique_ptr<JournalWriter>> Journal::next_file(std::string* records) {
  return JournalWriter::create(
      machine_.files,
      {.folder = options_.folder, .generation = ++generation_, .salt = machine_.random.next()},
      [&](RecordSink sink) -> Status {
        const auto put = [&](std::string_view record) -> Status {
          if (records != nullptr) put_record(records, record);
          return sink(record);
        };
        MR_TRY(source_.put_all(put));
        return options_.follower != nullptr ? put(options_.follower->mark()) : Status();
      });
}

Status Journal::close(const Status& why) {
  {
    MutexLock lock(mutex_);
    if (closed_) return {};
    closed_ = why;
    while (is_writing_) idle_.wait(mutex_);
  }
  if (writer_ == nullptr) return {};  // who waited has heard of it
  // Whoever follows gets it with the next file.
  MR_TRY(write_group(nullptr));
  return writer_->farewell();
}

}  // namespace millrace::io
