// Session: a graph, a target, run().
//
//   MR_ASSIGN(auto session, Session::create(server->target()));
//   MR_TRY(session->extend(builder));
//   MR_ASSIGN(auto values, session->run({{x.name(), Tensor::scalar(2.0f)}}, {y.name()}));
//
// A session is what a client holds of a master: one in another process ("grpc://host:port"), one in
// this process (a Server), or, with target "", a master and a worker of its own, a cluster of one
// without a port. The session at the master is created by the first call that needs it, and what
// has been given to extend() is sent then and before each later step; so errors in a graph may show
// up there. If creating fails, the next call tries again.
//
// Any thread may call; any number of runs may go on at the same time. A run blocks its thread, and
// the step runs on that thread unless there is work to share.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/api/scope.h"
#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/cluster/messages.h"
#include "millrace/session/interrupt.h"
#include "millrace/session/retry_terms.h"
#include "millrace/session/runtime.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

struct Call;  // cluster/services.h
class Server;
struct SessionState;  // session_state.h

// Which master a session talks to.
class SessionTarget {
 public:
  // NOLINTBEGIN(google-explicit-constructor): targets are written as they are.
  // "" or "grpc://host:port".
  SessionTarget(std::string text) : text_(std::move(text)) {}
  SessionTarget(const char* text) : text_(text) {}
  // The server's own master, by pointer. The server outlives the session.
  SessionTarget(Server& server) : server_(&server) {}
  // NOLINTEND(google-explicit-constructor)

  const std::string& text() const { return text_; }
  Server* server() const { return server_; }

 private:
  std::string text_;
  Server* server_ = nullptr;
};

struct RunArgs {
  std::vector<std::string> targets = {};  // nodes to run for their effect
  std::chrono::milliseconds timeout{0};   // 0: the session's operation_timeout
  Trace trace = Trace::off;
  bool output_partition_graphs = false;
  RunMetadata* metadata = nullptr;       // gets what was traced
  Cancellation* cancellation = nullptr;  // ends the run early
  // In a session that makes steps again: other terms for this one. Left out: the session's.
  std::optional<RetryTerms> retry = std::nullopt;
};

// Runs one step again and again, with all looking up done once. Outlives its session safely: calls
// then fail. Any thread, any number of calls at a time.
class Callable {
 public:
  Callable(Callable&&) noexcept = default;
  Callable& operator=(Callable&&) noexcept;
  ~Callable();

  // Values for the feeds, in the order given to make_callable; returns those of the fetches.
  Result<std::vector<Tensor>> operator()(std::span<const Tensor> feeds = {}) const;
  // The same with values that are given away: the step may write its own into the memory of those
  // that nobody else has.
  Result<std::vector<Tensor>> operator()(std::vector<Tensor>&& feeds) const;
  Result<std::vector<Tensor>> operator()(std::initializer_list<Tensor> feeds) const {
    return (*this)(std::span<const Tensor>(feeds.begin(), feeds.size()));
  }
  // The same without a thread that waits, so that one thread may have any number of steps under
  // way. `done` is called once, on another thread or inside this call, and does not wait; the
  // Callable lives until then.
  void start(std::vector<Tensor> feeds, Done<std::vector<Tensor>> done) const;

 private:
  friend class Session;
  Callable(std::shared_ptr<SessionState> state, std::string session_handle, MakeCallableReply made,
           std::chrono::milliseconds timeout);
  void call(std::vector<Tensor> feeds, const Call& call, Done<RunCallableReply> done) const;
  void release();

  std::shared_ptr<SessionState> state_;
  std::string session_handle_;
  MakeCallableReply made_;
  std::chrono::milliseconds timeout_;
};

class Session {
 public:
  using Feeds = std::vector<NamedTensor>;

  // Makes the handle only; nobody is contacted yet. `runtime` null: the server's, or a new one.
  // `interrupt`, if any, is asked by threads that wait in this session. `retry` left out: as the
  // runtime says. A session in this process has no connection that could break, and retries
  // nothing.
  // Errors: INVALID_ARGUMENT for a target of another form, and for fewer than 0 retries or more
  // than kMostRetries.
  static Result<std::unique_ptr<Session>> create(const SessionTarget& target,
                                                 SessionOptions options = {},
                                                 std::shared_ptr<Runtime> runtime = nullptr,
                                                 std::shared_ptr<Interrupt> interrupt = nullptr,
                                                 std::optional<RetryTerms> retry = std::nullopt);
  // Closes the session. Waits for the master a few seconds at most.
  ~Session();

  // Adds nodes. Errors: those of building; of one session at most one builder may be given.
  Status extend(const GraphBuilder& builder);
  // The same with a graph in its exchange form: new nodes only.
  Status extend(wire::GraphDef graph);

  // Values of `fetches` ("node:0", or "node" for output 0), in their order. Of a step that was made
  // again: those of the last time, with updates that had been made before left out.
  // Errors: also INVALID_ARGUMENT for retries (args.retry) in a session that was made without.
  Result<std::vector<Tensor>> run(Feeds feeds, std::vector<std::string> fetches, RunArgs args = {});
  Result<Callable> make_callable(std::vector<std::string> feeds, std::vector<std::string> fetches,
                                 RunArgs args = {});

  // A step in several legs: announce everything, then bring feeds and take fetches bit by bit.
  Result<std::string> partial_run_setup(std::vector<std::string> feeds,
                                        std::vector<std::string> fetches, RunArgs args = {});
  Result<std::vector<Tensor>> partial_run(const std::string& handle, Feeds feeds,
                                          std::vector<std::string> fetches, RunArgs args = {});

  // What it runs on.
  const std::shared_ptr<Runtime>& runtime() const;

  // The devices of the session's members.
  Result<std::vector<DeviceAttributes>> list_devices();

  // Ends all runs (CANCELLED) and frees what the session holds at the master. Variables and queues
  // stay. Later calls fail with FAILED_PRECONDITION. A session that was never used closes at once.
  Status close();

  // Drops the variables and queues in `containers` (empty: in the default one) on the whole
  // cluster, and all sessions of that master.
  static Status reset(const SessionTarget& target, std::vector<std::string> containers = {});

 private:
  explicit Session(std::shared_ptr<SessionState> state);
  std::shared_ptr<SessionState> state_;
};

}  // namespace millrace
