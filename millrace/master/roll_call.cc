#include "millrace/master/roll_call.h"

#include <utility>

#include "millrace/base/first_cause.h"
#include "millrace/master/early_end.h"

namespace millrace {

namespace {

// A member whose connection broke while it was answering is asked again this much later.
constexpr std::chrono::milliseconds kRetryDelay{200};

class RollCall : public std::enable_shared_from_this<RollCall> {
 public:
  RollCall(MasterContext& context, const Membership& membership, std::string_view purpose,
           Done<std::vector<Present>> done)
      : context_(context),
        token_(context.in_flight.enter()),
        purpose_(purpose),
        members_(membership.members),
        // In a cluster that a client sent, tasks have other names.
        departures_(membership.is_sent ? nullptr : context.options.departures),
        is_sent_(membership.is_sent),
        done_(std::move(done)),
        members_left_(members_.size()),
        states_(members_.size()) {}

  void start(const TaskName& self, const Call& call) {
    for (const Member& member : members_) {
      auto worker = member.task == self
                        ? own_worker()
                        : context_.options.workers.worker(member.task, member.address);
      if (!worker.ok()) {
        end(worker.status().with(str_cat("reaching ", member.task.to_string())));
        return;
      }
      workers_.push_back(std::move(worker).value());
    }
    early_end_ = EarlyEnd::or_stopping(context_, call, "every task of the cluster to answer",
                                       [weak = weak_from_this()](Status why) {
                                         if (auto self = weak.lock()) self->give_up(std::move(why));
                                       });
    remind_after(context_.options.reminder_interval / 10);
    if (departures_ != nullptr) watch_ = watch();
    for (size_t i = 0; i < members_.size(); ++i) ask(i);
  }

 private:
  // What is known of a member. Whoever gets the first answer of it settles it.
  struct State {
    bool is_settled = false;
    bool is_left_out = false;
    Status diagnosis;  // of the last look at one that is missing
    Timers::Timer retry;
    std::vector<DeviceAttributes> devices;
  };

  // By its own name and address, whatever a cluster says that the client sent.
  Result<std::shared_ptr<WorkerService>> own_worker() {
    const TaskName& own = context_.options.own_task;
    MR_ASSIGN(const std::string address, context_.options.cluster.address(own));
    return context_.options.workers.worker(own, address);
  }

  void ask(size_t index) {
    Call call{.cancellation = &cancellation_};
    if (has_ended(index)) call.deadline = context_.now() + context_.options.cleanup_timeout;
    workers_[index]->get_status(
        call.deadline ? WhenDown::fail : WhenDown::wait, call,
        Done<GetStatusReply>([self = shared_from_this(), index](Result<GetStatusReply> reply) {
          self->answered(index, std::move(reply));
        }));
  }

  void answered(size_t index, Result<GetStatusReply> reply) {
    if (!cancellation_.cancelled()) {
      if (is_silence(reply.status()) && has_ended(index)) return leave_out(index);
      if (reply.status().code() == Code::unavailable) return ask_again(index);
    }
    if (reply.ok() && is_about_to_go(index, *reply)) return leave_out(index);
    if (!claim(index)) return;
    const Member& member = members_[index];
    Status status = reply.status().with(str_cat(member.task.to_string(), " at ", member.address));
    if (reply.ok() && !is_sent_) status = check_identity(member, reply->devices);
    if (status.ok()) {
      auto devices = renamed(std::move(reply).value().devices, member.task);
      status = devices.status();
      MutexLock lock(mutex_);
      if (devices.ok()) states_[index].devices = std::move(devices).value();
    }
    if (!status.ok()) give_up(status);
    count_off();
  }

  // True for whoever is the first to settle a member.
  bool claim(size_t index) {
    MutexLock lock(mutex_);
    return !std::exchange(states_[index].is_settled, true);
  }

  void count_off() {
    {
      MutexLock lock(mutex_);
      if (--members_left_ > 0) return;
    }
    end(failure());
  }

