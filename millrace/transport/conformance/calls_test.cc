// What holds for calls of any method: errors, cancellation, many at a time.
#include <atomic>
#include <thread>

#include "millrace/transport/conformance/testing/suite.h"

namespace millrace::testing {
namespace {

void check_same_error(const Status& given, const Status& got) {
  CHECK(got.code() == given.code());
  CHECK(got.message() == given.message());
  CHECK(got.is_consequence() == given.is_consequence());
  for (const auto& [url, bytes] : given.payloads())
    CHECK(got.payloads().find(url)->second == bytes);
}

TEST_CASE_TEMPLATE("every code, message, payload and consequence comes back", Transport,
                   TRANSPORTS) {
  Transport transport;
  const std::vector<Status> errors = {
      out_of_range("FIFOQueue '_1_q' is closed and has insufficient elements"),
      failed_precondition("Attempting to use uninitialized value w"),
      aborted("restarted").with_payload(kWorkerPossiblyRestartedUrl, ""),
      cancelled("step was cancelled").as_consequence(),
      unavailable("the worker is gone"),
      invalid("non-ASCII: \xc3\xa4\xe2\x82\xac, and a line\nbreak"),
  };
  for (const Status& given : errors) {
    CAPTURE(given.to_string());
    transport.master_behind.on_run_step = [&](RunStepRequest, const Call&,
                                              Done<RunStepReply> done) { done(given); };
    transport.master_behind.on_run_callable = [&](RunCallableRequest, const Call&,
                                                  Done<RunCallableReply> done) { done(given); };
    transport.master_behind.on_reset = [&](ResetRequest, const Call&, Done<void> done) {
      done(given);
    };
    transport.worker_behind.on_run_graph = [&](RunGraphRequest, const Call&,
                                               Done<RunGraphReply> done) { done(given); };
    transport.worker_behind.on_recv_tensor = [&](RecvTensorRequest, const Call&,
                                                 Done<RecvTensorReply> done) { done(given); };
    check_same_error(given, ask(transport.master(), &MasterService::run_step, {}).status());
    check_same_error(given, ask(transport.master(), &MasterService::run_callable, {}).status());
    check_same_error(given, ask(transport.master(), &MasterService::reset, {}));
    check_same_error(given, ask(transport.worker(), &WorkerService::run_graph, {}).status());
    check_same_error(given, ask(transport.worker(), &WorkerService::recv_tensor, {}).status());
  }
}

TEST_CASE_TEMPLATE("a long message of a step is not cut", Transport, TRANSPORTS) {
  Transport transport;
  const Status given = internal(std::string(100'000, 'x'));
  transport.master_behind.on_run_step = [&](RunStepRequest, const Call&, Done<RunStepReply> done) {
    done(given);
  };
  CHECK(ask(transport.master(), &MasterService::run_step, {}).status() == given);
}

TEST_CASE_TEMPLATE("a call that its service drops is answered", Transport, TRANSPORTS) {
  Transport transport;
  transport.master_behind.on_reset = [](ResetRequest, const Call&, Done<void>) {};
  const Status status = ask(transport.master(), &MasterService::reset, {});
  CHECK(status.code() == Code::internal);
}

// ---- Ending a call early ------------------------------------------------------------------------

TEST_CASE_TEMPLATE("cancelling a call cancels it at the service, which may answer late", Transport,
                   TRANSPORTS) {
  Transport transport;
  std::promise<void> arrived;
  std::promise<void> ended;
  Cancellation::Registration registration;
  Done<RunGraphReply> owed;
  transport.worker_behind.on_run_graph = [&](RunGraphRequest, const Call& call,
                                             Done<RunGraphReply> done) {
    owed = std::move(done);
    registration = call.cancellation->on_cancel([&](const Status&) { ended.set_value(); });
    arrived.set_value();
  };
  Cancellation cancellation;
  Answered<RunGraphReply> answered;
  transport.worker().run_graph({}, {.cancellation = &cancellation}, answered.done());
  arrived.get_future().wait();
  cancellation.cancel(aborted("the step was given up"));
  ended.get_future().wait();
  registration.release();
  owed(aborted("the step was given up").as_consequence());
  const Status status = answered.wait().status();
  CHECK(status == aborted("the step was given up"));
  CHECK(status.is_consequence());
}

TEST_CASE_TEMPLATE("many calls wait at a service at the same time", Transport, TRANSPORTS) {
  Transport transport;
  constexpr int kCalls = 300;
  Mutex mutex;
  std::vector<Done<RecvTensorReply>> waiting;
  std::promise<void> all_there;
  transport.worker_behind.on_recv_tensor = [&](RecvTensorRequest, const Call&,
                                               Done<RecvTensorReply> done) {
    MutexLock lock(mutex);
    waiting.push_back(std::move(done));
    if (waiting.size() == kCalls) all_there.set_value();
  };
  std::vector<Answered<RecvTensorReply>> answers(kCalls);
  for (int i = 0; i < kCalls; ++i)
    transport.worker().recv_tensor({1, "k", i + 1}, {}, answers[static_cast<size_t>(i)].done());
  all_there.get_future().wait();
  // Others get through meanwhile.
  CHECK(ask(transport.worker(), &WorkerService::cleanup_graph, CleanupGraphRequest{1}).ok());
  for (Done<RecvTensorReply>& done : waiting) {
    RecvTensorReply reply;
    reply.delivery.tensor = Tensor::scalar(1.0f);
    done(std::move(reply));
  }
  for (auto& answer : answers) CHECK(answer.wait().ok());
}

}  // namespace
}  // namespace millrace::testing
