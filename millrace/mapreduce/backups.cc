#include "millrace/mapreduce/backups.h"

namespace millrace::mapreduce {

std::vector<int64_t> Backups::due(int64_t num_waiting, const std::vector<int64_t>& outstanding,
                                  Clock::Time now) {
  if (!least_ || num_waiting > 0 || outstanding.empty()) {
    idle_since_.reset();
    return {};
  }
  if (!idle_since_) idle_since_ = now;
  if (now - *idle_since_ < std::max(*least_, 2 * longest_)) return {};
  std::vector<int64_t> found;
  for (const int64_t number : outstanding)
    if (given_.insert(number).second) found.push_back(number);
  return found;
}

}  // namespace millrace::mapreduce
