#include "millrace/launch/peer_lines.h"

#include <string>

#include "millrace/base/str_cat.h"

namespace millrace {

bool tells_of_waiting(std::string_view line) {
  return line.find("CreateSession still waiting for response from worker: ") != line.npos;
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
