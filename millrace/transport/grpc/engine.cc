#include "millrace/transport/grpc/engine.h"

#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <grpc/support/time.h>

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/start_thread.h"
#include "millrace/base/str_cat.h"
#include "millrace/transport/grpc/handover.h"

namespace millrace::transport {

namespace {

using grpc_event_engine::experimental::EndpointConfig;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryAllocatorFactory;
using Errand = absl::AnyInvocable<void()>;

// By time, then in the order in which they came: a handle's two keys.
using Key = std::pair<Clock::Time, intptr_t>;

// By gRPC's clock, which is the machine's.
Clock::Time now() {
  const gpr_timespec time = gpr_now(GPR_CLOCK_MONOTONIC);
  return Clock::Time(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

EventEngine::TaskHandle handle_of(const Key& key) {
  return {static_cast<intptr_t>(key.first.time_since_epoch().count()), key.second};
}
Key key_of(const EventEngine::TaskHandle& handle) {
  return {Clock::Time(Clock::Duration(handle.keys[0])), handle.keys[1]};
}

absl::Status not_here(const char* what) {
  return absl::UnimplementedError(str_cat("this engine does not ", what));
}

}  // namespace

class Engine::Errands {
 public:
  Key add(Clock::Time when, Errand errand, const std::shared_ptr<Errands>& self) {
    MutexLock lock(mutex_);
    const Key key{when, next_++};
    due_.emplace(key, std::move(errand));
    // One that the system refuses may be had at the next errand.
    if (!has_thread_) has_thread_ = start(self);
    changed_.notify_all();
    return key;
  }
  bool cancel(const Key& key) {
    Errand forgotten;  // outside of the lock: what it holds may have errands of its own
    MutexLock lock(mutex_);
    const auto found = due_.find(key);
    if (found == due_.end()) return false;
    forgotten = std::move(found->second);
    due_.erase(found);
    return true;
  }
  bool is_own_thread() {
    MutexLock lock(mutex_);
    return thread_ == std::this_thread::get_id();
  }
  // Returns when the thread does no more errands, unless it is the one that calls.
  void end() {
    std::map<Key, Errand> forgotten;
    MutexLock lock(mutex_);
    is_over_ = true;
    forgotten.swap(due_);
    changed_.notify_all();
    while (has_thread_ && thread_ != std::this_thread::get_id()) changed_.wait(mutex_);
  }

 private:
  bool start(const std::shared_ptr<Errands>& self) MR_REQUIRES(mutex_) {
    auto started = start_thread("grpc:errands", [self] { self->work(); });
    if (!started.ok()) return false;
    thread_ = started->get_id();
    started->detach();
    return true;
  }

  void work() {
    MutexLock lock(mutex_);
    while (!is_over_) {
      if (due_.empty()) {
        changed_.wait(mutex_);
        continue;
      }
      const auto first = due_.begin();
      const Clock::Time when = first->first.first;
      if (now() < when) {
        changed_.wait_until(mutex_, when);
        continue;
      }
      Errand errand = std::move(first->second);
      due_.erase(first);
      mutex_.unlock();
      errand();
      errand = nullptr;
      mutex_.lock();
    }
    has_thread_ = false;
    thread_ = {};
    changed_.notify_all();
  }

  Mutex mutex_;
  Condition changed_;
  std::map<Key, Errand> due_ MR_GUARDED_BY(mutex_);
  intptr_t next_ MR_GUARDED_BY(mutex_) = 1;
  bool has_thread_ MR_GUARDED_BY(mutex_) = false;
  std::thread::id thread_ MR_GUARDED_BY(mutex_);
  bool is_over_ MR_GUARDED_BY(mutex_) = false;
};

void Engine::take_over() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc_event_engine::experimental::SetEventEngineFactory(
        [] { return std::make_unique<Engine>(); });
  });
}

// gRPC holds the engine, and counts who does.
Engine::Engine() : errands_(std::make_shared<Errands>()) { hand_over(this); }

Engine::~Engine() {
  transport::take_over(this);
  errands_->end();
}

bool Engine::IsWorkerThread() {
  transport::take_over(this);
  return errands_->is_own_thread();
}

void Engine::Run(Closure* closure) { RunAfter(Duration::zero(), closure); }

void Engine::Run(absl::AnyInvocable<void()> closure) {
  RunAfter(Duration::zero(), std::move(closure));
}

EventEngine::TaskHandle Engine::RunAfter(Duration when, Closure* closure) {
  return RunAfter(when, [closure] { closure->Run(); });
}

EventEngine::TaskHandle Engine::RunAfter(Duration when, absl::AnyInvocable<void()> closure) {
  transport::take_over(this);
  const TaskHandle handle = handle_of(errands_->add(now() + when, std::move(closure), errands_));
  hand_over(this);
  return handle;
}

bool Engine::Cancel(TaskHandle handle) {
  transport::take_over(this);
  const bool was_due = errands_->cancel(key_of(handle));
  hand_over(this);
  return was_due;
}

absl::StatusOr<std::unique_ptr<EventEngine::Listener>> Engine::CreateListener(
    Listener::AcceptCallback, absl::AnyInvocable<void(absl::Status)>, const EndpointConfig&,
    std::unique_ptr<MemoryAllocatorFactory>) {
  return not_here("listen");
}

EventEngine::ConnectionHandle Engine::Connect(OnConnectCallback on_connect, const ResolvedAddress&,
                                              const EndpointConfig&, MemoryAllocator, Duration) {
  Run([on_connect = std::move(on_connect)]() mutable { on_connect(not_here("connect")); });
  return {};
}

bool Engine::CancelConnect(ConnectionHandle) { return false; }

std::unique_ptr<EventEngine::DNSResolver> Engine::GetDNSResolver(
    const DNSResolver::ResolverOptions&) {
  return nullptr;
}

}  // namespace millrace::transport
