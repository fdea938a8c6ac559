#include "millrace/session/session_state.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "millrace/session/wait_for.h"

namespace millrace {

namespace {

// Tells in the log why it takes so long to create a session: asks the master for something that it
// refuses at once when it is there.
class Probe {
 public:
  explicit Probe(SessionState& state) : state_(state) {}
  ~Probe() { *is_over_ = true; }
  void send() {
    state_.master->list_devices(
        {"no session, only: are you there?"},
        {.deadline = state_.clock().now() + std::chrono::seconds(9)},
        Done<ListDevicesReply>([is_over = is_over_, target = state_.target,
                                &log = state_.runtime->host().log](const auto& reply) {
          if (*is_over) return;
          const Code code = reply.status().code();
          const bool is_down = code == Code::unavailable || code == Code::deadline_exceeded;
          log.info("still waiting for the session at ", target, ": ",
                   is_down ? reply.status().to_string()
                           : "the master is up; if it waits for tasks of its cluster, its "
                             "log names them");
        }));
  }

 private:
  SessionState& state_;
  const std::shared_ptr<std::atomic<bool>> is_over_ = std::make_shared<std::atomic<bool>>(false);
};

Result<CreateSessionReply> create(SessionState& state, wire::GraphDef graph,
                                  Cancellation& cancellation, std::optional<Clock::Time> deadline) {
  WaitFor<CreateSessionReply> wait(state.clock(), state.interrupt.get());
  // The master knows the session's timeout, not that of the run that needs the session first.
  constexpr std::chrono::milliseconds kSinceAsked{100};
  const auto own = state.deadline({});
  const bool master_knows = own && deadline && *own <= *deadline + kSinceAsked;
  Call call = wait.call(&cancellation, master_knows ? state.backstop(deadline) : deadline);
  call.waiting = false;
  state.master->create_session({std::move(graph), state.options, state.target}, call, wait.done());
  Probe probe(state);
  return wait.get([&] { probe.send(); });
}

Result<ExtendSessionReply> extend(SessionState& state, ExtendSessionRequest request,
                                  Cancellation& cancellation, std::optional<Clock::Time> deadline) {
  WaitFor<ExtendSessionReply> wait(state.clock(), state.interrupt.get());
  state.master->extend_session(std::move(request), wait.call(&cancellation, deadline), wait.done());
  return wait.get();
}

}  // namespace

std::optional<Clock::Time> SessionState::deadline(std::chrono::milliseconds timeout) const {
  if (timeout.count() <= 0) timeout = options.operation_timeout;
  if (timeout.count() <= 0) return std::nullopt;
  return clock().now() + timeout;
}

std::optional<Clock::Time> SessionState::backstop(std::optional<Clock::Time> deadline) {
  if (deadline) *deadline += std::chrono::seconds(1);
  return deadline;
}

Status SessionState::wait_turn(std::optional<Clock::Time> until) {
  constexpr std::chrono::milliseconds kAskEvery{100};
  const bool asks = interrupt != nullptr && is_busy && interrupt->applies();
  while (is_busy && !is_closed) {
    const Clock::Time now = clock().now();
    if (until && now >= *until) {
      return Status(Code::deadline_exceeded,
                    "Timed out waiting for another thread to create or extend the session");
    }
    if (!until && !asks) {
      changed.wait(mutex);
      continue;
    }
    Clock::Time next = until.value_or(now + kAskEvery);
    if (asks) next = std::min(next, now + kAskEvery);
    if (changed.wait_until(mutex, next) || !asks) continue;
    // Whoever is asked may take its time, and may want to use the session.
    mutex.unlock();
    Status status = interrupt->ask();
    mutex.lock();
    MR_TRY(status);
  }
  return is_closed ? failed_precondition("Session is closed.") : Status();
}

Result<std::string> SessionState::synchronise(Cancellation* cancellation,
                                              std::optional<Clock::Time> deadline) {
  ExtendSessionRequest request;
  {
    MutexLock lock(mutex);
    MR_TRY(wait_turn(deadline));
    if (!handle.empty() && !has_unsent) return handle;
    is_busy = true;
    // A copy: if this fails, the next call tries again.
    request = {handle, unsent, graph_version};
  }
  // Ended by the caller's cancellation and by closing the session, whichever comes first.
  Cancellation either;
  const auto stop = [&either](const Status& why) { either.cancel(why); };
  const auto by_closing = closing.on_cancel(stop);
  Cancellation::Registration by_caller;
  if (cancellation != nullptr) by_caller = cancellation->on_cancel(stop);

  Status status;
  std::string made = request.session_handle;
  int64_t version = 0;
  const size_t num_nodes = request.graph.nodes.size();
  if (made.empty()) {
    auto reply = create(*this, std::move(request.graph), either, deadline);
    status = reply.status();
    if (reply.ok())
      std::tie(made, version) = std::pair(reply->session_handle, reply->graph_version);
  } else {
    auto reply = millrace::extend(*this, std::move(request), either, deadline);
    status = reply.status();
    if (reply.ok()) version = reply->new_graph_version;
  }

  MutexLock lock(mutex);
  is_busy = false;
  changed.notify_all();
  MR_TRY(status);
  handle = made;
  graph_version = version;
  // What was added meanwhile stays for the next time.
  unsent.nodes.erase(unsent.nodes.begin(),
                     unsent.nodes.begin() + static_cast<ptrdiff_t>(num_nodes));
  has_unsent = !unsent.nodes.empty();
  return made;
}

}  // namespace millrace
