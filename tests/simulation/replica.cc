#include "tests/simulation/replica.h"

#include <algorithm>
#include <utility>

#include "millrace/graph/import.h"
#include "millrace/graph/text.h"

namespace millrace::simulation {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// One who waits may wait for another one's loss to be found out, and for its next life, and for a
// further loss meanwhile.
constexpr seconds kGroupPatience{1200};
constexpr seconds kAfterStepLimit{90};

}  // namespace

Replica::Replica(Shared& shared, size_t member)
    : shared_(shared),
      fleet_(shared.fleet),
      world_(fleet_.world()),
      actor_(world_),
      member_(member),
      name_(str_cat("client", member)),
      site_(fleet_.sites()[member]),
      client_(std::make_unique<SimClient>(fleet_, name_, site_)) {}

wire::GraphDef Replica::graph() const {
  const size_t members = fleet_.sites().size();
  const std::string there = str_cat(" @ ", fleet_.full_name(site_), "\n");
  const std::string keys =
      str_cat("group_size=", members,
              ", group_key=1, timeout_seconds=", shared_.plan.timeout_seconds, ".0, ");
  const auto reduce = [&](std::string_view input, int instance, std::string_view op,
                          std::string_view hint) {
    return str_cat("CollectiveReduce(", input, ", ", keys, "instance_key=", instance,
                   ", merge_op=\"", op, "\", final_op=\"Id\", subdiv_offsets={0}, ",
                   "communication_hint=\"", hint, "\")");
  };
  std::string text = str_cat("number = Placeholder(dtype=int64)", there,
                             "addend = Placeholder(dtype=int64)", there);
  str_append(&text, "ring = ", reduce("addend", 1, "Add", "ring"), there);
  str_append(&text, "tree = ", reduce("addend", 2, "Add", "tree"), there);
  str_append(&text, "gather = CollectiveGather(number, ", keys, "instance_key=3, shape=[", members,
             "])", there);
  const bool gives = member_ == shared_.plan.source;
  str_append(&text, "broadcast = ",
             gives ? "CollectiveBcastSend(number, " : "CollectiveBcastRecv(T=int64, ", keys,
             "instance_key=4, shape=[1])", there);
  // The same of everybody, once more: a step that may fail between two collectives.
  str_append(&text, "once = ", reduce("addend", 5, "Add", "auto"), there);
  str_append(&text, "twice = ", reduce("once", 6, "Max", "auto"), there);
  auto graph = parse_graph(text, shared_.ops);
  if (!graph.ok()) shared_.complain(graph.status().to_string());
  return graph.ok() ? export_graph(*graph) : wire::GraphDef();
}

void Replica::soon(void (Replica::*act)()) {
  const milliseconds most = shared_.is_prompt ? milliseconds(50) : seconds(2);
  actor_.at(world_.now() + world_.between(milliseconds(1), most), World::Kind::timer, [this, act] {
    if (!shared_.is_over) (this->*act)();
  });
}

Replica::Ticket Replica::ask(std::string what, milliseconds limit) {
  waiting_ = std::make_shared<Waiting>();
  waiting_->what = str_cat(name_, " ", what);
  waiting_->since = world_.now();
  waiting_->has_limit = limit.count() > 0;
  waiting_->latest =
      world_.now() + (waiting_->has_limit ? limit + kAfterStepLimit : kGroupPatience);
  ++shared_.calls;
  if (fleet_.stage() != nullptr) fleet_.stage()->say(waiting_->what);
  if (world_.chance(0.03)) {
    actor_.at(world_.now() + world_.between(milliseconds(1), seconds(5)), World::Kind::timer,
              [this, weak = std::weak_ptr(waiting_)] {
                const auto ticket = weak.lock();
                if (ticket == nullptr || ticket != waiting_) return;
                ticket->is_given_up = true;
                shared_.last_given_up = world_.now();
                ticket->cancellation.cancel(cancelled("the program has no use for it"));
              });
  }
  return waiting_;
}

