#include "millrace/session/witness_watch.h"

#include <chrono>
#include <utility>

#include "millrace/base/in_flight.h"
#include "millrace/base/mutex.h"
#include "millrace/op/device_name.h"
#include "millrace/transport/all.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

// Between questions that failed.
constexpr auto kPause = 200ms;
// The witness answers after five seconds if there is nothing new.
constexpr auto kPatience = 8s;

}  // namespace

// Shared with calls under way, which may let go of it last, on the runtime's own threads: so it
// does not own that.
class WitnessWatch::Watching : public std::enable_shared_from_this<Watching> {
 public:
  Watching(Runtime& runtime, std::string witness, std::shared_ptr<LateMembers> members,
           TaskName own)
      : host_(runtime.host()),
        transport_(runtime.transports().between_tasks()),
        witness_(std::move(witness)),
        members_(std::move(members)),
        own_(std::move(own)) {}

  void ask() {
    std::shared_ptr<StandbyService> service;
    {
      MutexLock lock(mutex_);
      if (is_over_) return;
      // What failed before is tried anew, at once.
      if (service_ == nullptr) {
        if (auto made = transport_.standby(witness_, {}); made.ok()) service_ = *std::move(made);
      }
      service = service_;
    }
    if (service == nullptr) return ask_later();
    service->witness({.newer_than = version_},
                     {.cancellation = &cancellation_, .deadline = host_.clock.now() + kPatience},
                     Done<WitnessReply>([self = shared_from_this(), token = in_flight_.enter()](
                                            const Result<WitnessReply>& reply) {
                       self->host_.pool.post(
                           [self, token = self->in_flight_.enter(), reply] { self->hear(reply); });
                     }));
  }

  void stop() {
    cancellation_.cancel(cancelled("nobody watches the witness any more"));
    Timers::Timer pause;
    {
      MutexLock lock(mutex_);
      is_over_ = true;
      pause = std::move(pause_);
    }
    pause.cancel();
    in_flight_.wait();
    MutexLock lock(mutex_);
    service_ = nullptr;
  }

 private:
  void hear(const Result<WitnessReply>& reply) {
    if (!reply.ok()) {
      MutexLock lock(mutex_);
      service_ = nullptr;
    } else {
      version_ = reply->version;
      for (const WitnessedState& state : reply->states) {
        const Result<DeviceName> name = DeviceName::parse(state.state);
        if (!name.ok() || !name->names_task() || name->task_name() == own_) continue;
        // One that is not in this cluster is another one's.
        (void)members_->set_address(name->task_name(), state.address);
      }
      return ask();
    }
    ask_later();
  }

  void ask_later() {
    MutexLock lock(mutex_);
    if (is_over_) return;
    pause_ = host_.timers.at(host_.clock.now() + kPause, [weak = weak_from_this()] {
      const std::shared_ptr<Watching> self = weak.lock();
      if (!self) return;
      self->host_.pool.post([self, token = self->in_flight_.enter()] { self->ask(); });
    });
  }

  const Host host_;
  Transport& transport_;
  const std::string witness_;
  const std::shared_ptr<LateMembers> members_;
  const TaskName own_;
  Cancellation cancellation_;
  InFlight in_flight_;
  uint64_t version_ = 0;  // of who asks, one at a time
  Mutex mutex_;
  bool is_over_ MR_GUARDED_BY(mutex_) = false;
  std::shared_ptr<StandbyService> service_ MR_GUARDED_BY(mutex_);
  Timers::Timer pause_ MR_GUARDED_BY(mutex_);
};

WitnessWatch::WitnessWatch(std::shared_ptr<Runtime> runtime, std::string witness_address,
                           std::shared_ptr<LateMembers> members, TaskName own)
    : runtime_(std::move(runtime)),
      watching_(std::make_shared<Watching>(*runtime_, std::move(witness_address),
                                           std::move(members), std::move(own))) {
  watching_->ask();
}

WitnessWatch::~WitnessWatch() { watching_->stop(); }

}  // namespace millrace
