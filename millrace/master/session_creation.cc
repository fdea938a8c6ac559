#include "millrace/master/session_creation.h"

#include <cinttypes>
#include <cstdio>
#include <optional>
#include <utility>

#include "millrace/base/first_cause.h"
#include "millrace/base/mutex.h"
#include "millrace/graph/import.h"
#include "millrace/graph/validate.h"
#include "millrace/master/creation_tracker.h"
#include "millrace/master/early_end.h"

namespace millrace {

namespace {

std::string new_handle(Random& random) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, random.next());
  return text;
}

// The shell around a CreationTracker, which decides what comes next.
class SessionCreation : public std::enable_shared_from_this<SessionCreation> {
 public:
  SessionCreation(MasterContext& context, Done<std::shared_ptr<MasterSession>> done)
      : context_(context), token_(context.in_flight.enter()), done_(std::move(done)) {}

  void start(CreateSessionRequest request, const Call& call) {
    Status fault = read(std::move(request));
    if (fault.ok()) {
      runner_ = call.runner != nullptr ? call.runner : &context_.host().pool;
      watch(call);
    }
    happen([&](CreationTracker& tracker) { return tracker.on_request(std::move(fault)); });
  }

 private:
  using Next = CreationTracker::Next;

  Status read(CreateSessionRequest request) {
    parts_.options = merge_options(context_.options.defaults, std::move(request.options));
    MR_TRY(check_options(parts_.options));
    MR_ASSIGN(parts_.membership,
              resolve_membership(context_.options.members->list(), context_.options.own_task,
                                 parts_.options, request.target));
    request_graph_ = std::move(request.graph);
    MR_ASSIGN(Graph graph, import_graph(request_graph_, context_.options.ops, Foreign::taken));
    MR_TRY(validate(graph));
    graph_ = std::move(graph);
    return {};
  }

  void watch(const Call& call) {
    Call limited = call;
    if (call.deadline) limited.deadline = EarlyEnd::in_time_for(*call.deadline, context_.now());
    limited.deadline =
        EarlyEnd::deadline(limited, parts_.options.operation_timeout, context_.now());
    early_end_ = EarlyEnd::or_stopping(context_, limited, "the session to be created",
                                       [weak = weak_from_this()](const Status& why) {
                                         if (auto self = weak.lock()) self->stop(why);
                                       });
  }

  void stop(const Status& why) {
    {
      MutexLock lock(mutex_);
      tracker_.on_stop(why);
    }
    cancellation_.cancel(why);
  }

  template <class Event>
  void happen(Event event) {
    Next next = Next::nothing;
    {
      MutexLock lock(mutex_);
      next = event(tracker_);
    }
    perform(next);
  }

  void perform(Next next) {
    switch (next) {
      case Next::nothing:
        return;
      case Next::call_the_roll:
        return call_roll();
      case Next::place: {
        Status placed = place();
        return happen([&](CreationTracker& tracker) { return tracker.on_placed(placed); });
      }
      case Next::create:
        return create();
      case Next::forget:
        forget();
        return end();
      case Next::answer:
        return end();
    }
  }

  void call_roll() {
    call_the_roll(context_, parts_.membership, "CreateSession", {.cancellation = &cancellation_},
                  Done<std::vector<Present>>([self = shared_from_this()](auto present) {
                    // Planning takes a while: not on the thread that answers happen to come on.
                    self->runner_->post([self, present = std::move(present)]() mutable {
                      self->all_present(std::move(present));
                    });
                  }));
  }

  void all_present(Result<std::vector<Present>> present) {
    Result<std::vector<Member>> members = std::vector<Member>();
    if (present.ok()) {
      present_ = std::move(present).value();
      for (const Present& one : present_) members->push_back(one.member);
    } else {
      members = present.status();
    }
    happen([&](CreationTracker& tracker) { return tracker.on_present(std::move(members)); });
  }

  std::vector<Present> those_that_take_part() {
    std::vector<Present> all;
    MutexLock lock(mutex_);
    for (size_t i = 0; i < present_.size(); ++i)
      if (tracker_.takes_part(i)) all.push_back(present_[i]);
    return all;
  }

