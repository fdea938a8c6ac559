#include "tests/simulation/program.h"

#include <algorithm>
#include <utility>

#include "millrace/graph/import.h"
#include "millrace/graph/text.h"

namespace millrace::simulation {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// Longer than anything may take that has no limit: the keepalive of a connection that has been cut.
constexpr seconds kPatience{400};
// After its limit a step still waits for its parts, and its answer may be held back for a while.
constexpr seconds kAfterLimit{90};

}  // namespace

wire::GraphDef fuzz_graph(const Fleet& fleet, const OpRegistry& ops) {
  std::string text;
  for (size_t i = 0; i < fleet.sites().size(); ++i) {
    const std::string there = str_cat(" @ ", fleet.full_name(fleet.sites()[i]), "\n");
    const auto node = [&](const auto&... parts) { str_append(&text, parts..., there); };
    node("q", i, " = FIFOQueueV2(component_types={int64}, shapes={[]}, shared_name=\"ids\")");
    node("id", i, " = Placeholder(dtype=int64)");
    node("put", i, " = QueueEnqueueV2(q", i, ", id", i, ", Tcomponents={int64})");
    node("take", i, " = QueueDequeueV2(q", i, ", component_types={int64})");
    node("size", i, " = QueueSizeV2(q", i, ")");
    node("n", i, " = Placeholder(dtype=int32)");
    node("rest", i, " = QueueDequeueManyV2(q", i, ", n", i, ", component_types={int64})");
    node("v", i, " = VariableV2(dtype=int64, shape=[], shared_name=\"v\")");
    node("set", i, " = Assign(v", i, ", id", i, ")");
    node("e", i, " = FIFOQueueV2(component_types={float}, shared_name=\"empty\")");
    node("never", i, " = QueueDequeueV2(e", i, ", component_types={float})");
    if (i == 0) node("f = Placeholder(dtype=float)");
    if (i == 1) node("g = Placeholder(dtype=float)");
    node(chain_node(i), " = Neg(", i == 0 ? "f" : chain_node(i - 1), ")");
    if (i == 1) node("sum = Add(c0, g)");
  }
  auto graph = parse_graph(text, ops);
  return graph.ok() ? export_graph(*graph) : wire::GraphDef();
}

Program::Program(Shared& shared, std::string name, const std::string& site)
    : shared_(shared),
      fleet_(shared.fleet),
      world_(fleet_.world()),
      actor_(world_),
      name_(std::move(name)),
      site_(site),
      client_(std::make_unique<SimClient>(fleet_, name_, site_)) {
  shared_.programs.push_back(this);
}

void Program::later(Clock::Duration delay, Task task) {
  actor_.at(world_.now() + delay, World::Kind::timer, std::move(task));
}

void Program::act_later() {
  later(world_.between(milliseconds(1), seconds(2)), [this] {
    if (is_winding_up_) return;
    act();
    act_later();
  });
}

void Program::act() {
  if (!session_ || session_->is_ended) return create();
  if (session_->handle.empty() || waiting_.size() >= 4) return;
  const uint64_t what = world_.draw(100);
  if (what < 25) return run_chain();
  if (what < 42) return put(1);
  if (what < 49) return put(2);
  if (what < 57) return take();
  if (what < 62) return wait_in_vain();
  if (what < 68) return assign();
  if (what < 76) return read();
  if (what < 83) return call();
  if (what < 91) return run_partially();
  if (what < 93) return extend();
  if (what < 95) return list();
  if (what < 98) return close();
  if (what < 99) return leave();
  if (world_.chance(0.3)) return reset();
}

milliseconds Program::draw_limit() {
  constexpr milliseconds kLimits[] = {milliseconds(200), seconds(1), seconds(5), seconds(20)};
  return kLimits[world_.draw(4)];
}
std::string Program::draw_site() { return fleet_.sites()[world_.draw(fleet_.sites().size())]; }

// ---- Calls --------------------------------------------------------------------------------------

Program::Ticket Program::ticket(std::string what, milliseconds limit) {
  auto made = std::make_shared<Waiting>();
  const bool has_limit = limit.count() > 0;
  made->asked = {.what = str_cat(name_, " ", what),
                 .master = site_,
                 .sites = fleet_.sites(),
                 .session_since = session_ ? session_->since : world_.now(),
                 .since = world_.now(),
                 .has_limit = has_limit || (session_ && session_->has_limit),
                 .is_ended = session_ && session_->is_ended};
  made->latest = world_.now() + (has_limit ? limit + kAfterLimit : kPatience);
  made->cancellation = std::make_shared<Cancellation>();
  waiting_.push_back(made);
  if (session_) session_->calls.push_back(made);
  ++shared_.calls;
  if (fleet_.stage() != nullptr) fleet_.stage()->say(made->asked.what);
  return made;
}

