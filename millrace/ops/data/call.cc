#include "millrace/ops/data/call.h"

#include <utility>

namespace millrace::data {

class Call::Cell final : public FunctionRun {
 public:
  // Nobody else has it now.
  void begin() {
    MutexLock lock(mutex_);
    has_ended_.store(false, std::memory_order_relaxed);
    status_ = {};
  }

  void ended(Status status) override {
    std::shared_ptr<Waker> waker;
    {
      MutexLock lock(mutex_);
      status_ = std::move(status);
      waker = std::move(waker_);
      has_ended_.store(true, std::memory_order_release);
    }
    if (waker != nullptr) waker->wake();
  }

  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }

  // False if it has not ended: then `waker` will be told.
  bool is_there(const std::shared_ptr<Waker>& waker) {
    if (has_ended()) return true;
    MutexLock lock(mutex_);
    if (has_ended()) return true;
    waker_ = waker;
    return false;
  }

  // Requires has_ended().
  Status take_status() {
    MutexLock lock(mutex_);
    return std::move(status_);
  }

 private:
  std::atomic<bool> has_ended_{false};
  Mutex mutex_;
  Status status_ MR_GUARDED_BY(mutex_);
  std::shared_ptr<Waker> waker_ MR_GUARDED_BY(mutex_);
};

Call& Call::operator=(Call&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  cell_ = std::move(other.cell_);
  is_under_way_ = std::exchange(other.is_under_way_, false);
  return *this;
}

void Call::abandon() {
  if (!std::exchange(is_under_way_, false) || cell_->has_ended()) return;
  cell_->cancellation.cancel(
      cancelled("the iterator that called the function has ended").as_consequence());
  cell_.reset();
}

std::shared_ptr<Call::Cell> Call::fresh_cell(std::span<const Tensor> captured, Element arguments) {
  // A cancellation happens once; and who ended the last call may not have let go yet.
  const bool is_reusable =
      cell_ != nullptr && cell_.use_count() == 1 && !cell_->cancellation.cancelled();
  if (!is_reusable) cell_ = std::make_shared<Cell>();
  cell_->begin();
  cell_->arguments = std::move(arguments);
  cell_->arguments.insert(cell_->arguments.end(), captured.begin(), captured.end());
  is_under_way_ = true;
  return cell_;
}

void Call::start(GraphFunction& function, std::span<const Tensor> captured, Element arguments) {
  function.run(fresh_cell(captured, std::move(arguments)));
}

void Call::start_on(Runner* runner, std::shared_ptr<GraphFunction> function,
                    std::span<const Tensor> captured, Element arguments) {
  if (runner == nullptr) return start(*function, captured, std::move(arguments));
  runner->post([cell = fresh_cell(captured, std::move(arguments)),
                function = std::move(function)]() mutable { function->run(std::move(cell)); });
}

Result<bool> Call::poll(Pull& pull, Element* results) {
  if (!cell_->is_there(pull.waker)) return false;
  is_under_way_ = false;
  MR_TRY(cell_->take_status());
  *results = std::move(cell_->results);
  return true;
}

}  // namespace millrace::data
