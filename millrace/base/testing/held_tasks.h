// A Runner and Timers of a test that says itself when something runs. Not thread-safe.
#pragma once

#include <deque>
#include <utility>

#include "millrace/base/runner.h"
#include "millrace/base/timers.h"

namespace millrace::testing {

// Keeps what is posted until the test runs it.
class HeldTasks final : public Runner {
 public:
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  size_t size() const { return tasks_.size(); }
  void run_first() {
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    std::move(task)();
  }
  // Also what these post.
  void run() {
    while (!tasks_.empty()) run_first();
  }

 private:
  std::deque<Task> tasks_;
};

// For who sets one timer at a time; it fires when the test says so.
class OneTimer final : public Timers {
 public:
  Timer at(Clock::Time when, Task task) override {
    task_ = std::move(task);
    return handle({when, ++last_});
  }
  bool is_set() const { return static_cast<bool>(task_); }
  void fire() { std::exchange(task_, nullptr)(); }

 private:
  void cancel(const Key& key) override {
    if (key.id == last_) task_ = nullptr;
  }
  Task task_;
  uint64_t last_ = 0;
};

}  // namespace millrace::testing
