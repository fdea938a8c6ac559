#include "millrace/op/blocking.h"

#include <memory>
#include <utility>

namespace millrace {
namespace {

// One piece of work, shared by who does it and by who hears of the cancellation. Whoever is first
// takes the answer; work that has been answered for before its turn came is let go undone.
class BlockingWork : public std::enable_shared_from_this<BlockingWork> {
 public:
  BlockingWork(absl::AnyInvocable<Status()> work, Done<void> done)
      : work_(std::move(work)), done_(std::move(done)) {}

  void start(Cancellation* cancellation, Runner* runner) {
    if (cancellation != nullptr) {
      Cancellation::Registration registration =
          cancellation->on_cancel([weak = weak_from_this()](const Status& why) {
            if (const auto self = weak.lock()) self->cancelled(why);
          });
      MutexLock lock(mutex_);
      registration_ = std::move(registration);
    }
    Status why;
    {
      // Until here a cancellation leaves the answer to us: it would be the end of the step, and of
      // what we were about to register with.
      MutexLock lock(mutex_);
      is_started_ = true;
      why = why_;
    }
    if (!why.ok()) return answer(why);
    if (runner == nullptr) return do_it();
    runner->post([self = shared_from_this()] { self->do_it(); });
  }

 private:
  void do_it() {
    absl::AnyInvocable<Status()> work;
    {
      MutexLock lock(mutex_);
      work = std::move(work_);
      if (!done_) return;
    }
    answer(work());
  }

  void cancelled(const Status& why) {
    {
      MutexLock lock(mutex_);
      why_ = why;
      if (!is_started_) return;
    }
    answer(why);
  }

  void answer(const Status& status) {
    Done<void> done;
    Cancellation::Registration registration;
    absl::AnyInvocable<Status()> dropped;
    {
      MutexLock lock(mutex_);
      done = std::move(done_);
      if (!done) return;
      registration = std::move(registration_);
      // Behind calls that never come back it may stay in line for ever: what it holds need not.
      dropped = std::move(work_);
    }
    // Once it is answered the cancellation may be gone.
    registration.release();
    done(status);
  }

  Mutex mutex_;
  absl::AnyInvocable<Status()> work_ MR_GUARDED_BY(mutex_);
  Done<void> done_ MR_GUARDED_BY(mutex_);
  Cancellation::Registration registration_ MR_GUARDED_BY(mutex_);
  bool is_started_ MR_GUARDED_BY(mutex_) = false;
  Status why_ MR_GUARDED_BY(mutex_);  // of a cancellation
};

}  // namespace

void run_blocking(KernelContext& context, absl::AnyInvocable<Status()> work, Done<void> done) {
  const StepContext& step = context.step();
  std::make_shared<BlockingWork>(std::move(work), std::move(done))
      ->start(step.cancellation, step.blocking);
}

Result<Files*> files_of(KernelContext& context) {
  const DeviceContext& device = *context.step().device;
  if (device.files == nullptr) return failed_precondition("device ", device.name, " has no files");
  return device.files;
}

}  // namespace millrace
