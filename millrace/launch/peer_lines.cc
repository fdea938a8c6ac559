#include "millrace/launch/peer_lines.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {

std::optional<std::string> waited_for(std::string_view line) {
  constexpr std::string_view kWaiting =
      "CreateSession still waiting for response from worker: /job:";
  constexpr std::string_view kTask = "/replica:0/task:";
  const size_t begin = line.find(kWaiting);
  if (begin == line.npos) return {};
  line.remove_prefix(begin + kWaiting.size());
  const size_t job = line.find(kTask);
  if (job == line.npos) return {};
  const size_t index = job + kTask.size();
  const size_t end = std::min(line.find_first_not_of("0123456789", index), line.size());
  if (end == index) return {};
  return str_cat(line.substr(0, job), ":", line.substr(index, end - index));
}

bool names_task(std::string_view line, std::string_view task) {
  size_t colon = task.rfind(':');
  if (colon == task.npos) return false;
  std::string name =
      str_cat("/job:", task.substr(0, colon), "/replica:0/task:", task.substr(colon + 1));
  for (size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    std::string_view rest = line.substr(at + name.size());
    if (rest.empty() || rest[0] < '0' || rest[0] > '9') return true;
  }
  return false;
}

}  // namespace millrace
