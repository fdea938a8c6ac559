#include "millrace/session/session.h"

#include <utility>

#include "millrace/graph/import.h"
#include "millrace/session/retried_master.h"
#include "millrace/session/server.h"
#include "millrace/session/session_state.h"
#include "millrace/session/targets.h"
#include "millrace/session/wait_for.h"

namespace millrace {

namespace {

// How long a session that is dropped waits for its master to agree.
constexpr std::chrono::seconds kClosePatience{10};

// "node" -> "node:0", which is what masters expect.
std::string tensor_name(std::string name) {
  if (name.find(':') == std::string::npos) name += ":0";
  return name;
}

std::vector<std::string> tensor_names(std::vector<std::string> names) {
  for (std::string& name : names) name = tensor_name(std::move(name));
  return names;
}

Status check_retries(const std::optional<RetryTerms>& retry) {
  if (!retry || (retry->times >= 0 && retry->times <= kMostRetries)) return {};
  return invalid("a step may be made again ", retry->times, " times; give 0 to ", kMostRetries);
}

Status check_retries_of_run(const SessionState& state, const RunArgs& args) {
  MR_TRY(check_retries(args.retry));
  if (!args.retry || args.retry->times == 0 || state.retried != nullptr ||
      is_this_process(state.target)) {
    return {};
  }
  return invalid("a run is to be made again ", args.retry->times,
                 " times in a session that makes none again; create the session with retries");
}

Result<std::vector<Tensor>> run_step(SessionState& state, RunStepRequest request, RunArgs& args) {
  MR_TRY(check_retries_of_run(state, args));
  const auto deadline = state.deadline(args.timeout);
  MR_ASSIGN(request.session_handle, state.synchronise(args.cancellation, deadline));
  for (NamedTensor& feed : request.feeds) feed.name = tensor_name(std::move(feed.name));
  request.fetches = tensor_names(std::move(request.fetches));
  request.options = {args.trace, args.timeout, args.output_partition_graphs};
  WaitFor<RunStepReply> wait(state.clock(), state.interrupt.get());
  const Call call = wait.call(args.cancellation, SessionState::backstop(deadline));
  if (args.retry && state.retried != nullptr) {
    state.retried->run_step_within(*args.retry, std::move(request), call, wait.done());
  } else {
    state.master->run_step(std::move(request), call, wait.done());
  }
  MR_ASSIGN(RunStepReply reply, wait.get());
  if (args.metadata != nullptr) *args.metadata = std::move(reply.metadata);
  return std::move(reply.tensors);
}

}  // namespace

Session::Session(std::shared_ptr<SessionState> state) : state_(std::move(state)) {}

Session::~Session() {
  if (Status status = close(); !status.ok()) {
    // Nobody to tell, and nothing to do: the master drops the session with its process.
  }
}

Result<std::unique_ptr<Session>> Session::create(const SessionTarget& target,
                                                 SessionOptions options,
                                                 std::shared_ptr<Runtime> runtime,
                                                 std::shared_ptr<Interrupt> interrupt,
                                                 std::optional<RetryTerms> retry) {
  MR_TRY(check_retries(retry));
  auto state = std::make_shared<SessionState>();
  MR_ASSIGN(Dialled dialled, dial(target, std::move(runtime), options.cpu_devices));
  state->runtime = std::move(dialled.runtime);
  state->master = std::move(dialled.master);
  state->target = std::move(dialled.target);
  state->options = std::move(options);
  state->interrupt = std::move(interrupt);
  const RetryTerms terms = retry.value_or(state->runtime->retry());
  const bool has_connections = target.server() != nullptr || !is_this_process(target.text());
  if (terms.times > 0 && has_connections) {
    auto retried = std::make_shared<RetriedMaster>(std::move(state->master), state->runtime->ops(),
                                                   state->runtime->host(), terms);
    state->retried = retried.get();
    state->master = std::move(retried);
  }
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

const std::shared_ptr<Runtime>& Session::runtime() const { return state_->runtime; }

Status Session::extend(const GraphBuilder& builder) {
  MR_TRY(builder.status());
  const Graph& graph = builder.graph();
  MutexLock lock(state_->mutex);
  if (state_->is_closed) return failed_precondition("Session is closed.");
  if (state_->source != nullptr && state_->source != &graph)
    return invalid("a session takes its nodes from one builder; use a session for each");
  state_->source = &graph;
  if (state_->num_taken == graph.size()) return {};
  wire::GraphDef added = export_graph(graph, {.first = static_cast<NodeId>(state_->num_taken)});
  state_->num_taken = graph.size();
  state_->unsent.versions = added.versions;
  std::move(added.nodes.begin(), added.nodes.end(), std::back_inserter(state_->unsent.nodes));
  state_->has_unsent = true;
  return {};
}

Status Session::extend(wire::GraphDef graph) {
  MutexLock lock(state_->mutex);
  if (state_->is_closed) return failed_precondition("Session is closed.");
  state_->unsent.versions = graph.versions;
  std::move(graph.nodes.begin(), graph.nodes.end(), std::back_inserter(state_->unsent.nodes));
  // The library comes whole each time.
  state_->unsent.functions = std::move(graph.functions);
  state_->has_unsent = true;
  return {};
}

Result<std::vector<Tensor>> Session::run(Feeds feeds, std::vector<std::string> fetches,
                                         RunArgs args) {
  RunStepRequest request;
  request.feeds = std::move(feeds);
  request.fetches = std::move(fetches);
  request.targets = std::move(args.targets);
  return run_step(*state_, std::move(request), args);
}

Result<std::string> Session::partial_run_setup(std::vector<std::string> feeds,
                                               std::vector<std::string> fetches, RunArgs args) {
  const auto deadline = state_->deadline(args.timeout);
  MR_ASSIGN(std::string handle, state_->synchronise(args.cancellation, deadline));
  WaitFor<PartialRunSetupReply> wait(state_->clock(), state_->interrupt.get());
  state_->master->partial_run_setup({std::move(handle), tensor_names(std::move(feeds)),
                                     tensor_names(std::move(fetches)), std::move(args.targets)},
                                    wait.call(args.cancellation, deadline), wait.done());
  MR_ASSIGN(PartialRunSetupReply reply, wait.get());
  return std::move(reply.partial_run_handle);
}

Result<std::vector<Tensor>> Session::partial_run(const std::string& handle, Feeds feeds,
                                                 std::vector<std::string> fetches, RunArgs args) {
  if (handle.empty()) return invalid("partial_run without the handle of partial_run_setup");
  RunStepRequest request;
  request.partial_run_handle = handle;
  request.feeds = std::move(feeds);
  request.fetches = std::move(fetches);
  return run_step(*state_, std::move(request), args);
}

Result<Callable> Session::make_callable(std::vector<std::string> feeds,
                                        std::vector<std::string> fetches, RunArgs args) {
  const auto deadline = state_->deadline(args.timeout);
  MR_ASSIGN(std::string handle, state_->synchronise(args.cancellation, deadline));
  MakeCallableRequest request{handle,
                              tensor_names(std::move(feeds)),
                              tensor_names(std::move(fetches)),
                              std::move(args.targets),
                              {args.trace, args.timeout, args.output_partition_graphs}};
  WaitFor<MakeCallableReply> wait(state_->clock(), state_->interrupt.get());
  state_->master->make_callable(std::move(request), wait.call(args.cancellation, deadline),
                                wait.done());
  MR_ASSIGN(MakeCallableReply reply, wait.get());
  return Callable(state_, std::move(handle), std::move(reply), args.timeout);
}

Result<std::vector<DeviceAttributes>> Session::list_devices() {
  const auto deadline = state_->deadline({});
  MR_ASSIGN(std::string handle, state_->synchronise(nullptr, deadline));
  WaitFor<ListDevicesReply> wait(state_->clock(), state_->interrupt.get());
  state_->master->list_devices({std::move(handle)}, wait.call(nullptr, deadline), wait.done());
  MR_ASSIGN(ListDevicesReply reply, wait.get());
  std::move(reply.remote.begin(), reply.remote.end(), std::back_inserter(reply.local));
  return std::move(reply.local);
}

Status Session::close() {
  state_->closing.cancel(cancelled("Session is closed."));
  std::string handle;
  {
    MutexLock lock(state_->mutex);
    state_->is_closed = true;
    while (state_->is_busy) state_->changed.wait(state_->mutex);
    handle.swap(state_->handle);
    state_->changed.notify_all();
  }
  if (handle.empty()) return {};
  WaitFor<void> wait(state_->clock());
  state_->master->close_session(
      {std::move(handle)}, wait.call(nullptr, state_->clock().now() + kClosePatience), wait.done());
  return wait.get();
}

Status Session::reset(const SessionTarget& target, std::vector<std::string> containers) {
  MR_ASSIGN(const Dialled dialled, dial(target, nullptr));
  WaitFor<void> wait(dialled.runtime->host().clock);
  dialled.master->reset({std::move(containers), {}}, wait.call(), wait.done());
  return wait.get();
}

// ---- Callable --------------------------------------------------------------------------------

Callable::Callable(std::shared_ptr<SessionState> state, std::string session_handle,
                   MakeCallableReply made, std::chrono::milliseconds timeout)
    : state_(std::move(state)),
      session_handle_(std::move(session_handle)),
      made_(std::move(made)),
      timeout_(timeout) {}

Callable& Callable::operator=(Callable&& other) noexcept {
  if (this == &other) return *this;
  release();
  state_ = std::move(other.state_);
  session_handle_ = std::move(other.session_handle_);
  made_ = std::move(other.made_);
  timeout_ = other.timeout_;
  return *this;
}

Callable::~Callable() { release(); }

Result<std::vector<Tensor>> Callable::operator()(std::span<const Tensor> feeds) const {
  return (*this)(std::vector<Tensor>(feeds.begin(), feeds.end()));
}

Result<std::vector<Tensor>> Callable::operator()(std::vector<Tensor>&& feeds) const {
  WaitFor<RunCallableReply> wait(state_->clock(), state_->interrupt.get());
  call(std::move(feeds), wait.call(nullptr, state_->deadline(timeout_)), wait.done());
  Result<RunCallableReply> reply = wait.get();
  if (!reply.ok()) return reply.status();
  return std::move(reply->tensors);
}

void Callable::start(std::vector<Tensor> feeds, Done<std::vector<Tensor>> done) const {
  call(std::move(feeds), {.deadline = state_->deadline(timeout_)},
       Done<RunCallableReply>([done = std::move(done)](Result<RunCallableReply> reply) mutable {
         if (!reply.ok()) return done(std::move(reply).status());
         done(std::move(reply->tensors));
       }));
}

void Callable::call(std::vector<Tensor> feeds, const Call& call,
                    Done<RunCallableReply> done) const {
  if (made_.callable != nullptr) {
    made_.callable->run(std::move(feeds), call, std::move(done));
  } else {
    state_->master->run_callable({session_handle_, made_.handle, std::move(feeds)}, call,
                                 std::move(done));
  }
}

void Callable::release() {
  const std::shared_ptr<SessionState> state = std::move(state_);
  if (!state) return;
  // Nobody waits: a session that is closed has dropped it anyway. The answer must not keep the
  // state either: the last one to let go of a Runtime would be a thread of its own, which can't end
  // it. A Runtime that ends waits for the answer, at most until the deadline.
  state->master->release_callable({session_handle_, made_.handle},
                                  {.deadline = state->clock().now() + kClosePatience},
                                  Done<void>([](Status) {}));
}

}  // namespace millrace