  // The timer keeps this alive: nobody else may, while no question is open.
  void ask_again(size_t index) {
    MutexLock lock(mutex_);
    if (states_[index].is_settled) return;
    states_[index].retry =
        context_.host().timers.at(context_.now() + kRetryDelay, [self = shared_from_this(), index] {
          self->context_.host().pool.post([self, index] { self->ask(index); });
        });
  }

  // ---- Members that have ended well -------------------------------------------------------------

  // Nobody there, or nobody who answers.
  static bool is_silence(const Status& status) {
    return status.code() == Code::unavailable || status.code() == Code::deadline_exceeded;
  }
  bool may_end(size_t index) const {
    return departures_ != nullptr && members_[index].task != context_.options.own_task;
  }
  bool has_ended(size_t index) const {
    return may_end(index) && departures_->has(members_[index].task);
  }

  void leave_out(size_t index) {
    if (!claim(index)) return;
    {
      MutexLock lock(mutex_);
      states_[index].is_left_out = true;
    }
    context_.host().log.info(purpose_, " goes on without ", members_[index].task.to_string(),
                             ", which has ended");
    count_off();
  }

  // Takes note of who has ended, as the reply tells; true if the member that replies is among them.
  bool is_about_to_go(size_t index, const GetStatusReply& reply) {
    if (!may_end(index)) return false;
    // Those that are not in this cluster are nothing to us.
    for (const EndedTask& ended : reply.ended) (void)departures_->note(ended);
    return !reply.devices.empty() &&
           departures_->answers(members_[index].task, reply.devices.front().incarnation);
  }

  // A member may end while it is waited for.
  Departures::Watch watch() {
    return departures_->watch([weak = weak_from_this()](const TaskName& task) {
      auto self = weak.lock();
      if (!self) return;
      self->context_.host().pool.post([self, task] {
        for (size_t i = 0; i < self->members_.size(); ++i)
          if (self->members_[i].task == task && self->is_missing(i)) self->look_at(i, Tell::nobody);
      });
    });
  }

  // ---- Members that are missing -----------------------------------------------------------------

  bool is_missing(size_t index) {
    MutexLock lock(mutex_);
    return !states_[index].is_settled && failure_.ok();
  }

  enum class Tell { people, nobody };

  // Finds out why a member does not answer, without waiting for it.
  void look_at(size_t index, Tell tell) {
    workers_[index]->get_status(WhenDown::fail, context_.cleanup_call(),
                                Done<GetStatusReply>([self = shared_from_this(), index,
                                                      tell](const Result<GetStatusReply>& reply) {
                                  if (tell == Tell::people)
                                    self->context_.host().log.info(reminder(
                                        self->purpose_, self->members_[index], reply.status()));
                                  self->seen(index, reply.status());
                                }));
  }

  void seen(size_t index, const Status& status) {
    {
      MutexLock lock(mutex_);
      states_[index].diagnosis = status;
    }
    if (is_silence(status) && has_ended(index)) leave_out(index);
  }

  // "; not there: /job:ps/replica:0/task:0 at ps0:2222 (why, if somebody has looked)"
  std::string missing() const MR_REQUIRES(mutex_) {
    constexpr size_t kNamed = 5;
    std::string text;
    size_t count = 0;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (states_[i].is_settled || ++count > kNamed) continue;
      str_append(&text, text.empty() ? "; not there: " : ", ", describe(i));
    }
    return count > kNamed ? str_cat(text, " and ", count - kNamed, " more") : text;
  }
  std::string describe(size_t index) const MR_REQUIRES(mutex_) {
    const Member& member = members_[index];
    const Status& why = states_[index].diagnosis;
    return str_cat(member.task.to_string(), " at ", member.address,
                   why.ok() ? "" : str_cat(" (", why.to_string(), ")"));
  }

