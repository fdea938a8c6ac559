#include "millrace/master/roll_call.h"

#include <utility>

#include "millrace/master/early_end.h"
#include "millrace/master/roll.h"

namespace millrace {

namespace {

// The shell around a Roll: asks and looks as it says, and feeds it with what comes back.
class RollCall : public std::enable_shared_from_this<RollCall> {
 public:
  RollCall(MasterContext& context, const Membership& membership, std::string_view purpose,
           Done<std::vector<Present>> done)
      : context_(context),
        token_(context.in_flight.enter()),
        members_(membership.members),
        is_sent_(membership.is_sent),
        // In a cluster that a client sent, tasks have other names.
        departures_(is_sent_ ? nullptr : context.options.departures),
        done_(std::move(done)),
        roll_({.purpose = std::string(purpose),
               .is_sent = membership.is_sent,
               .reminder_interval = context.options.reminder_interval},
              members_),
        retries_(members_.size()) {}

  void start(const TaskName& self, const Call& call) {
    for (const Member& member : members_) {
      auto worker = reach(member, self);
      if (!worker.ok()) {
        Done<std::vector<Present>> done;
        {
          MutexLock lock(mutex_);
          done = std::move(done_);
        }
        done(worker.status().with(str_cat("reaching ", member.task.to_string())));
        return;
      }
      workers_.push_back(std::move(worker).value());
    }
    for (size_t i = 0; i < members_.size(); ++i) locate(i);
    early_end_ =
        EarlyEnd::or_stopping(context_, call, "every task of the cluster to answer",
                              [weak = weak_from_this()](const Status& why) {
                                if (auto self = weak.lock())
                                  self->happen([&](Roll& roll) { return roll.on_stop(why); });
                              });
    if (!is_sent_) watch_members();
    told_ = context_.waits.enter([weak = weak_from_this()] {
      auto self = weak.lock();
      return self ? self->describe() : std::vector<std::string>();
    });
    std::vector<Roll::Life> lives;
    for (size_t i = 0; i < members_.size(); ++i) lives.push_back(life_of(i));
    happen([&](Roll& roll) { return roll.start(lives); });
  }

 private:
  using Action = Roll::Action;

  // The own one by its own name, whatever a cluster says that the client sent.
  Result<std::shared_ptr<WorkerService>> reach(const Member& member, const TaskName& self) {
    if (member.task == self) return context_.worker(context_.options.own_task);
    if (!is_sent_) return context_.worker(member.task);
    return context_.options.workers.worker(member.task, member.address);
  }

  template <class Event>
  void happen(Event event) {
    Roll::Actions actions;
    {
      MutexLock lock(mutex_);
      actions = event(roll_);
    }
    for (const Action& action : actions) perform(action);
  }

  void perform(const Action& action) {
    using Kind = Action::Kind;
    switch (action.kind) {
      case Kind::ask:
      case Kind::ask_briefly:
        return ask(action);
      case Kind::ask_later:
        return ask_later(action);
      case Kind::look:
        return look(action.member, Roll::Look::for_people);
      case Kind::look_quietly:
        return look(action.member, Roll::Look::for_itself);
      case Kind::say:
        return context_.host().log.info(action.text);
      case Kind::report:
        return report();
      case Kind::remind_later:
        return remind_later(action.pause);
      case Kind::cancel:
        return cancellation_.cancel(action.why);
      case Kind::answer:
        return answer();
    }
  }

  // ---- Questions --------------------------------------------------------------------------------

  void ask(const Action& action) {
    Call call{.cancellation = &cancellation_};
    const bool is_brief = action.kind == Action::Kind::ask_briefly;
    if (is_brief) call.deadline = context_.now() + context_.options.cleanup_timeout;
    workers_[action.member]->get_status(
        is_brief ? WhenDown::fail : WhenDown::wait, call,
        Done<GetStatusReply>([self = shared_from_this(),
                              index = action.member](Result<GetStatusReply> reply) {
          const Roll::Life life = self->life_of(index, reply);
          self->locate(index);
          self->happen([&](Roll& roll) { return roll.on_answer(index, std::move(reply), life); });
        }));
  }

  // The timer keeps this alive: nobody else may, while no question is open.
  void ask_later(const Action& action) {
    // With the lock, so that none that fires at once is replaced by itself.
    MutexLock lock(mutex_);
    if (!done_) return;
    retries_[action.member] = context_.host().timers.at(
        context_.now() + action.pause, [self = shared_from_this(), index = action.member] {
          self->context_.host().pool.post([self, index] {
            const Roll::Life life = self->life_of(index);
            self->happen([&](Roll& roll) { return roll.on_retry_due(index, life); });
          });
        });
  }

