// OpenWaits: what a master waits for outside of steps, for people who ask: its roll calls. Each
// enters itself with a function that tells it, and leaves when the entry goes. Any thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/mutex.h"

namespace millrace {

class OpenWaits {
 public:
  // Called from any thread, also once after the entry has gone.
  using Describe = std::function<std::vector<std::string>()>;
  using Entry = std::shared_ptr<const Describe>;

  [[nodiscard]] Entry enter(Describe describe) {
    auto entry = std::make_shared<const Describe>(std::move(describe));
    MutexLock lock(mutex_);
    entries_.remove_if([](const auto& known) { return known.expired(); });
    entries_.push_back(entry);
    return entry;
  }

  // The oldest first.
  std::vector<std::string> describe() const {
    std::vector<Entry> open;
    {
      MutexLock lock(mutex_);
      for (const auto& known : entries_)
        if (Entry entry = known.lock()) open.push_back(std::move(entry));
    }
    std::vector<std::string> lines;
    for (const Entry& entry : open)
      for (std::string& line : (*entry)()) lines.push_back(std::move(line));
    return lines;
  }

 private:
  mutable Mutex mutex_;
  std::list<std::weak_ptr<const Describe>> entries_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
