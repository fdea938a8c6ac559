#include "millrace/transport/grpc/threads.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "millrace/base/start_thread.h"
#include "millrace/transport/grpc/completion_queue.h"
#include "millrace/transport/grpc/core.h"

namespace millrace {
namespace {

// How long a handler keeps the lead at least.
constexpr auto kMoment = std::chrono::milliseconds(1);
constexpr auto kAtOnce = std::chrono::nanoseconds(1);
// More events than this in a moment are many.
constexpr uint64_t kMany = 6;
// One event in so many leaves the alarm set, so that the watcher sees how many there are.
constexpr uint64_t kSample = 64;

bool is_handling(uint64_t beat) { return (beat & 1) != 0; }

int thread_bound(int asked) {
  if (asked > 0) return std::max(asked, 2);
  return 2 * static_cast<int>(std::max(1u, std::thread::hardware_concurrency())) + 2;
}

}  // namespace

GrpcThreads::GrpcThreads() : GrpcThreads(Options{}) {}

GrpcThreads::GrpcThreads(Options options)
    : max_threads_(thread_bound(options.max_threads)),
      queue_(std::make_shared<transport::CompletionQueue>(options.callers_pause,
                                                          [this] { return begin(); })) {}

GrpcThreads::~GrpcThreads() {
  queue_->close();
  // Somebody has to read the queue to its end.
  if (started() == 0) work();
  // Threads start threads, until the queue ends.
  for (size_t i = 0;; ++i) {
    std::thread thread;
    {
      MutexLock lock(mutex_);
      if (i == threads_.size()) return;
      thread = std::move(threads_[i]);
    }
    thread.join();
  }
}

Status GrpcThreads::start() {
  const transport::CompletionQueue::Use use(*queue_);
  if (!use) return use.why_not();
  MutexLock lock(mutex_);
  if (threads_.size() >= 2) return {};
  MR_TRY(start_thread());
  return transport::try_threads_of_grpc();
}

int GrpcThreads::started() const {
  MutexLock lock(mutex_);
  return static_cast<int>(threads_.size());
}

// With the first use.
Status GrpcThreads::begin() {
  MutexLock lock(mutex_);
  MR_TRY(alarm_.open());
  return start_thread();
}

Status GrpcThreads::start_thread() {
  MR_ASSIGN(threads_.emplace_back(),
            millrace::start_thread(str_cat("grpc:", threads_.size()), [this] { work(); }));
  return {};
}

void GrpcThreads::work() {
  while (take_lead()) lead();
}

void GrpcThreads::lead() {
  uint64_t beat = beat_.load();
  while (true) {
    const grpc_event next = queue_->next();
    if (next.type == GRPC_QUEUE_SHUTDOWN) {
      MutexLock lock(mutex_);
      ended_.store(true);
      changed_.notify_all();
      alarm_.set(kAtOnce);
      return;
    }
    auto* event = static_cast<transport::Event*>(next.tag);
    const bool ok = next.success != 0;
    if (event->work() == transport::Work::brief) {
      event->happened(ok);
      continue;
    }
    if (!may_handle(event, ok)) continue;
    beat_.store(beat + 1);
    const bool sets_alarm = !alarm_is_set_.load();
    if (sets_alarm) set_alarm(beat + 1);
    event->happened(ok);
    uint64_t mine = beat + 1;
    if (!beat_.compare_exchange_strong(mine, beat + 2)) return;  // another thread leads now
    beat += 2;
    const bool is_sample = beat / 2 % kSample == 0;
    if (sets_alarm && !is_sample && !is_busy_.load()) clear_alarm();
  }
}

// False if the event is in line now.
bool GrpcThreads::may_handle(transport::Event* event, bool ok) {
  if (has_watcher_.load()) return true;
  MutexLock lock(mutex_);
  if (find_watcher() || event->work() == transport::Work::bounded) return true;
  // No thread would ever come back to take it.
  if (threads_.size() < 2) return true;
  waiting_.push_back({event, ok});
  return false;
}

bool GrpcThreads::find_watcher() {
  if (has_watcher_.load()) return true;
  if (standing_by_ == 0) {
    if (static_cast<int>(threads_.size()) == max_threads_ || !start_thread().ok()) return false;
  }
  has_watcher_.store(true);
  watcher_is_wanted_ = true;
  changed_.notify_one();
  return true;
}

void GrpcThreads::set_alarm(uint64_t beat) {
  watched_beat_.store(beat);
  alarm_is_set_.store(true);
  alarm_.set(kMoment);
}

// By the leader, once it has handled its event. A call of the system costs far less than the
// watcher that would wake for nothing, above all where many processes share few processors. But two
// calls for each of many events cost more than a watcher that wakes once a moment.
void GrpcThreads::clear_alarm() {
  if (!alarm_is_set_.load()) return;
  // In this order: the watcher may be setting it at the same time, and an alarm that is thought to
  // be set has to go off, while one too many does no harm.
  alarm_.clear();
  alarm_is_set_.store(false);
}

bool GrpcThreads::take_lead() {
  MutexLock lock(mutex_);
  while (true) {
    run_waiting();
    if (ended_.load()) return false;
    if (!has_leader_) return has_leader_ = true;
    if (watcher_is_wanted_ || !has_watcher_.load()) {
      watcher_is_wanted_ = false;
      has_watcher_.store(true);
      mutex_.unlock();
      const bool leads = watch();
      mutex_.lock();
      has_watcher_.store(false);
      if (leads) return true;
      continue;
    }
    ++standing_by_;
    changed_.wait(mutex_);
    --standing_by_;
  }
}

void GrpcThreads::run_waiting() {
  while (!waiting_.empty()) {
    const Waiting first = waiting_.front();
    waiting_.pop_front();
    mutex_.unlock();
    first.event->happened(first.ok);
    mutex_.lock();
  }
}

// True if this thread leads now, because the one that did is held up.
bool GrpcThreads::watch() {
  while (true) {
    alarm_.wait();
    if (ended_.load()) return false;
    uint64_t beat = beat_.load();
    is_busy_.store(beat - watched_beat_.load() > 2 * kMany);
    if (!is_handling(beat)) {
      // The leader changes its beat and then looks at the alarm; the other way round here.
      alarm_is_set_.store(false);
      beat = beat_.load();
      if (!is_handling(beat) || alarm_is_set_.load()) continue;
    } else if (beat == watched_beat_.load() && beat_.compare_exchange_strong(beat, beat + 1)) {
      alarm_is_set_.store(false);
      return true;
    }
    set_alarm(beat);
  }
}

}  // namespace millrace
