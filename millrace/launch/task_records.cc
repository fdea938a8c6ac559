#include "millrace/launch/task_records.h"

namespace millrace {

void TaskRecords::feed(std::string_view bytes) {
  splitter_.feed(bytes, [this](std::string_view line) { note(line); });
}

void TaskRecords::note(std::string_view line) {
  std::optional<TaskRecord> record = parse_task_record(line);
  if (!record) return;
  are_kept_ = true;
  if (auto* end = std::get_if<TaskEnds>(&record->event)) end_ = std::move(*end);
  // Another program of the task: what the one before said of itself is not its end.
  if (std::holds_alternative<TaskBegan>(record->event)) end_.reset();
  const auto* waits = std::get_if<TaskWaitsFor>(&record->event);
  if (waits == nullptr) return;
  waits_.emplace();
  for (const TaskWaitsFor::Other& other : waits->others) waits_->push_back(other.task);
}

}  // namespace millrace
