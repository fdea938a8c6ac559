#include "millrace/master/roll_call.h"

#include <utility>

#include "millrace/base/log.h"
#include "millrace/master/early_end.h"

namespace millrace {

namespace {

// A member whose connection broke while it was answering is asked again this much later.
constexpr std::chrono::milliseconds kRetryDelay{200};

class RollCall : public std::enable_shared_from_this<RollCall> {
 public:
  RollCall(MasterContext& context, std::string_view purpose, Done<std::vector<Present>> done)
      : context_(context),
        token_(context.in_flight.enter()),
        purpose_(purpose),
        done_(std::move(done)) {}

  void start(const Membership& membership, const Call& call) {
    is_sent_ = membership.is_sent;
    for (const Member& member : membership.members) {
      auto worker = member.task == membership.self
                        ? own_worker()
                        : context_.options.workers.worker(member.task, member.address);
      if (!worker.ok()) {
        end(worker.status().with(str_cat("reaching ", member.task.to_string())));
        return;
      }
      present_.push_back({member, std::move(worker).value(), {}});
    }
    {
      MutexLock lock(mutex_);
      answered_.resize(present_.size(), false);
      retries_.resize(present_.size());
      diagnoses_.resize(present_.size());
      missing_ = present_.size();
    }
    early_end_ = EarlyEnd::or_stopping(context_, call, "every task of the cluster to answer",
                                       [weak = weak_from_this()](Status why) {
                                         if (auto self = weak.lock()) self->give_up(std::move(why));
                                       });
    remind_after(context_.options.reminder_interval / 10);
    for (size_t i = 0; i < present_.size(); ++i) ask(i);
  }

 private:
  // By its own name and address, whatever a cluster says that the client sent.
  Result<std::shared_ptr<WorkerService>> own_worker() {
    const TaskName& own = context_.options.own_task;
    MR_ASSIGN(const std::string address, context_.options.cluster.address(own));
    return context_.options.workers.worker(own, address);
  }

  void ask(size_t index) {
    present_[index].worker->get_status(
        WhenDown::wait, {.cancellation = &cancellation_},
        Done<GetStatusReply>([self = shared_from_this(), index](Result<GetStatusReply> reply) {
          self->answered(index, std::move(reply));
        }));
  }

  void answered(size_t index, Result<GetStatusReply> reply) {
    const Member& member = present_[index].member;
    if (!reply.ok() && reply.status().code() == Code::unavailable && !cancellation_.cancelled()) {
      ask_again(index);
      return;
    }
    Status status = reply.status().with(str_cat(member.task.to_string(), " at ", member.address));
    if (reply.ok() && !is_sent_) status = check_identity(member, reply->devices);
    if (status.ok()) {
      auto devices = renamed(std::move(reply).value().devices, member.task);
      status = devices.status();
      if (devices.ok()) present_[index].devices = std::move(devices).value();
    }
    if (!status.ok()) give_up(status);
    {
      MutexLock lock(mutex_);
      answered_[index] = true;
      if (--missing_ > 0) return;
    }
    end(failure());
  }

  // The timer keeps this alive: nobody else may, while no question is open.
  void ask_again(size_t index) {
    MutexLock lock(mutex_);
    retries_[index] = context_.options.timers.at(
        context_.now() + kRetryDelay, [self = shared_from_this(), index] {
          self->context_.options.pool.post([self, index] { self->ask(index); });
        });
  }

  // Cancels the questions still open; the last answer ends the roll call.
  void give_up(Status why) {
    {
      MutexLock lock(mutex_);
      if (failure_.ok())
        failure_ = why.code() == Code::deadline_exceeded ? why.then(missing()) : why;
    }
    cancellation_.cancel(why.as_consequence());
  }

  Status failure() {
    MutexLock lock(mutex_);
    return failure_;
  }

