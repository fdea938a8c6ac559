#include "millrace/master/session_creation.h"

#include <cinttypes>
#include <cstdio>
#include <utility>

#include "millrace/base/first_cause.h"
#include "millrace/graph/import.h"
#include "millrace/graph/validate.h"
#include "millrace/master/early_end.h"
#include "millrace/master/gather.h"

namespace millrace {

namespace {

std::string new_handle(Random& random) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, random.next());
  return text;
}

class SessionCreation : public std::enable_shared_from_this<SessionCreation> {
 public:
  SessionCreation(MasterContext& context, Done<std::shared_ptr<MasterSession>> done)
      : context_(context), token_(context.in_flight.enter()), done_(std::move(done)) {}

  void start(CreateSessionRequest request, const Call& call) {
    Status fault = read(std::move(request));
    if (!fault.ok()) {
      end(std::move(fault));
      return;
    }
    runner_ = call.runner != nullptr ? call.runner : &context_.host().pool;
    Call limited = call;
    if (call.deadline) limited.deadline = EarlyEnd::in_time_for(*call.deadline, context_.now());
    limited.deadline =
        EarlyEnd::deadline(limited, parts_.options.operation_timeout, context_.now());
    early_end_ = EarlyEnd::or_stopping(context_, limited, "the session to be created",
                                       [weak = weak_from_this()](const Status& why) {
                                         if (auto self = weak.lock())
                                           self->cancellation_.cancel(why);
                                       });
    call_the_roll(context_, parts_.membership, "CreateSession", {.cancellation = &cancellation_},
                  Done<std::vector<Present>>([self = shared_from_this()](auto present) {
                    // Planning takes a while: not on the thread that answers happen to come on.
                    self->runner_->post([self, present = std::move(present)]() mutable {
                      self->all_present(std::move(present));
                    });
                  }));
  }

 private:
  Status read(CreateSessionRequest request) {
    parts_.options = merge_options(context_.options.defaults, std::move(request.options));
    MR_TRY(check_options(parts_.options));
    MR_ASSIGN(parts_.membership,
              resolve_membership(context_.options.cluster, context_.options.own_task,
                                 parts_.options, request.target));
    request_graph_ = std::move(request.graph);
    MR_ASSIGN(graph_, import_graph(request_graph_, context_.options.ops));
    return validate(graph_);
  }

  void all_present(Result<std::vector<Present>> present) {
    if (!present.ok()) {
      end(present.status());
      return;
    }
    parts_.members = std::move(present).value();
    if (Status placed = place(std::move(graph_)); !placed.ok()) return end(std::move(placed));
    parts_.handle = new_handle(context_.host().random);
    create_worker_sessions();
  }

  Status place(Graph graph) {
    auto placed = SessionGraph::create(std::move(graph), parts_.membership, parts_.members,
                                       parts_.options, context_.host().log);
    if (!placed.ok())
      return explain_absence(placed.status(), parts_.membership, tasks_of(parts_.members));
    parts_.graph = std::move(placed).value();
    return {};
  }

  void create_worker_sessions() {
    auto answers = gather<void>(
        parts_.members.size(),
        [self = shared_from_this()](std::vector<Status> answers) { self->all_created(answers); });
    CreateWorkerSessionRequest request;
    request.session_handle = parts_.handle;
    request.master_task = parts_.membership.self.to_string();
    for (const Present& present : parts_.members) {
      if (present.member.task == parts_.membership.self)
        request.master_incarnation = present.devices.front().incarnation;
    }
    request.isolate_session_state = parts_.options.isolate_session_state;
    if (parts_.membership.is_sent) {
      request.cluster = parts_.membership.cluster;
      request.isolate_session_state |= !parts_.options.share_state_in_sent_cluster;
    }
    // The last answer moves parts_ away, perhaps before the last call returns.
    const std::vector<Present> members = parts_.members;
    for (size_t i = 0; i < members.size(); ++i) {
      request.task = members[i].member.task;
      members[i].worker->create_worker_session(request, {.cancellation = &cancellation_},
                                               std::move(answers[i]));
    }
  }

  void all_created(const std::vector<Status>& answers) {
    std::vector<Status> named;
    for (size_t i = 0; i < answers.size(); ++i) {
      const Member& member = parts_.members[i].member;
      named.push_back(answers[i].with(
          str_cat("creating the session at ", member.task.to_string(), " (", member.address, ")")));
    }
    Status goes_on = drop_ended(named);
    // The client's own reason, not what a cancelled call says of it.
    Status status = cancellation_.cancelled() ? cancellation_.reason() : first_cause(named);
    if (status.ok()) status = std::move(goes_on);
    if (status.ok()) {
      end(std::make_shared<MasterSession>(context_, std::move(parts_)));
    } else {
      forget(std::move(status));
    }
  }

  // Members that were there a moment ago and have ended well since take no part: their errors are
  // taken back, and the graph is placed on those that are left.
  Status drop_ended(std::vector<Status>& answers) {
    if (parts_.membership.is_sent) return {};
    std::vector<Present> left;
    for (size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i].ok() && context_.has_ended(parts_.members[i].member.task)) {
        answers[i] = {};
      } else {
        left.push_back(parts_.members[i]);
      }
    }
    if (left.size() == parts_.members.size()) return {};
    parts_.members = std::move(left);
    MR_ASSIGN(Graph graph, import_graph(request_graph_, context_.options.ops));
    return place(std::move(graph));
  }

  // Tells the members to drop what they may have made, without waiting for longer than the bound.
  void forget(Status why) {
    const Call call = context_.cleanup_call();
    auto answers = gather<void>(parts_.members.size(),
                                [self = shared_from_this(), why](std::vector<Status>) {});
    for (size_t i = 0; i < parts_.members.size(); ++i) {
      parts_.members[i].worker->delete_worker_session({parts_.handle}, call, std::move(answers[i]));
    }
    end(std::move(why));
  }

  void end(Result<std::shared_ptr<MasterSession>> result) {
    // The client may drop its cancellation as soon as it is answered.
    early_end_ = {};
    done_(std::move(result));
  }

  MasterContext& context_;
  const InFlight::Token token_;
  Done<std::shared_ptr<MasterSession>> done_;  // used once, by the stage that ends it
  // Written by one stage, read by the next.
  Runner* runner_ = nullptr;
  wire::GraphDef request_graph_;
  Graph graph_{context_.options.ops};
  MasterSession::Parts parts_;
  Cancellation cancellation_;
  EarlyEnd early_end_;
};

}  // namespace

void create_session(MasterContext& context, CreateSessionRequest request, const Call& call,
                    Done<std::shared_ptr<MasterSession>> done) {
  std::make_shared<SessionCreation>(context, std::move(done))->start(std::move(request), call);
}

}  // namespace millrace
