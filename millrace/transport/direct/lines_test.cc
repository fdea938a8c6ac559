// Calls between two processes of ours over lines, as far as one process can play both.
#include "millrace/transport/direct/lines.h"

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "millrace/transport/direct/testing/served.h"

namespace millrace::transport {
namespace {

using millrace::testing::Answered;
using testing::Client;
using testing::Served;
using testing::test_host;

TEST_CASE("without an offer calls go another way") {
  Served served;
  Client client;
  CHECK_FALSE(client.wait_for("/echo", "x").has_value());
  Answered<std::string> answered;
  CHECK_FALSE(client.start("/echo", "x", {}, answered.done()));
  client.lines().offered(served.uri());
  CHECK(client.wait_for("/echo", "x").value().value() == "x");
  client.lines().withdrawn();
  CHECK_FALSE(client.wait_for("/echo", "x").has_value());
}

TEST_CASE("an offer of a place where nobody speaks so is forgotten") {
  // It takes connections and says nothing.
  const ListeningSocket silent = ListeningSocket::bind("127.0.0.1", 0).value();
  Client client(str_cat("ipv4:127.0.0.1:", silent.port()), std::chrono::milliseconds(50));
  CHECK_FALSE(client.wait_for("/echo", "x").has_value());
  CHECK_FALSE(client.lines().is_up());
  Client refused("ipv4:127.0.0.1:1");
  CHECK_FALSE(refused.wait_for("/echo", "x").has_value());
  Client strange("unix:/tmp/socket");
  CHECK_FALSE(strange.wait_for("/echo", "x").has_value());
}

TEST_CASE("addresses of both families are read, escaped or not") {
  CHECK(NumericAddress::of_peer("ipv4:127.0.0.1:2222").has_value());
  CHECK(NumericAddress::of_peer("ipv6:[::1]:2222").has_value());
  CHECK(NumericAddress::of_peer("ipv6:%5B::1%5D:2222") ==
        NumericAddress::of_peer("ipv6:[::1]:2222"));
  for (const char* none : {"", "ipv4:", "ipv4:localhost:1", "ipv4:127.0.0.1", "unix:/x", "ipv6:x"})
    CHECK_FALSE(NumericAddress::of_peer(none).has_value());
}

TEST_CASE("a caller that waits gets the answer, of any size") {
  Served served;
  Client client(served.uri());
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5000}, size_t{1} << 20, size_t{9} << 20}) {
    const std::string bytes(size, 'x');
    CHECK(client.wait_for("/echo", bytes).value().value() == bytes);
  }
}

TEST_CASE("an error of the method comes with its code and words") {
  Served served;
  Client client(served.uri());
  CHECK(client.wait_for("/fail", "no more").value().status() == out_of_range("no more"));
  CHECK(client.wait_for("/unknown", "").value().status().code() == Code::unimplemented);
  client.wait_until_up();
  Answered<std::string> answered;
  REQUIRE(client.start("/fail", "no more", {}, answered.done()));
  CHECK(answered.wait().status() == out_of_range("no more"));
  // The line goes on.
  CHECK(client.wait_for("/echo", "x").value().value() == "x");
}

TEST_CASE("a thousand calls at a time, small and large, each get their own answer") {
  Served served;
  Client client(served.uri());
  client.wait_until_up();
  constexpr size_t kCalls = 1000;
  std::vector<Answered<std::string>> answers(kCalls);
  const auto text = [](size_t i) {
    return std::string(i % 100 == 0 ? size_t{3} << 20 : i, static_cast<char>('a' + i % 26));
  };
  for (size_t i = 0; i < kCalls; ++i)
    REQUIRE(client.start("/echo", text(i), {}, answers[i].done()));
  for (size_t i = 0; i < kCalls; ++i) CHECK(answers[i].wait().value() == text(i));
}

TEST_CASE("callers that wait do not wait for each other") {
  Served served;
  Client client(served.uri());
  Cancellation cancellation;
  std::thread waits([&] {
    CHECK(client.wait_for("/wait", "", {.cancellation = &cancellation}).value().status() ==
          cancelled("enough"));
  });
  served.wait_for_waiting(1);
  CHECK(client.wait_for("/echo", "x").value().value() == "x");
  cancellation.cancel(cancelled("enough"));
  waits.join();
}

