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

std::string chain_node(size_t i) { return str_cat("c", i); }

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
  if (what < 35) return run_chain();
  if (what < 55) return put(1);
  if (what < 62) return put(2);
  if (what < 70) return take();
  if (what < 76) return wait_in_vain();
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

template <class Reply>
Done<Reply> Program::judged(Ticket ticket, std::function<void(const Outcome<Reply>&)> take) {
  return Done<Reply>(
      [this, ticket, session = session_, take = std::move(take)](const Outcome<Reply>& outcome) {
        waiting_.remove(ticket);
        if (session) session->calls.remove(ticket);
        const Status& status = [&]() -> const Status& {
          if constexpr (std::is_void_v<Reply>) {
            return outcome;
          } else {
            return outcome.status();
          }
        }();
        if (fleet_.stage() != nullptr)
          fleet_.stage()->say(str_cat(name_, " <- ", ticket->asked.what, ": ", status.to_string()));
        if (session && session->is_ended) ticket->asked.is_ended = true;
        if (!status.ok()) {
          ++shared_.failed;
          if (session) ticket->asked.had_failed_leg |= session->had_failed_leg;
          if (std::string wrong = shared_.oracle.complaint(ticket->asked, status); !wrong.empty())
            shared_.complain(wrong);
        }
        if (take) take(outcome);
        // A session that has lost something is given up, sooner or later.
        const bool is_lost = status.code() == Code::aborted || status.code() == Code::unavailable;
        if (is_lost && session && session == session_ && !session->is_ended && !is_winding_up_ &&
            !session->handle.empty() && world_.chance(0.5))
          close();
      });
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

void Program::run(std::string what, RunStepRequest request, milliseconds limit,
                  std::function<void(const Result<RunStepReply>&)> take) {
  request.session_handle = session_->handle;
  request.options.timeout = limit;
  auto asked = ticket(std::move(what), limit);
  may_give_up(asked);
  const Call call{.cancellation = asked->cancellation.get()};
  client_->master().run_step(std::move(request), call,
                             judged<RunStepReply>(std::move(asked), std::move(take)));
}

// ---- Sessions -----------------------------------------------------------------------------------

void Program::create() {
  session_ = std::make_shared<Session>();
  session_->since = world_.now();
  CreateSessionRequest request{shared_.graph, {}, client_->target()};
  if (world_.chance(0.6)) request.options.operation_timeout = seconds(world_.draw(55) + 5);
  session_->has_limit = request.options.operation_timeout.count() > 0;
  auto asked = ticket("create a session", request.options.operation_timeout);
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

// ---- Steps --------------------------------------------------------------------------------------

void Program::run_chain() {
  const size_t last = world_.draw(fleet_.sites().size());
  const auto value = static_cast<float>(world_.draw(1000) + 1);
  RunStepRequest request;
  request.feeds.push_back({"f:0", Tensor::scalar(value)});
  request.fetches.push_back(str_cat(chain_node(last), ":0"));
  const std::string what = str_cat("run ", chain_node(last));
  run(what, std::move(request), world_.chance(0.5) ? draw_limit() : milliseconds(0),
      [this, what, expected = last % 2 == 0 ? -value : value](const auto& reply) {
        if (!reply.ok()) return;
        if (reply->tensors.size() != 1 || reply->tensors[0] != Tensor::scalar(expected))
          shared_.complain(str_cat(name_, " ", what, " brought something else"));
      });
}

void Program::put(size_t queues) {
  RunStepRequest request;
  std::vector<std::pair<std::string, uint64_t>> where;
  const int64_t id = ++shared_.last_id;
  std::string what = str_cat("put ", id);
  for (size_t i = 0; i < queues; ++i) {
    const size_t site = world_.draw(fleet_.sites().size());
    const std::string& name = fleet_.sites()[site];
    const std::string target = str_cat("put", site);
    if (std::ranges::find(request.targets, target) != request.targets.end()) continue;
    str_append(&what, " at ", name);
    request.feeds.push_back({str_cat("id", site, ":0"), Tensor::scalar(id)});
    request.targets.push_back(target);
    where.emplace_back(name, shared_.oracle.life(name));
    shared_.oracle.sends(name, id);
  }
  const Clock::Time sent = world_.now();
  run(what, std::move(request), world_.chance(0.5) ? draw_limit() : milliseconds(0),
      [this, id, where, sent](const auto& reply) {
        if (!reply.ok()) return;
        for (const auto& [site, life] : where) shared_.oracle.keeps(site, id, life, sent);
      });
}

void Program::take() {
  const size_t site = world_.draw(fleet_.sites().size());
  const std::string name = fleet_.sites()[site];
  RunStepRequest request;
  request.fetches.push_back(str_cat("take", site, ":0"));
  run(str_cat("take from ", name), std::move(request), draw_limit(),
      [this, name](const Result<RunStepReply>& reply) {
        if (!reply.ok()) return shared_.oracle.may_take(name);
        const std::string wrong =
            shared_.oracle.takes(name, reply->tensors[0].template item<int64_t>());
        if (!wrong.empty()) shared_.complain(wrong);
      });
}

void Program::wait_in_vain() {
  const size_t site = world_.draw(fleet_.sites().size());
  RunStepRequest request;
  request.fetches.push_back(str_cat("never", site, ":0"));
  run(str_cat("wait in vain at ", fleet_.sites()[site]), std::move(request), draw_limit(),
      [this](const Result<RunStepReply>& reply) {
        if (reply.ok()) shared_.complain(str_cat(name_, " got what nobody put anywhere"));
      });
}

void Program::call() {
  const SessionPtr session = session_;
  if (session->callable == 0) {
    auto asked = ticket("make a callable", milliseconds(0));
    MakeCallableRequest request{session->handle, {"f:0"}, {"c1:0"}, {}, {}};
    return client_->master().make_callable(
        std::move(request), {},
        judged<MakeCallableReply>(std::move(asked), [session](const auto& reply) {
          if (reply.ok()) session->callable = reply->handle;
        }));
  }
  // A call that is under way may be overtaken.
  if (waiting_.empty() && world_.chance(0.1)) {
    auto asked = ticket("release a callable", milliseconds(0));
    return client_->master().release_callable(
        {session->handle, std::exchange(session->callable, 0)}, {}, judged<void>(std::move(asked)));
  }
  auto asked = ticket("call", milliseconds(0));
  const auto value = static_cast<float>(world_.draw(1000));
  RunCallableRequest request{session->handle, session->callable, {Tensor::scalar(value)}};
  client_->master().run_callable(
      std::move(request), {},
      judged<RunCallableReply>(std::move(asked), [this, value](const auto& reply) {
        if (reply.ok() &&
            (reply->tensors.size() != 1 || reply->tensors[0] != Tensor::scalar(value)))
          shared_.complain(str_cat(name_, " called, and got something else"));
      }));
}

void Program::run_partially() {
  const SessionPtr session = session_;
  if (session->partial_run.empty()) {
    session->had_failed_leg = false;
    auto asked = ticket("set up a partial run", milliseconds(0));
    PartialRunSetupRequest request{session->handle, {"f:0", "g:0"}, {"c0:0", "sum:0"}, {}};
    return client_->master().partial_run_setup(
        std::move(request), {},
        judged<PartialRunSetupReply>(std::move(asked), [session](const auto& reply) {
          if (!reply.ok()) return;
          session->partial_run = reply->partial_run_handle;
          session->partial_legs = 0;
        }));
  }
  if (std::exchange(session->has_open_leg, true)) return;
  RunStepRequest request;
  request.partial_run_handle = session->partial_run;
  const bool is_last = session->partial_legs++ > 0;
  request.feeds.push_back({is_last ? "g:0" : "f:0", Tensor::scalar(1.0F)});
  request.fetches.push_back(is_last ? "sum:0" : "c0:0");
  if (is_last) session->partial_run.clear();
  run(is_last ? "run the last leg" : "run a leg", std::move(request),
      world_.chance(0.5) ? draw_limit() : milliseconds(0),
      [this, session, is_last](const Result<RunStepReply>& reply) {
        session->has_open_leg = false;
        if (!reply.ok()) {
          session->had_failed_leg = true;
          session->partial_run.clear();
        } else if (reply->tensors[0] != Tensor::scalar(is_last ? 0.0F : -1.0F)) {
          shared_.complain(str_cat(name_, " got something else from a leg"));
        }
      });
}

}  // namespace millrace::simulation
