#include "millrace/transport/threads/after_event.h"

#include <utility>

namespace millrace::transport {
namespace {

// Of this thread; null if it is in none.
thread_local AfterEvent::Turn* turn_now = nullptr;

}  // namespace

AfterEvent::Turn::Turn(const std::atomic<uint64_t>& beat, uint64_t mine, bool has_watcher)
    : beat_(beat), mine_(mine), is_kept_(has_watcher && turn_now == nullptr) {
  if (is_kept_) turn_now = this;
}

AfterEvent::Turn::~Turn() {
  if (is_kept_) turn_now = nullptr;
}

bool AfterEvent::Turn::is_now() {
  return turn_now != nullptr && turn_now->beat_.load(std::memory_order_relaxed) == turn_now->mine_;
}

void AfterEvent::Turn::do_what_was_posted() {
  // Tasks post tasks.
  for (size_t i = 0; i < tasks_.size(); ++i) {
    Task task = std::move(tasks_[i]);
    task();
  }
  tasks_.clear();
}

void AfterEvent::post(Task task) {
  if (!Turn::is_now()) return otherwise_.post(std::move(task));
  turn_now->tasks_.push_back(std::move(task));
}

}  // namespace millrace::transport
