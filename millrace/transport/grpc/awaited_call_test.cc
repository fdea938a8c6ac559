#include "millrace/transport/grpc/awaited_call.h"

#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/testing/fake_clock.h"
#include "millrace/transport/grpc/channel.h"
#include "millrace/transport/grpc/testing/name_server.h"
#include "millrace/transport/grpc/testing/test_task.h"
#include "millrace/transport/protocol/methods.h"
#include "millrace/transport/protocol/remote_worker.h"

namespace millrace::transport {
namespace {

using std::chrono::milliseconds;
using testing::Answered;

// Has the last timer that was set, for a test to fire.
class TimerAtHand final : public Timers {
 public:
  explicit TimerAtHand(FakeClock& clock) : clock_(clock) {}
  Timer at(Clock::Time when, Task task) override {
    MutexLock lock(mutex_);
    const Key key{when, ++num_set_};
    set_.emplace(key, std::move(task));
    return handle(key);
  }
  bool is_set() const {
    MutexLock lock(mutex_);
    return set_.has_value();
  }
  // At its time; how long that was.
  Clock::Duration fire() {
    REQUIRE(is_set());
    auto [key, task] = take();
    const Clock::Duration pause = key.when - clock_.now();
    clock_.advance(pause);
    task();
    return pause;
  }

 private:
  std::pair<Key, Task> take() {
    MutexLock lock(mutex_);
    return std::move(*std::exchange(set_, std::nullopt));
  }
  void cancel(const Key& key) override {
    MutexLock lock(mutex_);
    if (set_ && set_->first == key) set_.reset();
  }

  FakeClock& clock_;
  mutable Mutex mutex_;
  uint64_t num_set_ MR_GUARDED_BY(mutex_) = 0;
  std::optional<std::pair<Key, Task>> set_ MR_GUARDED_BY(mutex_);
};

struct WaitingRoom {
  FakeClock clock;
  TimerAtHand timers{clock};
  testing::TestHost other;
  const Host host{clock,          timers,    other.random,  other.pool, other.endings,
                  other.blocking, other.log, other.metrics, other.files};
};

// Tries that end when they are cancelled, or when the test says so.
struct Tries {
  AwaitedCall::Way way() {
    return {.start =
                [this](OutgoingRequest request, bool* sent, Done<Chunks> done) {
                  ++num_started;
                  was_sent = sent;
                  under_way = std::move(done);
                  registration = request.cancellation->on_cancel(
                      [this](const Status& why) { cancelled_for = why; });
                },
            .renew_if_failing =
                [this] {
                  if (is_failing) ++num_renewed;
                  return is_failing;
                }};
  }
  void end(Result<Chunks> outcome) {
    registration.release();
    std::exchange(under_way, {})(std::move(outcome));
  }

