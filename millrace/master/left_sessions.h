// LeftSessions: sessions that are over, at workers that could not be told so. Whoever has to do
// with such a worker again tells it then; otherwise the session, its graphs and what its steps left
// would stay there for as long as this master lives, which may be for ever.
//
// One per master. Bounded: the oldest are forgotten. Any thread.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/mutex.h"

namespace millrace {

class LeftSessions {
 public:
  void note(std::string address, std::string session_handle);
  // Those at `address`, the oldest first; they are forgotten here.
  std::vector<std::string> take(std::string_view address);

 private:
  static constexpr size_t kMost = 10'000;

  Mutex mutex_;
  std::deque<std::pair<std::string, std::string>> sessions_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