// Wants to wait no longer when it looks up for the second time.
class Impatient final : public AttentiveThread {
 public:
  explicit Impatient(CallerThread& thread) : AttentiveThread(thread) {}
  void look_up() override {
    if (++looked == 2) cancellation.cancel(cancelled("interrupted"));
  }
  Cancellation cancellation;
  int looked = 0;
};

TEST_CASE("a caller that waits looks up from time to time, and may end the call then") {
  Served served;
  Client client(served.uri());
  CallerThread thread;
  Impatient caller(thread);
  const Call call{.cancellation = &caller.cancellation, .runner = &caller};
  CHECK(client.wait_for("/wait", "", call).value().status() == cancelled("interrupted"));
  CHECK(caller.looked == 2);
  served.wait_for_cancelled(1);
  // Others that use the line look up as they like, and have deadlines of their own.
  CHECK(client.wait_for("/echo", "x").value().value() == "x");
}

TEST_CASE("a caller that looks up has its deadline all the same") {
  Served served;
  Client client(served.uri());
  CallerThread thread;
  Impatient caller(thread);
  for (const auto patience : {std::chrono::milliseconds(20), std::chrono::milliseconds(150)}) {
    const Clock::Time begin = test_host().clock.now();
    const Call call{.runner = &caller, .deadline = begin + patience};
    CHECK(client.wait_for("/wait", "", call).value().status().code() == Code::deadline_exceeded);
    CHECK(test_host().clock.now() - begin >= patience);
  }
}

TEST_CASE("an answer in parts is read part for part") {
  Served served;
  Client client(served.uri());
  client.wait_until_up();
  std::string come;
  Answered<void> answered;
  REQUIRE(client.start_streamed(
      "/parts", "abcdef",
      [&](const Chunks& part) -> Result<More> {
        come += testing::text_of(part);
        return come.size() < 6 ? More::expected : More::no;
      },
      answered.done()));
  CHECK(answered.wait().ok());
  CHECK(come == "abcdef");
}

TEST_CASE("an answer that ends too early, or can't be read, is a bad answer") {
  Served served;
  Client client(served.uri());
  client.wait_until_up();
  Answered<void> early;
  REQUIRE(client.start_streamed(
      "/parts", "ab", [](const Chunks&) -> Result<More> { return More::expected; }, early.done()));
  CHECK(early.wait().message() ==
        "/job:ps/replica:0/task:0 at ps0:2222 sent a bad answer to parts: it ends too early");
  Answered<void> unreadable;
  REQUIRE(client.start_streamed(
      "/parts", "ab", [](const Chunks&) -> Result<More> { return invalid("no tensor"); },
      unreadable.done()));
  CHECK(unreadable.wait().message().find("no tensor") != std::string::npos);
}

TEST_CASE("a cancellation ends a call at both ends, with its reason here") {
  Served served;
  Client client(served.uri());
  client.wait_until_up();
  Cancellation cancellation;
  Answered<std::string> answered;
  REQUIRE(client.start("/wait", "", {.cancellation = &cancellation}, answered.done()));
  served.wait_for_waiting(1);
  cancellation.cancel(cancelled("the session was closed"));
  const Status status = answered.wait().status();
  CHECK(status == cancelled("the session was closed"));
  CHECK(status.is_consequence());
  served.wait_for_cancelled(1);
  // Others on the line are not touched.
  Answered<std::string> echoed;
  REQUIRE(client.start("/echo", "x", {}, echoed.done()));
  CHECK(echoed.wait().value() == "x");
}

TEST_CASE("a deadline ends a call at both ends") {
  Served served;
  Client client(served.uri());
  client.wait_until_up();
  const auto soon = [] { return test_host().clock.now() + std::chrono::milliseconds(500); };
  Answered<std::string> answered;
  REQUIRE(client.start("/wait", "", {.deadline = soon()}, answered.done()));
  CHECK(answered.wait().status().message() ==
        "/job:ps/replica:0/task:0 at ps0:2222 did not answer wait before the deadline");
  const Status waited = client.wait_for("/wait", "", {.deadline = soon()}).value().status();
  CHECK(waited.code() == Code::deadline_exceeded);
  served.wait_for_cancelled(2);
  const Status late =
      client.wait_for("/echo", "", {.deadline = test_host().clock.now()}).value().status();
  CHECK(late.code() == Code::deadline_exceeded);
  // A call without one has no limit of the one before.
  CHECK(client.wait_for("/echo", "x").value().value() == "x");
}