  bool is_failing = true;
  int num_started = 0;
  int num_renewed = 0;
  Done<Chunks> under_way;
  bool* was_sent = nullptr;
  Status cancelled_for;
  Cancellation::Registration registration;
};

OutgoingRequest request(Cancellation* cancellation = nullptr) {
  return {.peer = std::make_shared<const Peer>(Peer{"ps", "late.test:2222"}),
          .method = "m",
          .when_down = WhenDown::wait,
          .cancellation = cancellation};
}

TEST_CASE("a peer that can't be reached is tried anew, after a quarter of what has been waited") {
  WaitingRoom room;
  Tries tries;
  Answered<Chunks> answered;
  AwaitedCall::start(room.host, request(), tries.way(), answered.done());
  CHECK(room.timers.fire() == milliseconds(250));
  CHECK(tries.num_renewed == 1);
  CHECK(tries.num_started == 1);  // the first has to end before
  tries.end(tries.cancelled_for);
  CHECK(tries.num_started == 2);
  Clock::Duration pause{};
  for (int i = 0; i < 20; ++i) {
    pause = room.timers.fire();
    tries.end(tries.cancelled_for);
  }
  CHECK(pause == milliseconds(2'000));
  tries.end(Chunks());
  CHECK(answered.wait().ok());
  CHECK_FALSE(room.timers.is_set());
}

TEST_CASE("a peer that is reached is left to answer in its time") {
  WaitingRoom room;
  Tries tries;
  tries.is_failing = false;
  Answered<Chunks> answered;
  AwaitedCall::start(room.host, request(), tries.way(), answered.done());
  for (int i = 0; i < 5; ++i) room.timers.fire();
  CHECK(tries.cancelled_for.ok());
  tries.end(unavailable("it has gone"));
  CHECK(answered.wait().status().message() == "it has gone");
  CHECK(tries.num_started == 1);
}

TEST_CASE("an answer that comes while it begins anew is the answer") {
  WaitingRoom room;
  Tries tries;
  Answered<Chunks> answered;
  AwaitedCall::start(room.host, request(), tries.way(), answered.done());
  room.timers.fire();
  tries.end(Chunks());
  CHECK(answered.wait().ok());
  CHECK(tries.num_started == 1);
}

TEST_CASE("what the peer may have got is not made twice") {
  WaitingRoom room;
  Tries tries;
  Answered<Chunks> answered;
  AwaitedCall::start(room.host, request(), tries.way(), answered.done());
  room.timers.fire();
  *tries.was_sent = true;
  tries.end(tries.cancelled_for);
  const Status status = answered.wait().status();
  CHECK(status.code() == Code::unavailable);
  CHECK(status.message().find("ps at late.test:2222: the connection broke under m") == 0);
  CHECK(tries.num_started == 1);
}

TEST_CASE("who cancels the call ends its try, and none comes after that") {
  for (const bool begins_anew : {false, true}) {
    WaitingRoom room;
    Tries tries;
    Cancellation cancellation;
    Answered<Chunks> answered;
    AwaitedCall::start(room.host, request(&cancellation), tries.way(), answered.done());
    if (begins_anew) room.timers.fire();
    cancellation.cancel(aborted("nobody asks any more"));
    if (!begins_anew) CHECK(tries.cancelled_for.message() == "nobody asks any more");
    tries.end(tries.cancelled_for);
    CHECK(answered.wait().status().message() == "nobody asks any more");
    CHECK(tries.num_started == 1);
  }
}

TEST_CASE("a call that was cancelled before has its one try cancelled") {
  WaitingRoom room;
  Tries tries;
  Cancellation cancellation;
  cancellation.cancel(aborted("nobody asks any more"));
  Answered<Chunks> answered;
  AwaitedCall::start(room.host, request(&cancellation), tries.way(), answered.done());
  CHECK(tries.cancelled_for.message() == "nobody asks any more");
  tries.end(tries.cancelled_for);
  CHECK(answered.wait().status().message() == "nobody asks any more");
}

TEST_CASE("addresses in numbers need no looking up") {
  CHECK_FALSE(AwaitedCall::is_of_use("10.0.0.1:2222"));
  CHECK_FALSE(AwaitedCall::is_of_use("[::1]:2222"));
  CHECK_FALSE(AwaitedCall::is_of_use("[fe80::1%eth0]:2222"));
  CHECK(AwaitedCall::is_of_use("worker-1.example.org:2222"));
  CHECK(AwaitedCall::is_of_use("localhost:2222"));
}

TEST_CASE("a call that was given to a connection is told from one that was not") {
  WaitingRoom room;
  testing::NameServer names;
  testing::TestTask task;
  GrpcThreads threads;
  const auto rounds = std::make_shared<Rounds>(room.host, std::chrono::seconds(15));
  const std::string target =
      "dns://" + names.address() + "/late.test:" + std::to_string(task.server->port());
  for (const bool is_there : {false, true}) {
    if (is_there) names.know_all();
    const ChannelCredentials credentials(grpc_insecure_credentials_create());
    const ChannelHandle channel(grpc_channel_create(target.c_str(), credentials.get(), nullptr));
    OutgoingRequest question = request();
    question.method = worker_method::kGetStatus;
    question.when_down = WhenDown::fail;
    bool was_sent = !is_there;
    Answered<void> ended;
    start_unary_call(channel.get(), threads.queue(), std::move(question),
                     {.pulse = std::make_shared<PeerPulse>(rounds), .metrics = room.other.metrics},
                     Done<Chunks>([done = ended.done()](const Result<Chunks>& answer) mutable {
                       done(answer.status());
                     }),
                     &was_sent);
    CHECK(ended.wait().ok() == is_there);
    CHECK(was_sent == is_there);
  }
}

void look_a_late_name_up(bool is_waited_for) {
  WaitingRoom room;
  testing::NameServer names;
  testing::TestTask task;
  const std::string address = "late.test:" + std::to_string(task.server->port());
  GrpcThreads threads;
  auto rounds = std::make_shared<Rounds>(room.host, std::chrono::seconds(15));
  auto channel = Channel::create(address, threads.queue(), {.name_server = names.address()}, rounds,
                                 room.other.metrics);
  RemoteWorker worker{Peer{"/job:ps/replica:0/task:0", address}, channel};
  Answered<GetStatusReply> answered;
  // Whether its caller lends a thread or not.
  worker.get_status(WhenDown::wait, {.waiting = is_waited_for}, answered.done());
  int seen = 0;
  const auto next_question = [&] {
    while (names.num_questions() == seen) std::this_thread::sleep_for(milliseconds(1));
    seen = names.num_questions();
  };
  next_question();
  // gRPC alone would be at the tenth after five minutes.
  for (int i = 0; i < 10; ++i) {
    while (!channel->is_failing()) std::this_thread::sleep_for(milliseconds(1));
    room.timers.fire();
    next_question();
  }
  names.know_all();
  while (!channel->is_failing()) std::this_thread::sleep_for(milliseconds(1));
  room.timers.fire();
  CHECK(answered.wait().ok());
}

TEST_CASE("a name that does not resolve is looked up whenever the time for it has come") {
  SUBCASE("nobody waits") { look_a_late_name_up(false); }
  SUBCASE("its caller does") { look_a_late_name_up(true); }
}

}  // namespace
}  // namespace millrace::transport
