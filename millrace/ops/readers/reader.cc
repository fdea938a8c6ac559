#include "millrace/ops/readers/reader.h"

#include <limits>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"

namespace millrace {
namespace {

// TensorFlow's message of the state: four fields.
enum StateField { kStarted = 1, kFinished = 2, kProduced = 3, kCurrentWork = 4 };

void put_count(std::string* out, StateField field, int64_t count) {
  if (count != 0) wire::put_varint_field(out, field, static_cast<uint64_t>(count));
}

}  // namespace

ReaderTurn::~ReaderTurn() {
  reader_->seat_.change([](Reader::Seat& seat) {
    seat.is_taken = false;
    return true;
  });
}

Status Reader::check_same(const ReaderSpec& other) const {
  if (spec_.op == other.op && spec_.settings == other.settings) return {};
  return invalid("Shared reader '", name_, "' is a ", spec_.op, " with ", spec_.settings,
                 " but requested was a ", other.op, " with ", other.settings);
}

void Reader::wait_for_turn(Cancellation* cancellation, Done<void> done) {
  seat_.attempt(
      [](Seat& seat) -> std::optional<Status> {
        if (std::exchange(seat.is_taken, true)) return std::nullopt;
        return Status();
      },
      cancellation, cancelled("Read operation was cancelled"), std::move(done));
}

Status Reader::open_next(Files& files) {
  const std::string work = *std::exchange(next_work_, std::nullopt);
  MR_ASSIGN(current_, spec_.open(files, work));
  work_ = work;
  MutexLock lock(mutex_);
  ++counts_.started;
  return {};
}

void Reader::finish_work() {
  current_ = nullptr;
  MutexLock lock(mutex_);
  counts_.finished = counts_.started;
}

Result<ReadRecords> Reader::read(Files& files, size_t wanted,
                                 const std::atomic<bool>& is_abandoned) {
  if (current_ == nullptr) MR_TRY(open_next(files));
  ReadRecords records;
  while (records.keys.size() < wanted && !is_abandoned.load()) {
    std::string key, value;
    MR_ASSIGN(const Found found, current_->next(&key, &value));
    if (found != Found::end) {
      records.keys.push_back(std::move(key));
      records.values.push_back(std::move(value));
      MutexLock lock(mutex_);
      ++counts_.produced;
    }
    if (found == Found::record) continue;
    finish_work();
    break;
  }
  return records;
}

void Reader::reset() {
  next_work_.reset();
  current_ = nullptr;
  work_.clear();
  MutexLock lock(mutex_);
  counts_ = {};
}

ReaderCounts Reader::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

Result<std::string> Reader::saved() const {
  if (!spec_.has_state) return unimplemented("Reader SerializeState");
  const ReaderCounts counts = this->counts();
  std::string state;
  put_count(&state, kStarted, counts.started);
  put_count(&state, kFinished, counts.finished);
  put_count(&state, kProduced, counts.produced);
  if (!work_.empty()) wire::put_bytes_field(&state, kCurrentWork, work_);
  return state;
}

Status Reader::restore(const std::string& state) {
  Status restored = try_restore(state);
  if (!restored.ok()) reset();
  return restored;
}

Status Reader::try_restore(const std::string& state) {
  if (!spec_.has_state) return unimplemented("Reader RestoreState");
  ReaderCounts counts;
  std::string work;
  wire::Reader message(state);
  for (wire::Field field; message.next(&field);) {
    if (field.is(kStarted, wire::WireType::varint))
      counts.started = static_cast<int64_t>(field.value);
    if (field.is(kFinished, wire::WireType::varint))
      counts.finished = static_cast<int64_t>(field.value);
    if (field.is(kProduced, wire::WireType::varint))
      counts.produced = static_cast<int64_t>(field.value);
    if (field.is(kCurrentWork, wire::WireType::bytes)) work = std::string(field.bytes);
  }
  if (!message.ok())
    return invalid("Could not parse state for ", spec_.op, " '", name_,
                   "': ", message.status().message());
  if (counts.started < 0 || counts.finished < 0 || counts.produced < 0)
    return invalid("Unexpected negative value when restoring in ", spec_.op, " '", name_,
                   "': work_started ", counts.started, ", work_finished ", counts.finished,
                   ", num_records_produced ", counts.produced);
  // A reader whose counts say all is never saved in the middle of a file.
  if (counts.started != counts.finished)
    return invalid("Inconsistent work started vs. finished when restoring in ", spec_.op, " '",
                   name_, "': ", counts.started, " vs. ", counts.finished);
  reset();
  work_ = std::move(work);
  MutexLock lock(mutex_);
  counts_ = counts;
  return {};
}

std::string Reader::description() const {
  const ReaderCounts counts = this->counts();
  return str_cat(spec_.op, " '", name_, "': ", counts.produced, " records, ", counts.finished,
                 " of ", counts.started, " files done");
}

}  // namespace millrace
