#include "millrace/train/background_save.h"

#include <utility>

namespace millrace {

void BackgroundSave::start(Runner& runner, absl::AnyInvocable<Status()> write) {
  settle();
  {
    MutexLock lock(state_->mutex);
    state_->is_under_way = true;
    state_->result = {};
  }
  runner.post([state = state_, write = std::move(write)]() mutable {
    Status done = write();
    write = nullptr;  // what it holds is gone before anybody who waits goes on
    MutexLock lock(state->mutex);
    state->result = std::move(done);
    state->is_under_way = false;
    state->ended.notify_all();
  });
}

bool BackgroundSave::is_under_way() const {
  MutexLock lock(state_->mutex);
  return state_->is_under_way;
}

void BackgroundSave::settle() {
  MutexLock lock(state_->mutex);
  while (state_->is_under_way) state_->ended.wait(state_->mutex);
}

Status BackgroundSave::wait() {
  settle();
  MutexLock lock(state_->mutex);
  return std::exchange(state_->result, Status());
}

}  // namespace millrace
