#include "millrace/base/thread_pool.h"

#include <algorithm>
#include <utility>

#include "millrace/base/flush_denormals.h"
#include "millrace/base/start_thread.h"

namespace millrace {

ThreadPool::ThreadPool(int threads, std::string name, const Log* log)
    : size_(threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency())),
      name_(name.substr(0, 15)),
      log_(log) {}

ThreadPool::~ThreadPool() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

void ThreadPool::post(Task task) {
  MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  const bool can_grow = !closing_ && static_cast<int>(threads_.size()) < size_;
  if (idle_ < static_cast<int>(tasks_.size()) && can_grow) {
    const Status refused = add_thread();
    if (refused.ok()) return;
    // Nobody is there at all: the next task tries again.
    if (threads_.empty() && log_ != nullptr) log_->error(refused.message());
  }
  changed_.notify_one();
}

Status ThreadPool::start() {
  MutexLock lock(mutex_);
  return threads_.empty() ? add_thread() : Status();
}

Status ThreadPool::add_thread() {
  MR_ASSIGN(threads_.emplace_back(), start_thread(name_, [this] { work(); }));
  return {};
}

void ThreadPool::work() {
  const FlushDenormals flush;
  MutexLock lock(mutex_);
  for (;;) {
    while (tasks_.empty() && !closing_) {
      ++idle_;
      changed_.wait(mutex_);
      --idle_;
    }
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    mutex_.unlock();
    task();
    task = nullptr;
    mutex_.lock();
  }
}

}  // namespace millrace