  void remind_after(Clock::Duration pause) {
    MutexLock lock(mutex_);
    if (members_left_ == 0) return;
    reminder_ = context_.host().timers.at(context_.now() + pause, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->context_.host().pool.post([self] { self->remind(); });
    });
  }

  void remind() {
    report_missing();
    for (size_t i = 0; i < members_.size(); ++i)
      if (is_missing(i)) look_at(i, Tell::people);
    remind_after(context_.options.reminder_interval);
  }

  void report_missing() {
    if (!context_.options.report) return;
    TaskWaitsFor waits{.what = purpose_, .others = {}, .more = 0};
    {
      MutexLock lock(mutex_);
      for (size_t i = 0; i < members_.size(); ++i) {
        if (states_[i].is_settled) continue;
        const Status& why = states_[i].diagnosis;
        waits.others.push_back(
            {short_name(members_[i].task), members_[i].address, why.ok() ? "" : why.to_string()});
      }
    }
    if (!waits.others.empty()) context_.options.report->tell(waits);
  }

  // ---- The end ----------------------------------------------------------------------------------

  // Cancels the questions still open; the last answer ends the roll call.
  void give_up(Status why) {
    {
      MutexLock lock(mutex_);
      failure_.add(why.code() == Code::deadline_exceeded ? why.then(missing()) : why);
    }
    cancellation_.cancel(why.as_consequence());
  }

  Status failure() {
    MutexLock lock(mutex_);
    return failure_.status();
  }

  void end(Status status) {
    Timers::Timer reminder;
    Done<std::vector<Present>> done;
    std::vector<Present> present;
    {
      MutexLock lock(mutex_);
      reminder = std::move(reminder_);
      done = std::move(done_);
      for (size_t i = 0; status.ok() && i < members_.size(); ++i)
        if (!states_[i].is_left_out)
          present.push_back({members_[i], workers_[i], std::move(states_[i].devices)});
    }
    if (!done) return;
    // The caller may drop its cancellation as soon as it is answered.
    early_end_ = {};
    watch_.reset();
    // Members that are left out may still have a question that waits for them.
    cancellation_.cancel(cancelled("the roll call is over").as_consequence());
    if (!status.ok()) {
      done(std::move(status));
    } else {
      done(std::move(present));
    }
  }

  MasterContext& context_;
  const InFlight::Token token_;
  const std::string purpose_;
  const std::vector<Member> members_;
  Departures* const departures_;
  const bool is_sent_;
  std::vector<std::shared_ptr<WorkerService>> workers_;  // set before the first question
  Cancellation cancellation_;
  Mutex mutex_;
  Done<std::vector<Present>> done_ MR_GUARDED_BY(mutex_);
  size_t members_left_ MR_GUARDED_BY(mutex_);
  std::vector<State> states_ MR_GUARDED_BY(mutex_);  // by member
  FirstCause failure_ MR_GUARDED_BY(mutex_);
  Timers::Timer reminder_ MR_GUARDED_BY(mutex_);
  EarlyEnd early_end_;       // from the start until the end
  Departures::Watch watch_;  // likewise
};

}  // namespace

void call_the_roll(MasterContext& context, const Membership& membership, std::string_view purpose,
                   const Call& call, Done<std::vector<Present>> done) {
  std::make_shared<RollCall>(context, membership, purpose, std::move(done))
      ->start(membership.self, call);
}

std::vector<TaskName> tasks_of(std::span<const Present> members) {
  std::vector<TaskName> tasks;
  for (const Present& present : members) tasks.push_back(present.member.task);
  return tasks;
}

std::string reminder(std::string_view purpose, const Member& missing, const Status& diagnosis) {
  std::string text =
      str_cat(purpose, " still waiting for response from worker: ", missing.task.to_string(),
              " at ", missing.address);
  if (!diagnosis.ok()) str_append(&text, " (", diagnosis.to_string(), ")");
  return text;
}

}  // namespace millrace