bool Replica::answered(const Ticket& ticket, const Status& status) {
  if (ticket == waiting_) waiting_.reset();
  if (fleet_.stage() != nullptr)
    fleet_.stage()->say(str_cat(name_, " <- ", ticket->what, ": ", status.to_string()));
  if (status.ok()) return !shared_.is_over;
  ++shared_.failed;
  // Others hear of it, and some only now.
  if (status.code() == Code::deadline_exceeded || ticket->is_given_up)
    shared_.last_given_up = world_.now();
  if (!ticket->is_given_up) {
    const std::string wrong = shared_.explain(ticket->since, ticket->has_limit, status);
    if (!wrong.empty()) shared_.complain(str_cat(ticket->what, ": ", wrong));
  }
  return !shared_.is_over;
}

void Replica::create() {
  CreateSessionRequest request{graph(), {}, client_->target()};
  request.options.device_filters = {fleet_.full_name(site_)};
  const Ticket ticket = ask("create a session", milliseconds(0));
  client_->master().create_session(
      std::move(request), {.cancellation = &ticket->cancellation},
      Done<CreateSessionReply>([this, ticket](const Result<CreateSessionReply>& reply) {
        if (!answered(ticket, reply.status())) return;
        if (reply.ok()) session_ = reply->session_handle;
        soon(reply.ok() ? &Replica::run : &Replica::create);
      }));
}

void Replica::close() {
  const Ticket ticket = ask("close", milliseconds(0));
  client_->master().close_session({std::exchange(session_, {})}, {},
                                  Done<void>([this, ticket](const Status& status) {
                                    // A session that is lost needs no closing.
                                    if (answered(ticket, status)) soon(&Replica::create);
                                  }));
}

void Replica::run() {
  const int64_t number = shared_.meetings.next(member_);
  constexpr milliseconds kLimits[] = {milliseconds(500), seconds(5), seconds(20)};
  const bool has_limit = !shared_.is_prompt && world_.chance(0.1);
  const milliseconds limit = has_limit ? kLimits[world_.draw(3)] : milliseconds(0);
  const std::vector<Meetings::Kind>& kinds = shared_.plan.kinds;
  RunStepRequest request;
  request.session_handle = session_;
  request.options.timeout = limit;
  request.feeds.push_back({"number:0", Tensor::vector<int64_t>({number})});
  request.feeds.push_back(
      {"addend:0", shared_.meetings.addend(member_, number, shared_.plan.width)});
  for (const auto& [kind, name] : Meetings::kKinds)
    if (std::ranges::find(kinds, kind) != kinds.end())
      request.fetches.push_back(str_cat(name, ":0"));
  const Ticket ticket = ask(str_cat("run ", number), limit);
  client_->master().run_step(
      std::move(request), {.cancellation = &ticket->cancellation},
      Done<RunStepReply>([this, ticket, number](const Result<RunStepReply>& reply) {
        const bool goes_on = answered(ticket, reply.status());
        if (reply.ok()) {
          const std::string wrong =
              shared_.meetings.met(member_, number, shared_.plan.source, shared_.plan.width,
                                   shared_.plan.kinds, reply->tensors);
          if (!wrong.empty()) shared_.complain(wrong);
        }
        if (goes_on) go_on_after(reply.status());
      }));
}

void Replica::go_on_after(const Status& status) {
  // What a session has lost it does not get back.
  const bool is_lost = status.code() == Code::aborted || status.code() == Code::unavailable;
  const bool begins_anew = !status.ok() && (is_lost || world_.chance(0.2));
  soon(begins_anew ? &Replica::close : &Replica::run);
}

void Replica::check_waiting() {
  if (waiting_ != nullptr && world_.now() > waiting_->latest)
    shared_.complain(str_cat(waiting_->what, " at ", site_, " has not been answered"));
}

void Replica::wind_up() {
  if (waiting_ != nullptr) {
    waiting_->is_given_up = true;
    waiting_->cancellation.cancel(cancelled("the program winds up"));
  }
  if (!session_.empty()) close();
}

}  // namespace millrace::simulation