void Program::judge(const Ticket& ticket, const SessionPtr& session, const Status& status) {
  waiting_.remove(ticket);
  if (session) session->calls.remove(ticket);
  if (fleet_.stage() != nullptr)
    fleet_.stage()->say(str_cat(name_, " <- ", ticket->asked.what, ": ", status.to_string()));
  if (session && session->is_ended) ticket->asked.is_ended = true;
  if (status.ok()) return;
  ++shared_.failed;
  if (session) ticket->asked.had_failed_leg |= session->had_failed_leg;
  if (std::string wrong = shared_.oracle.complaint(ticket->asked, status); !wrong.empty())
    shared_.complain(wrong);
}

void Program::may_give_up_session(const SessionPtr& session, const Status& status) {
  const bool is_lost = status.code() == Code::aborted || status.code() == Code::unavailable;
  if (is_lost && session && session == session_ && !session->is_ended && !is_winding_up_ &&
      !session->handle.empty() && world_.chance(0.5))
    close();
}

void Program::may_give_up(const Ticket& ticket) {
  if (!world_.chance(0.05)) return;
  later(world_.between(milliseconds(1), seconds(10)), [weak = std::weak_ptr(ticket)] {
    if (auto ticket = weak.lock()) {
      ticket->asked.is_given_up = true;
      ticket->cancellation->cancel(cancelled("the program has no use for it"));
    }
  });
}

void Program::check_waiting() {
  for (const Ticket& ticket : waiting_) {
    if (world_.now() <= ticket->latest) continue;
    shared_.complain(str_cat(ticket->asked.what, " at ", site_, " has not been answered"));
    return;
  }
}

Program::Ticket Program::run(std::string what, RunStepRequest request, milliseconds limit,
                             std::function<void(const Result<RunStepReply>&)> take) {
  request.session_handle = session_->handle;
  request.options.timeout = limit;
  auto asked = ticket(std::move(what), limit);
  may_give_up(asked);
  const Call call{.cancellation = asked->cancellation.get()};
  client_->master().run_step(std::move(request), call,
                             judged<RunStepReply>(asked, std::move(take)));
  return asked;
}

// ---- Sessions -----------------------------------------------------------------------------------

void Program::create() {
  session_ = std::make_shared<Session>();
  session_->since = world_.now();
  CreateSessionRequest request{shared_.graph, {}, client_->target()};
  if (world_.chance(0.6)) request.options.operation_timeout = seconds(world_.draw(55) + 5);
  session_->has_limit = request.options.operation_timeout.count() > 0;
  auto asked = ticket("create a session", request.options.operation_timeout);
  // Who waits for its master to come up does not judge its silence: that an answer was lost with
  // the connection it finds out by the keepalive only, however late that happened.
  asked->latest = world_.now() + kPatience + Network::kClientKeepalive;
  may_give_up(asked);
  const Call call{.cancellation = asked->cancellation.get()};
  client_->master().create_session(
      std::move(request), call,
      judged<CreateSessionReply>(std::move(asked), [session = session_](const auto& reply) {
        if (reply.ok()) {
          session->handle = reply->session_handle;
        } else {
          session->is_ended = true;
        }
      }));
}

void Program::end_session(const SessionPtr& session) {
  if (!session) return;
  session->is_ended = true;
  for (const Ticket& ticket : session->calls) ticket->asked.is_ended = true;
}

void Program::close() {
  const SessionPtr session = session_;
  end_session(session);
  auto asked = ticket("close", milliseconds(0));
  client_->master().close_session({session->handle}, {}, judged<void>(std::move(asked)));
}

void Program::reset() {
  for (Program* other : shared_.programs) end_session(other->session_);
  shared_.oracle.may_lose_all(world_.now() + kPatience);
  auto asked = ticket("reset", seconds(30));
  const Call call{.cancellation = asked->cancellation.get(),
                  .deadline = world_.now() + seconds(30)};
  client_->master().reset({}, call, judged<void>(std::move(asked)));
}

void Program::extend() {
  // An answer that is lost leaves the version open, so nobody extends again.
  if (std::exchange(session_->is_extending, true)) return;
  ExtendSessionRequest request{session_->handle, {}, session_->version};
  request.graph.nodes.push_back({.name = str_cat("more", session_->extensions++), .op = "NoOp"});
  auto asked = ticket("extend", milliseconds(0));
  client_->master().extend_session(
      std::move(request), {},
      judged<ExtendSessionReply>(std::move(asked), [session = session_](const auto& reply) {
        if (!reply.ok()) return;
        session->version = reply->new_graph_version;
        session->is_extending = false;
      }));
}

void Program::list() {
  auto asked = ticket("list devices", seconds(60));
  const Call call{.deadline = world_.now() + seconds(60)};
  client_->master().list_devices({}, call, judged<ListDevicesReply>(std::move(asked)));
}

void Program::leave() {
  for (const Ticket& ticket : waiting_) ticket->asked.is_given_up = true;
  end_session(session_);
  client_->end();
  client_ = std::make_unique<SimClient>(fleet_, name_, site_);
}

void Program::wind_up() {
  is_winding_up_ = true;
  for (const Ticket& ticket : waiting_) {
    ticket->asked.is_given_up = true;
    ticket->cancellation->cancel(cancelled("the program winds up"));
  }
  if (session_ && !session_->is_ended && !session_->handle.empty()) close();
}

}  // namespace millrace::simulation
