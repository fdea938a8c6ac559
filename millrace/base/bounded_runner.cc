#include "millrace/base/bounded_runner.h"

#include <deque>
#include <utility>

#include "millrace/base/mutex.h"

namespace millrace {

// Outlives its owner as long as a task is under way.
class BoundedRunner::Places : public std::enable_shared_from_this<Places> {
 public:
  Places(Runner& runner, int places) : runner_(runner), free_(places) {}

  void post(Task task) {
    {
      MutexLock lock(mutex_);
      if (free_ == 0) {
        waiting_.push_back(std::move(task));
        return;
      }
      --free_;
    }
    runner_.post([self = shared_from_this(), task = std::move(task)]() mutable {
      self->run(std::move(task));
    });
  }

 private:
  void run(Task task) {
    for (;;) {
      std::move(task)();
      // What it holds goes before the next begins.
      task = nullptr;
      MutexLock lock(mutex_);
      if (waiting_.empty()) {
        ++free_;
        return;
      }
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
  }

  Runner& runner_;
  Mutex mutex_;
  int free_ MR_GUARDED_BY(mutex_);
  std::deque<Task> waiting_ MR_GUARDED_BY(mutex_);
};

BoundedRunner::BoundedRunner(Runner& runner, int places)
    : places_(std::make_shared<Places>(runner, places)) {}

BoundedRunner::~BoundedRunner() = default;

void BoundedRunner::post(Task task) { places_->post(std::move(task)); }

}  // namespace millrace
