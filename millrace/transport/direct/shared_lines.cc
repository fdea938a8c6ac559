#include "millrace/transport/direct/shared_lines.h"

namespace millrace::transport {
namespace {

// What all who hold a line hold together.
struct Hold {
  explicit Hold(std::shared_ptr<Line> held) : line(std::move(held)) {}
  ~Hold() { line->retire(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  const std::shared_ptr<Line> line;
};

}  // namespace

std::shared_ptr<Line> SharedLines::to(const NumericAddress& address) {
  std::shared_ptr<Line> held;  // if it goes, then without the lock
  MutexLock lock(mutex_);
  const std::string key(address.as_key());
  held = held_[key].lock();
  if (held != nullptr && !held->has_ended()) return held;
  absl::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
  FileDescriptor socket = begin_to_connect(address);
  if (!socket) return nullptr;
  auto made = std::make_shared<Line>(std::move(socket), poller_, intake_);
  if (!poller_->add(made).ok()) return nullptr;
  const auto hold = std::make_shared<Hold>(std::move(made));
  std::shared_ptr<Line> line(hold, hold->line.get());
  held_[key] = line;
  return line;
}

}  // namespace millrace::transport
