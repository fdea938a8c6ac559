#include "millrace/session/standby_store.h"

#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/io/lasting_folder.h"
#include "millrace/ops/state/kept_records.h"

namespace millrace {
namespace {

// Beside the journal: 1 to 20 decimal digits.
constexpr std::string_view kIdentityFile = "store";

std::string mark_of(const KeptStream& kept) {
  return encode_kept(KeptReign{.since = kept.since, .last = kept.last});
}

}  // namespace

Result<std::unique_ptr<StandbyStore>> StandbyStore::open(LastingFiles& files, Random& random,
                                                         std::string folder) {
  std::unique_ptr<StandbyStore> made(new StandbyStore(files, random, std::move(folder)));
  MR_TRY(io::make_lasting_folder(files, made->folder_).with("making the folder of a state"));
  MR_ASSIGN(made->lock_, files.lock(str_cat(made->folder_, "/", io::kJournalLock)));
  MR_TRY(made->read_identity());
  MR_TRY(made->read());
  return made;
}

Status StandbyStore::read_identity() {
  const std::string path = str_cat(folder_, "/", kIdentityFile);
  const auto file = files_.open(path);
  if (file.ok()) {
    std::array<char, 21> text{};
    MR_ASSIGN(const size_t size, (*file)->read(0, text));
    const auto [end, problem] = std::from_chars(text.data(), text.data() + size, identity_);
    if (problem != std::errc() || end != text.data() + size || identity_ == 0)
      return error(Code::data_loss, "'", path, "' does not say which store this is");
    return {};
  }
  if (file.status().code() != Code::not_found) return file.status();
  identity_ = random_.next();
  const std::string unfinished = str_cat(path, io::kUnfinished);
  MR_ASSIGN(const auto made, files_.create(unfinished));
  MR_TRY(made->append(std::to_string(identity_)));
  MR_TRY(made->sync());
  MR_TRY(made->close());
  MR_TRY(files_.rename(unfinished, path));
  return files_.sync_folder(folder_);
}

Status StandbyStore::read() {
  MR_ASSIGN(const io::JournalFound found,
            io::read_journal(files_, folder_, [&](std::string_view bytes) -> Status {
              MR_ASSIGN(const KeptRecord record, decode_kept(bytes));
              if (const auto* reign = std::get_if<KeptReign>(&record))
                kept_ = {.since = reign->since, .last = reign->last};
              return {};
            }));
  generation_ = found.generation;
  return {};
}

Status StandbyStore::begin_file(absl::FunctionRef<Status(io::RecordSink)> put_all) {
  writer_ = nullptr;
  MR_ASSIGN(writer_,
            io::JournalWriter::create(
                files_, {.folder = folder_, .generation = ++generation_, .salt = random_.next()},
                put_all));
  return {};
}

Status StandbyStore::put_all(std::string_view records, const KeptStream& kept) {
  MR_TRY(begin_file([&](io::RecordSink sink) -> Status {
    while (!records.empty()) {
      MR_ASSIGN(const std::string_view record, io::take_record(&records));
      MR_TRY(sink(record));
    }
    return sink(mark_of(kept));
  }));
  kept_ = kept;
  return {};
}

Status StandbyStore::put_group(std::string_view records, const KeptStream& kept) {
  // What is lost of groups without changes is only their number.
  if (!records.empty()) {
    // Nothing is written behind the end of what an earlier life wrote.
    if (writer_ == nullptr) {
      MR_TRY(begin_file([&](io::RecordSink sink) -> Status {
        return io::read_journal(files_, folder_, sink).status();
      }));
    }
    std::string group(records);
    io::put_record(&group, mark_of(kept));
    MR_TRY(writer_->group(group));
  }
  kept_ = kept;
  return {};
}

}  // namespace millrace
