// A server of a few methods, and lines to it, for tests of this room.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/testing/test_host.h"
#include "millrace/cluster/testing/answered.h"
#include "millrace/transport/direct/direct_server.h"
#include "millrace/transport/direct/lines.h"
#include "millrace/transport/sockets/listener.h"

namespace millrace::transport::testing {

using millrace::testing::test_host;

inline wire::Pieces pieces_of(std::string bytes) {
  wire::Pieces pieces;
  pieces.append(std::move(bytes));
  return pieces;
}

inline std::string text_of(const Chunks& chunks) {
  std::string scratch;
  return std::string(join(chunks, scratch));
}

// "/echo" answers with the request, "/fail" with an error of its text, "/parts" with a message for
// each character, "/wait" when it is cancelled.
class Served {
 public:
  explicit Served(Clock::Duration patience = std::chrono::seconds(40), int port = 0)
      : methods_(all_methods()),
        running_(std::make_shared<RunningCalls>(test_host().log)),
        server_(
            std::make_unique<DirectServer>(test_host(), methods_, running_, threads_, patience)) {
    ListeningSocket socket = ListeningSocket::bind("127.0.0.1", port).value();
    port_ = socket.port();
    std::vector<Taker> takers;
    takers.push_back({Opening::direct,
                      [this](FileDescriptor connection) { server_->take(std::move(connection)); }});
    listener_ = std::make_unique<Listener>(test_host(), std::move(socket), std::move(takers));
    REQUIRE(listener_->start().ok());
  }
  ~Served() { stop(cancelled("the test is over")); }

  void stop(const Status& why) {
    if (listener_ == nullptr) return;
    listener_->stop();
    running_->stop(why);
    CHECK(running_->wait_until_empty(deadline()));
    server_->stop(deadline());
    listener_.reset();
    server_.reset();
  }
  std::string uri() const { return str_cat("ipv4:127.0.0.1:", port_); }
  int port() const { return port_; }
  const DirectThreads& threads() const { return threads_; }
  int num_waiting() const { return waiting_.load(); }
  void wait_for_waiting(int count) const {
    for (int now = waiting_; now < count; now = waiting_) waiting_.wait(now);
  }
  int num_cancelled() const { return cancelled_.load(); }
  void wait_for_cancelled(int count) const {
    for (int now = cancelled_; now < count; now = cancelled_) cancelled_.wait(now);
  }

 private:
  static Clock::Time deadline() { return test_host().clock.now() + std::chrono::seconds(20); }

  ServedMethods all_methods() {
    ServedMethods methods;
    methods["/echo"] = [](std::shared_ptr<ReceivedCall> call) {
      call->answer(pieces_of(text_of(call->request())));
    };
    methods["/fail"] = [](std::shared_ptr<ReceivedCall> call) {
      call->answer(out_of_range(text_of(call->request())));
    };
    methods["/parts"] = [](std::shared_ptr<ReceivedCall> call) {
      std::vector<wire::Pieces> parts;
      for (const char c : text_of(call->request())) parts.push_back(pieces_of(std::string(1, c)));
      call->answer_in_parts(std::move(parts));
    };
    methods["/wait"] = [this](std::shared_ptr<ReceivedCall> call) { wait(std::move(call)); };
    return methods;
  }

  struct Waiting {
    std::shared_ptr<ReceivedCall> call;
    Cancellation::Registration registration;
  };
  // Answers with the reason, on the thread that cancels.
  void wait(std::shared_ptr<ReceivedCall> call) {
    auto waiting = std::make_shared<Waiting>();
    waiting->call = call;
    Cancellation* const cancellation = call->call().cancellation;
    waiting->registration = cancellation->on_cancel([this, waiting](const Status& why) {
      waiting->call->answer(why);
      waiting->call.reset();
      cancelled_.fetch_add(1);
      cancelled_.notify_all();
    });
    waiting_.fetch_add(1);
    waiting_.notify_all();
  }

  std::atomic<int> waiting_{0};
  std::atomic<int> cancelled_{0};
  DirectThreads threads_;
  const ServedMethods methods_;
  const std::shared_ptr<RunningCalls> running_;
  std::unique_ptr<DirectServer> server_;
  int port_ = 0;
  std::unique_ptr<Listener> listener_;
};

// A peer's end: lines that have heard the offer.
class Client {
 public:
  explicit Client(const std::string& uri,
                  std::chrono::milliseconds patience = std::chrono::seconds(60))
      : Client(uri, std::make_shared<DirectThreads>(), patience) {}
  // One of several in a process.
  Client(const std::string& uri, std::shared_ptr<const DirectThreads> threads,
         std::chrono::milliseconds patience = std::chrono::seconds(60))
      : threads_(std::move(threads)),
        lines_(std::make_shared<Lines>(test_host(), *threads_, patience)) {
    lines_->offered(uri);
  }
  Client() : Client("") {}
  ~Client() { rounds_->stop(); }

  // An answer, or nothing if the call would have gone another way.
  std::optional<Result<std::string>> wait_for(std::string_view method, std::string bytes,
                                              Call call = {}) {
    OutgoingRequest request = to(method, std::move(bytes), call);
    auto answer = lines_->call_and_wait(request, oversight_);
    if (!answer) return std::nullopt;
    if (!answer->ok()) return Result<std::string>(answer->status());
    return Result<std::string>(text_of((*answer)->chunks()));
  }
  bool start(std::string_view method, std::string bytes, Call call, Done<std::string> done) {
    OutgoingRequest request = to(method, std::move(bytes), call);
    Line::Answer answer{.done = Done<Chunks>([done = std::move(done)](Result<Chunks> got) mutable {
                          done(got.ok() ? Result<std::string>(text_of(*got))
                                        : Result<std::string>(got.status()));
                        })};
    if (lines_->start(request, oversight_, answer)) return true;
    std::move(answer.done)(cancelled("another way"));
    return false;
  }
  bool start_streamed(std::string_view method, std::string bytes, ReadMessage read,
                      Done<void> done) {
    OutgoingRequest request = to(method, std::move(bytes), {});
    Line::Answer answer{.read = std::move(read), .finish = std::move(done)};
    if (lines_->start(request, oversight_, answer)) return true;
    std::move(answer.finish)(cancelled("another way"));
    return false;
  }
  // The line connects with the first call that would take it.
  void wait_until_up() {
    while (!lines_->is_up()) std::this_thread::yield();
  }

  Lines& lines() { return *lines_; }
  PeerPulse& pulse() { return *oversight_.pulse; }

 private:
  OutgoingRequest to(std::string_view method, std::string bytes, const Call& call) {
    return {.peer = peer_,
            .method = method,
            .message = pieces_of(std::move(bytes)),
            .cancellation = call.cancellation,
            .deadline = call.deadline,
            .attentive = AttentiveThread::of(call.runner)};
  }

  const std::shared_ptr<const DirectThreads> threads_;
  std::shared_ptr<Lines> lines_;
  std::shared_ptr<Rounds> rounds_ = std::make_shared<Rounds>(test_host(), std::chrono::seconds(0));
  const std::shared_ptr<const Peer> peer_ =
      std::make_shared<const Peer>(Peer{"/job:ps/replica:0/task:0", "ps0:2222"});
  Oversight oversight_{.pulse = std::make_shared<PeerPulse>(rounds_),
                       .metrics = test_host().metrics};
};

}  // namespace millrace::transport::testing
