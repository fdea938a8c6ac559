#include "millrace/cluster/inspection.h"

#include "millrace/base/str_cat.h"
#include "millrace/cluster/task_record.h"

namespace millrace {

std::string to_text(const TaskDescription& description) {
  const auto name = DeviceName::parse(description.task);
  const bool is_task = name.ok() && name->names_task();
  std::string text = is_task ? short_name(name->task_name()) : description.task;
  if (description.waits.empty()) text += ": waits for nothing";
  for (const std::string& wait : description.waits) str_append(&text, "\n  ", wait);
  for (const EndedTask& ended : description.ended)
    str_append(&text, "\n  knows that ", short_name(ended.task), " has ended");
  return text;
}

}  // namespace millrace