TEST_CASE("a cancellation at any moment is heard, or the answer comes") {
  Served served;
  Client client(served.uri());
  client.wait_until_up();
  for (int i = 0; i < 300; ++i) {
    Cancellation cancellation;
    std::thread canceller([&] {
      for (int spin = 0; spin < 50 * (i % 20); ++spin)
        std::atomic_signal_fence(std::memory_order_seq_cst);
      cancellation.cancel(cancelled("now"));
    });
    Answered<std::string> answered;
    client.start("/echo", "x", {.cancellation = &cancellation}, answered.done());
    const Result<std::string> answer = answered.wait();
    CHECK((answer.ok() ? *answer == "x" : answer.status() == cancelled("now")));
    const auto waited = client.wait_for("/echo", "y", {.cancellation = &cancellation});
    if (waited) CHECK((waited->ok() || waited->status() == cancelled("now")));
    canceller.join();
  }
}

TEST_CASE("a server that stops tells those that wait why") {
  Served served;
  Client client(served.uri());
  client.wait_until_up();
  Answered<std::string> answered;
  REQUIRE(client.start("/wait", "", {}, answered.done()));
  std::thread waits([&] {
    CHECK(client.wait_for("/wait", "").value().status() == aborted("ps:0 is shutting down"));
  });
  served.wait_for_waiting(2);
  served.stop(aborted("ps:0 is shutting down"));
  CHECK(answered.wait().status() == aborted("ps:0 is shutting down"));
  waits.join();
}

TEST_CASE("a connection that breaks ends its calls, and names the peer") {
  auto served = std::make_unique<Served>();
  Client client(served->uri());
  client.wait_until_up();
  CHECK(client.wait_for("/echo", "x").value().value() == "x");
  served.reset();
  Answered<std::string> answered;
  client.start("/echo", "x", {}, answered.done());
  const Status status = answered.wait().status();
  const bool is_known = status == cancelled("another way") ||
                        (status.code() == Code::unavailable &&
                         status.message().find("/job:ps/replica:0/task:0") != std::string::npos);
  CHECK(is_known);
  // From here on they go the other way, which knows what to say.
  while (client.lines().is_up()) std::this_thread::yield();
  CHECK_FALSE(client.wait_for("/echo", "x").has_value());
}

TEST_CASE("a server that has come back is used again once it has offered") {
  auto served = std::make_unique<Served>();
  const int port = served->port();
  Client client(served->uri());
  CHECK(client.wait_for("/echo", "x").value().value() == "x");
  served.reset();
  CHECK_FALSE(client.wait_for("/echo", "x").has_value());
  served = std::make_unique<Served>(std::chrono::seconds(40), port);
  client.lines().offered(served->uri());
  CHECK(client.wait_for("/echo", "y").value().value() == "y");
}

TEST_CASE("a client that is gone has its calls cancelled at the server") {
  Served served;
  auto client = std::make_unique<Client>(served.uri());
  client->wait_until_up();
  Answered<std::string> answered;
  REQUIRE(client->start("/wait", "", {}, answered.done()));
  served.wait_for_waiting(1);
  client.reset();
  CHECK(answered.wait().status().code() == Code::unavailable);
  served.wait_for_cancelled(1);
}

TEST_CASE("lines that go let the calls that run end first") {
  Served served;
  Answered<std::string> answered;
  {
    Client client(served.uri());
    client.wait_until_up();
    Cancellation cancellation;
    REQUIRE(client.start("/wait", "", {.cancellation = &cancellation}, answered.done()));
    served.wait_for_waiting(1);
    client.lines().withdrawn();
    CHECK(served.num_cancelled() == 0);
    cancellation.cancel(cancelled("now"));
    CHECK(answered.wait().status() == cancelled("now"));
  }
}

}  // namespace
}  // namespace millrace::transport
