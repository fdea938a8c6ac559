#include <thread>

#include <doctest/doctest.h>

#include "millrace/base/testing/fake_clock.h"
#include "millrace/engine/local_rendezvous.h"

namespace millrace {
namespace {

Delivery number(int32_t value) { return {.tensor = Tensor::scalar(value)}; }

// Receives into a place that can be looked at.
struct Receiver {
  std::vector<Result<Delivery>> got;
  void receive(Rendezvous& rendezvous, std::string_view key, Cancellation* cancellation = nullptr) {
    rendezvous.receive(key, cancellation, Done<Delivery>([this](Result<Delivery> answer) {
                         got.push_back(std::move(answer));
                       }));
  }
  int32_t value(size_t i) const { return got.at(i)->tensor.item<int32_t>(); }
};

TEST_CASE("values of one key arrive in the order in which they were sent") {
  LocalRendezvous rendezvous;
  Receiver receiver;
  CHECK(rendezvous.send("k", number(1)).ok());
  CHECK(rendezvous.send("k", number(2)).ok());
  receiver.receive(rendezvous, "k");
  receiver.receive(rendezvous, "k");
  receiver.receive(rendezvous, "k");
  CHECK(rendezvous.send("k", number(3)).ok());
  REQUIRE(receiver.got.size() == 3);
  CHECK(receiver.value(0) == 1);
  CHECK(receiver.value(1) == 2);
  CHECK(receiver.value(2) == 3);
}

TEST_CASE("receivers of one key are served in the order in which they came") {
  LocalRendezvous rendezvous;
  Receiver first, second;
  first.receive(rendezvous, "k");
  second.receive(rendezvous, "k");
  CHECK(rendezvous.send("k", number(1)).ok());
  CHECK(rendezvous.send("k", number(2)).ok());
  CHECK(first.value(0) == 1);
  CHECK(second.value(0) == 2);
}

TEST_CASE("a death is delivered like a value") {
  LocalRendezvous rendezvous;
  Receiver receiver;
  receiver.receive(rendezvous, "k");
  CHECK(rendezvous.send("k", {.tensor = {}, .is_dead = true}).ok());
  CHECK(receiver.got.at(0)->is_dead);
}

TEST_CASE("an abort answers who waits and refuses who comes later; the first reason stays") {
  LocalRendezvous rendezvous;
  Receiver receiver;
  receiver.receive(rendezvous, "a");
  CHECK(rendezvous.send("b", number(1)).ok());
  rendezvous.abort(invalid("the cause"));
  rendezvous.abort(internal("another one"));
  receiver.receive(rendezvous, "b");
  REQUIRE(receiver.got.size() == 2);
  CHECK(receiver.got[0].status() == invalid("the cause"));
  CHECK(receiver.got[1].status() == invalid("the cause"));
  CHECK(rendezvous.send("a", number(1)) == invalid("the cause"));
}

TEST_CASE("a cancelled receive ends alone and leaves its channel to the others") {
  LocalRendezvous rendezvous;
  Receiver first, second;
  Cancellation cancellation;
  first.receive(rendezvous, "k", &cancellation);
  second.receive(rendezvous, "k");
  cancellation.cancel(cancelled("enough"));
  CHECK(first.got.at(0).status() == cancelled("enough"));
  CHECK(rendezvous.send("k", number(7)).ok());
  CHECK(second.value(0) == 7);
}

TEST_CASE("a receive under a cancellation that already happened does not wait") {
  LocalRendezvous rendezvous;
  Receiver receiver;
  Cancellation cancellation;
  cancellation.cancel(cancelled("enough"));
  receiver.receive(rendezvous, "k", &cancellation);
  CHECK(receiver.got.at(0).status() == cancelled("enough"));
  CHECK(rendezvous.waits().empty());
}

TEST_CASE("who still waits when the rendezvous goes is answered") {
  Receiver receiver;
  {
    LocalRendezvous rendezvous;
    receiver.receive(rendezvous, "k");
  }
  CHECK(receiver.got.at(0).status().code() == Code::aborted);
}

TEST_CASE("waits are told by key with the time since when") {
  FakeClock clock;
  LocalRendezvous rendezvous(&clock);
  Receiver receiver;
  const auto start = clock.now();
  receiver.receive(rendezvous, "b");
  clock.advance(std::chrono::seconds(3));
  receiver.receive(rendezvous, "a");
  const auto waits = rendezvous.waits();
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].key == "a");
  CHECK(waits[0].since - start == std::chrono::seconds(3));
  CHECK(waits[1].key == "b");
  rendezvous.abort(cancelled("the test is over"));
}

TEST_CASE("sends, receives and cancellations from many threads lose nothing and answer once") {
  LocalRendezvous rendezvous;
  constexpr int kEach = 2000;
  std::atomic<int> answers{0}, values{0}, sent{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        Cancellation cancellation;
        std::atomic<bool> answered{false};
        rendezvous.receive("k", &cancellation, Done<Delivery>([&](Result<Delivery> answer) {
                             if (answer.ok()) ++values;
                             ++answers;
                             answered = true;
                           }));
        cancellation.cancel(cancelled("enough"));
        while (!answered) std::this_thread::yield();
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i)
        if (rendezvous.send("k", number(i)).ok()) ++sent;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(answers == 2 * kEach);
  int left = 0;
  while (rendezvous.take("k").ok()) ++left;
  CHECK(values + left == sent);
}

}  // namespace
}  // namespace millrace
