#include "millrace/transport/threads/event_threads.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "millrace/base/start_thread.h"
#include "millrace/transport/threads/after_event.h"

namespace millrace::transport {
namespace {

// How long a handler keeps the lead at least.
constexpr auto kMoment = std::chrono::milliseconds(1);
constexpr auto kAtOnce = std::chrono::nanoseconds(1);
// More events than this in a moment are many.
constexpr uint64_t kMany = 2;
// One event in so many leaves the alarm set, so that the watcher sees how many there are.
constexpr uint64_t kSample = 64;

bool is_handling(uint64_t beat) { return (beat & 1) != 0; }

int thread_bound(int asked) {
  if (asked > 0) return std::max(asked, 2);
  return 2 * static_cast<int>(std::max(1u, std::thread::hardware_concurrency())) + 2;
}

}  // namespace

EventThreads::EventThreads(EventSource& source, Options options)
    : source_(source),
      name_(std::move(options.name)),
      max_threads_(thread_bound(options.max_threads)) {}

EventThreads::~EventThreads() { finish(); }

Status EventThreads::begin() {
  MutexLock lock(mutex_);
  if (!threads_.empty()) return {};
  MR_TRY(alarm_.open());
  return start_thread();
}

Status EventThreads::prepare_to_serve() {
  MutexLock lock(mutex_);
  if (threads_.size() >= 2) return {};
  return start_thread();
}

void EventThreads::finish() {
  // Somebody has to read the source to its end.
  if (started() == 0) work();
  // Threads start threads, until the source ends.
  for (size_t i = 0;; ++i) {
    std::thread thread;
    {
      MutexLock lock(mutex_);
      if (i == threads_.size()) return;
      thread = std::move(threads_[i]);
    }
    if (thread.joinable()) thread.join();
  }
}

int EventThreads::started() const {
  MutexLock lock(mutex_);
  return static_cast<int>(threads_.size());
}

Status EventThreads::start_thread() {
  MR_ASSIGN(threads_.emplace_back(),
            millrace::start_thread(str_cat(name_, ":", threads_.size()), [this] { work(); }));
  return {};
}

void EventThreads::work() {
  while (take_lead()) lead();
}

void EventThreads::lead() {
  uint64_t beat = beat_.load();
  while (true) {
    const std::optional<Happening> next = source_.next();
    if (!next) {
      MutexLock lock(mutex_);
      ended_.store(true);
      changed_.notify_all();
      alarm_.set(kAtOnce);
      return;
    }
    if (next->event->work() == Work::brief) {
      next->event->happened(next->ok);
      continue;
    }
    if (!may_handle(*next)) continue;
    beat_.store(beat + 1);
    const bool sets_alarm = !alarm_is_set_.load();
    if (sets_alarm) set_alarm(beat + 1);
    {
      AfterEvent::Turn turn(beat_, beat + 1, has_watcher_.load());
      next->event->happened(next->ok);
      turn.do_what_was_posted();
    }
    uint64_t mine = beat + 1;
    if (!beat_.compare_exchange_strong(mine, beat + 2)) return;  // another thread leads now
    beat += 2;
    const bool is_sample = beat / 2 % kSample == 0;
    if (sets_alarm && !is_sample && !is_busy_.load()) clear_alarm();
  }
}

// False if the event is in line now.
bool EventThreads::may_handle(const Happening& next) {
  if (has_watcher_.load()) return true;
  MutexLock lock(mutex_);
  if (find_watcher() || next.event->work() == Work::bounded) return true;
  // No thread would ever come back to take it.
  if (threads_.size() < 2) return true;
  waiting_.push_back(next);
  return false;
}

bool EventThreads::find_watcher() {
  if (has_watcher_.load()) return true;
  if (standing_by_ == 0) {
    if (static_cast<int>(threads_.size()) == max_threads_ || !start_thread().ok()) return false;
  }
  has_watcher_.store(true);
  watcher_is_wanted_ = true;
  changed_.notify_one();
  return true;
}

void EventThreads::set_alarm(uint64_t beat) {
  watched_beat_.store(beat);
  alarm_is_set_.store(true);
  alarm_.set(kMoment);
}

// By the leader, once it has handled its event. A call of the system costs far less than the
// watcher that would wake for nothing, above all where many processes share few processors. But two
// calls for each of many events cost more than a watcher that wakes once a moment.
void EventThreads::clear_alarm() {
  if (!alarm_is_set_.load()) return;
  // In this order: the watcher may be setting it at the same time, and an alarm that is thought to
  // be set has to go off, while one too many does no harm.
  alarm_.clear();
  alarm_is_set_.store(false);
}

bool EventThreads::take_lead() {
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

void EventThreads::run_waiting() {
  while (!waiting_.empty()) {
    const Happening first = waiting_.front();
    waiting_.pop_front();
    mutex_.unlock();
    first.event->happened(first.ok);
    mutex_.lock();
  }
}

// True if this thread leads now, because the one that did is held up.
bool EventThreads::watch() {
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

}  // namespace millrace::transport