  void look(size_t index, Roll::Look look) {
    workers_[index]->get_status(
        WhenDown::fail, context_.cleanup_call(),
        Done<GetStatusReply>([self = shared_from_this(), index,
                              look](const Result<GetStatusReply>& reply) {
          const Roll::Life life = self->life_of(index);
          self->locate(index);
          self->happen([&](Roll& roll) { return roll.on_seen(index, reply.status(), life, look); });
        }));
  }

  // It may have been found, or found elsewhere, since the roll call began.
  void locate(size_t index) {
    if (is_sent_) return;
    auto address = context_.options.members->address(members_[index].task);
    MutexLock lock(mutex_);
    roll_.locate(index, std::move(address));
  }

  // ---- Who has ended ----------------------------------------------------------------------------

  Roll::Life life_of(size_t index) const {
    const bool has_ended = !is_sent_ && members_[index].task != context_.options.own_task &&
                           context_.has_ended(members_[index].task);
    return has_ended ? Roll::Life::has_ended : Roll::Life::goes_on;
  }

  // Takes note of who has ended, as the reply tells.
  Roll::Life life_of(size_t index, const Result<GetStatusReply>& reply) {
    if (!reply.ok()) return life_of(index);
    if (departures_ == nullptr || members_[index].task == context_.options.own_task)
      return Roll::Life::goes_on;
    // Those that are not in this cluster are nothing to us.
    for (const EndedTask& ended : reply->ended) (void)departures_->note(ended);
    const bool is_ending =
        !reply->devices.empty() &&
        departures_->answers(members_[index].task, reply->devices.front().incarnation);
    return is_ending ? Roll::Life::is_ending : Roll::Life::goes_on;
  }

  // A member may end, or be found, while it is waited for.
  void watch_members() {
    const auto hear = [weak = weak_from_this()](const TaskName& task) {
      auto self = weak.lock();
      if (!self) return;
      self->context_.host().pool.post([self, task] {
        for (size_t i = 0; i < self->members_.size(); ++i)
          if (self->members_[i].task == task)
            self->happen([&](Roll& roll) { return roll.on_departure(i); });
      });
    };
    if (departures_ != nullptr) departure_watch_ = departures_->watch(hear);
    member_watch_ = context_.options.members->watch(hear);
  }

  // ---- Reminders --------------------------------------------------------------------------------

  std::vector<std::string> describe() {
    MutexLock lock(mutex_);
    return roll_.describe();
  }

  void remind_later(Clock::Duration pause) {
    MutexLock lock(mutex_);
    if (!done_) return;
    reminder_ = context_.host().timers.at(context_.now() + pause, [weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self) return;
      self->context_.host().pool.post(
          [self] { self->happen([](Roll& roll) { return roll.on_reminder_due(); }); });
    });
  }

  void report() {
    if (!context_.options.report) return;
    TaskWaitsFor waits;
    {
      MutexLock lock(mutex_);
      waits = roll_.waits();
    }
    if (!waits.others.empty()) context_.options.report->tell(waits);
  }

  // ---- The end ----------------------------------------------------------------------------------

  void answer() {
    Timers::Timer reminder;
    std::vector<Timers::Timer> retries;
    Done<std::vector<Present>> done;
    Result<std::vector<Present>> outcome = std::vector<Present>();
    {
      MutexLock lock(mutex_);
      reminder = std::move(reminder_);
      retries.swap(retries_);
      done = std::move(done_);
      if (!roll_.outcome().ok()) outcome = roll_.outcome();
      for (size_t i = 0; outcome.ok() && i < members_.size(); ++i)
        if (roll_.takes_part(i))
          outcome->push_back(
              {roll_.member(i), workers_[i], roll_.take_devices(i), roll_.capabilities(i)});
    }
    // The caller may drop its cancellation as soon as it is answered.
    early_end_ = {};
    departure_watch_.reset();
    member_watch_.reset();
    told_.reset();
    // Members that are left out may still have a question that waits for them.
    cancellation_.cancel(cancelled("the roll call is over").as_consequence());
    done(std::move(outcome));
  }

  MasterContext& context_;
  const InFlight::Token token_;
  const std::vector<Member> members_;  // as they were when it began
  const bool is_sent_;
  Departures* const departures_;
  std::vector<std::shared_ptr<WorkerService>> workers_;  // set before the first question
  Cancellation cancellation_;
  Mutex mutex_;
  Done<std::vector<Present>> done_ MR_GUARDED_BY(mutex_);
  Roll roll_ MR_GUARDED_BY(mutex_);
  std::vector<Timers::Timer> retries_ MR_GUARDED_BY(mutex_);  // by member
  Timers::Timer reminder_ MR_GUARDED_BY(mutex_);
  EarlyEnd early_end_;                        // from the start until the end
  OpenWaits::Entry told_;                     // likewise
  TaskWatch departure_watch_, member_watch_;  // likewise
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

}  // namespace millrace
