// The worker of a task elsewhere, over calls that the test answers.
#include "millrace/transport/protocol/remote_worker.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {
namespace {

// Keeps what is asked for, and answers it with what the test says.
class FakeCaller final : public Caller {
 public:
  void start(OutgoingRequest request, Done<Chunks> done) override {
    requests.push_back(std::move(request));
    if (!answer.ok()) return done(answer.status());
    done(Chunks(*answer));
  }
  void start_streamed(OutgoingRequest request, ReadMessage read, Done<void> done) override {
    requests.push_back(std::move(request));
    for (const std::string& message : messages) {
      const Result<More> more = read(Chunks(message));
      if (!more.ok()) return done(more.status());
    }
    done(Status());
  }

  std::vector<OutgoingRequest> requests;
  Result<std::string> answer = std::string();
  std::vector<std::string> messages;
};

struct FarTask {
  std::shared_ptr<FakeCaller> caller = std::make_shared<FakeCaller>();
  RemoteWorker worker{{"/job:ps/replica:0/task:2", "ps2:2222"}, caller};
};

TEST_CASE(
    "calls that start something fail if the task can't be reached, those that clean up wait") {
  FarTask far;
  far.worker.run_graph({}, {}, Done<RunGraphReply>([](const auto&) {}));
  far.worker.cleanup_graph({1}, {}, Done<void>([](const Status&) {}));
  far.worker.get_status(WhenDown::wait, {}, Done<GetStatusReply>([](const auto&) {}));
  REQUIRE(far.caller->requests.size() == 3);
  CHECK(far.caller->requests[0].method == worker_method::kRunGraph);
  CHECK(far.caller->requests[0].when_down == WhenDown::fail);
  CHECK(far.caller->requests[1].method == worker_method::kCleanupGraph);
  CHECK(far.caller->requests[1].when_down == WhenDown::wait);
  CHECK(far.caller->requests[2].when_down == WhenDown::wait);
  CHECK(far.caller->requests[2].peer->to_string() == "/job:ps/replica:0/task:2 at ps2:2222");
}

TEST_CASE("how a call is made is passed on, but a tensor is waited for without a limit of ours") {
  FarTask far;
  Cancellation cancellation;
  const Clock::Time later{std::chrono::hours(1)};
  const Call call{.cancellation = &cancellation, .waiting = true, .deadline = later};
  far.worker.cleanup_graph({1}, call, Done<void>([](const Status&) {}));
  far.worker.recv_tensor({1, "k", 1}, call, Done<RecvTensorReply>([](const auto&) {}));
  REQUIRE(far.caller->requests.size() == 2);
  CHECK(far.caller->requests[0].cancellation == &cancellation);
  CHECK(far.caller->requests[0].deadline == later);
  CHECK(far.caller->requests[0].is_waited_for);
  CHECK(far.caller->requests[1].cancellation == &cancellation);
  CHECK(!far.caller->requests[1].deadline);
}

TEST_CASE(
    "an answer that is no such message is its peer's fault, by name; an error stays as it is") {
  FarTask far;
  std::optional<Status> outcome;
  const auto ask = [&] {
    far.worker.get_status(WhenDown::fail, {}, Done<GetStatusReply>([&](const auto& reply) {
                            outcome = reply.status();
                          }));
    return outcome->to_string();
  };
  far.caller->answer = std::string("\x0a\xff");
  CHECK(ask().starts_with(
      "INTERNAL: /job:ps/replica:0/task:2 at ps2:2222 sent a bad answer to GetStatus: "));
  far.caller->answer = unavailable("it is gone");
  CHECK(ask() == "UNAVAILABLE: it is gone");
}

TEST_CASE("a worker that keeps a tensor until it has arrived is told so; others are not") {
  for (const bool is_kept : {true, false}) {
    FarTask far;
    RecvTensorReply reply;
    reply.delivery.tensor = Tensor::scalar(4.0F);
    reply.require_ack = is_kept;
    for (const wire::Pieces& message : encode_recv_tensor_reply(reply, Parts::taken).value())
      far.caller->messages.push_back(message.join());
    Tensor received;
    far.worker.recv_tensor({1, "k", 77}, {}, Done<RecvTensorReply>([&](const auto& answer) {
                             received = answer.value().delivery.tensor;
                           }));
    CHECK(received == Tensor::scalar(4.0F));
    REQUIRE(far.caller->requests.size() == (is_kept ? 2 : 1));
    if (is_kept) {
      CHECK(far.caller->requests[1].method == worker_method::kMarkRecvFinished);
      CHECK(far.caller->requests[1].message.join() == encode_mark_recv_finished(77).join());
    }
  }
}

}  // namespace
}  // namespace millrace::transport
