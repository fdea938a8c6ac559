#include "millrace/transport/grpc/threads.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "millrace/transport/grpc/completion_queue.h"

namespace millrace {
namespace {

// How long a handler keeps the lead at least.
constexpr auto kMoment = std::chrono::milliseconds(1);
// After so many moments without an event the watcher goes to sleep until the next one.
constexpr int kQuietMoments = 1000;

bool is_handling(uint64_t beat) { return (beat & 1) != 0; }

int thread_bound(int asked) {
  if (asked > 0) return std::max(asked, 2);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())) + 2;
}

}  // namespace

GrpcThreads::GrpcThreads() : GrpcThreads(Options{}) {}

GrpcThreads::GrpcThreads(Options options)
    : max_threads_(thread_bound(options.max_threads)),
      queue_(std::make_shared<transport::CompletionQueue>([this] {
        MutexLock lock(mutex_);
        start_thread();
      })) {}

GrpcThreads::~GrpcThreads() {
  queue_->close();
  {
    MutexLock lock(mutex_);
    // Somebody has to read the queue to its end.
    if (threads_.empty()) start_thread();
  }
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

int GrpcThreads::started() const {
  MutexLock lock(mutex_);
  return static_cast<int>(threads_.size());
}

void GrpcThreads::start_thread() {
  threads_.emplace_back([this] { work(); });
  const std::string name = "grpc:" + std::to_string(threads_.size() - 1);
  pthread_setname_np(threads_.back().native_handle(), name.c_str());
}

void GrpcThreads::work() {
  while (take_lead()) lead();
}

void GrpcThreads::lead() {
  uint64_t beat = beat_.load();
  while (true) {
    const grpc_event event = queue_->next();
    if (event.type == GRPC_QUEUE_SHUTDOWN) {
      MutexLock lock(mutex_);
      ended_ = true;
      changed_.notify_all();
      return;
    }
    beat_.store(beat + 1);
    if (!watched_.load()) summon_watcher();
    static_cast<transport::Event*>(event.tag)->happened(event.success != 0);
    uint64_t mine = beat + 1;
    if (!beat_.compare_exchange_strong(mine, beat + 2)) return;  // another thread leads now
    beat += 2;
  }
}

bool GrpcThreads::take_lead() {
  MutexLock lock(mutex_);
  ++standing_by_;
  // While all were busy there was nobody to summon; now there is.
  if (!has_watcher_ && !summoned_) watched_.store(false);
  bool leads = false;
  while (!ended_ && !leads) {
    if (!has_leader_) {
      has_leader_ = leads = true;
    } else if (summoned_ && !has_watcher_) {
      summoned_ = false;
      has_watcher_ = true;
      leads = watch();
      has_watcher_ = false;
      watched_.store(false);
    } else {
      changed_.wait(mutex_);
    }
  }
  --standing_by_;
  return leads;
}

bool GrpcThreads::watch() {
  uint64_t seen = beat_.load();
  for (int quiet = 0; !ended_;) {
    changed_.wait_until(mutex_, std::chrono::steady_clock::now() + kMoment);
    const uint64_t beat = beat_.load();
    if (beat != seen) {
      seen = beat;
      quiet = 0;
    } else if (is_handling(beat)) {
      if (beat_.compare_exchange_strong(seen, beat + 1)) return true;
      quiet = 0;
    } else if (++quiet >= kQuietMoments) {
      watched_.store(false);
      // The leader changes its beat and then looks whether it is watched; the other way round here.
      if (beat_.load() == seen) return false;
      watched_.store(true);
      quiet = 0;
    }
  }
  return false;
}

void GrpcThreads::summon_watcher() {
  MutexLock lock(mutex_);
  if (watched_.load()) return;
  watched_.store(true);
  if (has_watcher_ || ended_) return;
  if (standing_by_ == 0) {
    if (static_cast<int>(threads_.size()) == max_threads_) return;
    start_thread();
  }
  summoned_ = true;
  changed_.notify_all();
}

}  // namespace millrace