  // Who debugs a mixed cluster should not have to guess which kind each task is.
  void tell_of_foreign_tasks() {
    std::string foreign;
    for (const Present& one : parts_.members) {
      if (one.can.empty())
        str_append(&foreign, foreign.empty() ? "" : ", ", one.member.task.to_string());
    }
    if (!foreign.empty()) {
      context_.host().log.info(
          str_cat("CreateSession: without Millrace's extensions of the protocol, as TensorFlow's "
                  "tasks are: ",
                  foreign));
    }
  }

  Status place() {
    parts_.members = those_that_take_part();
    tell_of_foreign_tasks();
    if (!graph_) {
      MR_ASSIGN(Graph again, import_graph(request_graph_, context_.options.ops, Foreign::taken));
      graph_ = std::move(again);
    }
    auto placed = SessionGraph::create(*std::exchange(graph_, std::nullopt), parts_.membership,
                                       parts_.members, parts_.options, context_.host().log);
    if (!placed.ok())
      return explain_absence(placed.status(), parts_.membership, tasks_of(parts_.members));
    parts_.graph = std::move(placed).value();
    return {};
  }

  CreateWorkerSessionRequest request_for_members() {
    parts_.handle = new_handle(context_.host().random);
    CreateWorkerSessionRequest request;
    request.session_handle = parts_.handle;
    request.master_task = parts_.membership.self.to_string();
    for (const Present& present : present_) {
      if (present.member.task == parts_.membership.self)
        request.master_incarnation = present.devices.front().incarnation;
    }
    request.isolate_session_state = parts_.options.isolate_session_state;
    if (parts_.membership.is_sent) {
      request.cluster = std::make_shared<SentCluster>(parts_.membership.cluster);
      request.isolate_session_state |= !parts_.options.share_state_in_sent_cluster;
    }
    return request;
  }

  void create() {
    for (const Present& there : present_) {
      for (const std::string& left : context_.left_sessions.take(there.member.address))
        delete_worker_sessions(context_, {there}, left, Done<void>([](const Status&) {}));
    }
    CreateWorkerSessionRequest request = request_for_members();
    for (size_t i = 0; i < present_.size(); ++i) {
      request.task = present_[i].member.task;
      present_[i].worker->create_worker_session(
          request, {.cancellation = &cancellation_},
          Done<void>([self = shared_from_this(), i](Status status) { self->created(i, status); }));
    }
  }

  void created(size_t index, const Status& status) {
    const bool has_ended = !parts_.membership.is_sent && !status.ok() &&
                           context_.has_ended(present_[index].member.task);
    happen([&](CreationTracker& tracker) {
      return tracker.on_created(index, status,
                                has_ended ? Roll::Life::has_ended : Roll::Life::goes_on);
    });
  }

  // Tells the members to drop what they may have made, without waiting for longer than the bound.
  void forget() {
    delete_worker_sessions(context_, those_that_take_part(), parts_.handle,
                           Done<void>([self = shared_from_this()](const Status&) {}));
  }

  void end() {
    // The client may drop its cancellation as soon as it is answered.
    early_end_ = {};
    Status outcome;
    {
      MutexLock lock(mutex_);
      outcome = tracker_.outcome();
    }
    if (!outcome.ok()) return done_(std::move(outcome));
    done_(std::make_shared<MasterSession>(context_, std::move(parts_)));
  }

  MasterContext& context_;
  const InFlight::Token token_;
  Done<std::shared_ptr<MasterSession>> done_;  // used once, by the stage that ends it
  // Written by one stage, read by the next.
  Runner* runner_ = nullptr;
  wire::GraphDef request_graph_;
  std::optional<Graph> graph_;  // of the request, until it is placed
  std::vector<Present> present_;
  MasterSession::Parts parts_;
  Cancellation cancellation_;
  EarlyEnd early_end_;

  Mutex mutex_;
  CreationTracker tracker_ MR_GUARDED_BY(mutex_);
};

}  // namespace

void create_session(MasterContext& context, CreateSessionRequest request, const Call& call,
                    Done<std::shared_ptr<MasterSession>> done) {
  std::make_shared<SessionCreation>(context, std::move(done))->start(std::move(request), call);
}

}  // namespace millrace
