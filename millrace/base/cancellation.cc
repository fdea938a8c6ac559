#include "millrace/base/cancellation.h"

namespace millrace {

void Cancellation::cancel(Status why) {
  if (why.ok()) why = Status(Code::cancelled, "cancelled");
  MutexLock lock(mutex_);
  if (cancelled()) return;
  reason_ = std::move(why);
  cancelled_.store(true, std::memory_order_release);
  while (!callbacks_.empty()) {
    auto first = callbacks_.begin();
    running_id_ = first->first;
    running_on_ = std::this_thread::get_id();
    Callback callback = std::move(first->second);
    callbacks_.erase(first);
    const Status reason = reason_;
    mutex_.unlock();
    callback(reason);
    callback = nullptr;
    mutex_.lock();
    running_id_ = 0;
    callback_finished_.notify_all();
  }
}

Status Cancellation::reason() const {
  if (!cancelled()) return {};
  MutexLock lock(mutex_);
  return reason_;
}

Cancellation::Registration Cancellation::on_cancel(Callback callback) {
  {
    MutexLock lock(mutex_);
    if (!cancelled()) {
      const uint64_t id = next_id_++;
      callbacks_.emplace(id, std::move(callback));
      return Registration(this, id);
    }
  }
  callback(reason());
  return {};
}

void Cancellation::Registration::release() {
  Cancellation* owner = std::exchange(owner_, nullptr);
  if (owner == nullptr) return;
  MutexLock lock(owner->mutex_);
  owner->callbacks_.erase(id_);
  while (owner->running_id_ == id_ && owner->running_on_ != std::this_thread::get_id())
    owner->callback_finished_.wait(owner->mutex_);
}

}  // namespace millrace