  // "; not there: /job:ps/replica:0/task:0 at ps0:2222 (why, if somebody has looked)"
  std::string missing() const MR_REQUIRES(mutex_) {
    constexpr size_t kNamed = 5;
    std::string text;
    size_t count = 0;
    for (size_t i = 0; i < present_.size(); ++i) {
      if (answered_[i] || ++count > kNamed) continue;
      str_append(&text, text.empty() ? "; not there: " : ", ", describe(i));
    }
    return count > kNamed ? str_cat(text, " and ", count - kNamed, " more") : text;
  }
  std::string describe(size_t index) const MR_REQUIRES(mutex_) {
    const Member& member = present_[index].member;
    const Status& why = diagnoses_[index];
    return str_cat(member.task.to_string(), " at ", member.address,
                   why.ok() ? "" : str_cat(" (", why.to_string(), ")"));
  }

  void remind_after(Clock::Duration pause) {
    MutexLock lock(mutex_);
    if (missing_ == 0) return;
    reminder_ = context_.options.timers.at(context_.now() + pause, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->context_.options.pool.post([self] { self->remind(); });
    });
  }

  void remind() {
    report_missing();
    for (size_t i = 0; i < present_.size(); ++i) {
      {
        MutexLock lock(mutex_);
        if (missing_ == 0 || !failure_.ok()) return;
        if (answered_[i]) continue;
      }
      Call call = context_.cleanup_call();
      present_[i].worker->get_status(
          WhenDown::fail, call,
          Done<GetStatusReply>([self = shared_from_this(), i](Result<GetStatusReply> reply) {
            log_info(reminder(self->purpose_, self->present_[i].member, reply.status()));
            MutexLock lock(self->mutex_);
            self->diagnoses_[i] = std::move(reply).status();
          }));
    }
    remind_after(context_.options.reminder_interval);
  }

  void report_missing() {
    if (!context_.options.report) return;
    TaskWaitsFor waits{.what = purpose_, .others = {}, .more = 0};
    {
      MutexLock lock(mutex_);
      for (size_t i = 0; i < present_.size(); ++i) {
        if (answered_[i]) continue;
        const Member& member = present_[i].member;
        waits.others.push_back({short_name(member.task), member.address,
                                diagnoses_[i].ok() ? "" : diagnoses_[i].to_string()});
      }
    }
    if (!waits.others.empty()) context_.options.report->tell(waits);
  }

  void end(Status status) {
    TimerQueue::Timer reminder;
    Done<std::vector<Present>> done;
    {
      MutexLock lock(mutex_);
      reminder = std::move(reminder_);
      done = std::move(done_);
    }
    if (!done) return;
    // The caller may drop its cancellation as soon as it is answered.
    early_end_ = {};
    if (!status.ok()) {
      done(std::move(status));
    } else {
      done(std::move(present_));
    }
  }

  MasterContext& context_;
  const InFlight::Token token_;
  const std::string purpose_;
  bool is_sent_ = false;          // set before the first question
  std::vector<Present> present_;  // entry i written by the answer of member i alone
  Cancellation cancellation_;
  Mutex mutex_;
  Done<std::vector<Present>> done_ MR_GUARDED_BY(mutex_);
  std::vector<bool> answered_ MR_GUARDED_BY(mutex_);
  size_t missing_ MR_GUARDED_BY(mutex_) = 0;
  std::vector<Status> diagnoses_ MR_GUARDED_BY(mutex_);  // of the last look at each that is missing
  Status failure_ MR_GUARDED_BY(mutex_);
  TimerQueue::Timer reminder_ MR_GUARDED_BY(mutex_);
  std::vector<TimerQueue::Timer> retries_ MR_GUARDED_BY(mutex_);
  EarlyEnd early_end_;
};

}  // namespace

void call_the_roll(MasterContext& context, const Membership& membership, std::string_view purpose,
                   const Call& call, Done<std::vector<Present>> done) {
  std::make_shared<RollCall>(context, purpose, std::move(done))->start(membership, call);
}

std::string reminder(std::string_view purpose, const Member& missing, const Status& diagnosis) {
  std::string text =
      str_cat(purpose, " still waiting for response from worker: ", missing.task.to_string(),
              " at ", missing.address);
  if (!diagnosis.ok()) str_append(&text, " (", diagnosis.to_string(), ")");
  return text;
}

}  // namespace millrace
