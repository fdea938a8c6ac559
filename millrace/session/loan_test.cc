// Elements that a queue lends to a program in C++: acknowledged, given back, lost, given up, and
// what is done for them, which is done once.
#include "millrace/session/loan.h"

#include <thread>

#include <doctest/doctest.h>

#include "millrace/session/testing/fleet.h"

namespace millrace {
namespace {

// A queue of numbers, a total of them, and how to add one.
struct Numbers {
  explicit Numbers(Server& server, LeaseTerms terms = {.lasts = std::chrono::hours(1)})
      : take(leased_dequeue(root, queue, {DType::i32}, terms)),
        session(Session::create(server).value()) {
    REQUIRE(session->extend(builder).ok());
  }
  void fill(std::initializer_list<int> elements) {
    REQUIRE(session->run({}, {}, {.targets = {zero.op().name()}}).ok());
    for (const int each : elements)
      REQUIRE(session->run(fed(each), {}, {.targets = {put.name()}}).ok());
    REQUIRE(session->run({}, {}, {.targets = {close.name()}}).ok());
  }
  Session::Feeds fed(int value) const { return {{number.name(), Tensor::scalar(value)}}; }
  std::unique_ptr<Loan> borrow() const { return Loan::take(*session, take).value(); }
  std::string value(const Output& fetch) const {
    return testing::text(session->run({}, {fetch.name()}));
  }
  // "5 a1": the element, and which attempt it is.
  static std::string shown(const Loan& loan) {
    return str_cat(loan.element().front().item<int32_t>(), " a", loan.attempt());
  }

  GraphBuilder builder{testing::runtime()->ops()};
  Scope root = builder.root();
  Output queue = ops::fifo_queue_v2(root, {DType::i32}, {.shared_name = "numbers"});
  Output number = ops::placeholder(root, DType::i32);
  Operation put = ops::queue_enqueue_v2(root, queue, {number});
  Operation close = ops::queue_close_v2(root, queue);
  Output total = ops::variable_v2(root.with_name("total"), PartialShape::scalar(), DType::i32);
  Output zero = ops::assign(root, total, 0);
  Output add = ops::assign_add(root, total, number);
  Operation checked = ops::assert_(root.after({add.op()}), false, {Input("not yet")});
  ops::QueueLeasesOutputs counts = ops::queue_leases(root, queue);
  Output letter = ops::queue_dead_letter(root, queue, {DType::i32}).front();
  LeasedDequeue take;
  std::unique_ptr<Session> session;
};

std::unique_ptr<Server> lending_server() {
  return Server::start(testing::alone(), testing::runtime()).value();
}

TEST_CASE(
    "an element that is acknowledged is not lent again; one that is dropped or given back is") {
  auto server = lending_server();
  Numbers numbers(*server);
  numbers.fill({5, 6});
  {
    const auto dropped = numbers.borrow();
    CHECK(Numbers::shown(*dropped) == "5 a1");
  }
  const auto given = numbers.borrow();
  CHECK(Numbers::shown(*given) == "5 a2");
  CHECK(given->give_back().ok());
  CHECK(given->give_back().ok());
  CHECK_FALSE(given->is_held());
  for (const char* expected : {"5 a3", "6 a1"}) {
    const auto loan = numbers.borrow();
    CHECK(Numbers::shown(*loan) == expected);
    CHECK(numbers.value(numbers.counts.lent) == "int32[] 1");
    CHECK(loan->acknowledge().ok());
    CHECK(loan->acknowledge().ok());
    CHECK(loan->run({}, {numbers.total.name()}).status().message() ==
          "the element was acknowledged or given back; take another one");
  }
  CHECK(Loan::take(*numbers.session, numbers.take).status().code() == Code::out_of_range);
}

TEST_CASE("each step of a loan is made once for its element, whatever is only read in between") {
  auto server = lending_server();
  Numbers numbers(*server);
  numbers.fill({5});
  for (const int reads : {2, 0}) {
    const auto loan = numbers.borrow();
    for (int i = 0; i < reads; ++i) CHECK(loan->run({}, {numbers.total.name()}).ok());
    CHECK(loan->run(numbers.fed(5), {}, {.targets = {numbers.add.op().name()}}).ok());
    CHECK(loan->run(numbers.fed(10), {numbers.add.name()}).ok());
  }
  CHECK(numbers.value(numbers.total) == "int32[] 15");
  // By the session itself: as often as it is asked for.
  for (int i = 0; i < 2; ++i)
    CHECK(numbers.session->run(numbers.fed(1), {numbers.add.name()}).ok());
  CHECK(numbers.value(numbers.total) == "int32[] 17");
}

TEST_CASE("a step of a loan that failed keeps its name for when it is made again") {
  auto server = lending_server();
  Numbers numbers(*server);
  numbers.fill({5});
  const auto loan = numbers.borrow();
  for (int i = 0; i < 2; ++i) {
    CHECK(loan->run(numbers.fed(5), {}, {.targets = {numbers.checked.name()}}).status().code() ==
          Code::invalid_argument);
  }
  CHECK(numbers.value(numbers.total) == "int32[] 5");
}

TEST_CASE("what came back too often is a dead letter") {
  auto server = lending_server();
  Numbers numbers(*server, {.lasts = std::chrono::hours(1), .attempts = 2});
  numbers.fill({5});
  for (int i = 0; i < 2; ++i) CHECK(numbers.borrow()->give_back().ok());
  CHECK(numbers.value(numbers.counts.dead) == "int32[] 1");
  CHECK(numbers.value(numbers.letter) == "int32[] 5");
}

TEST_CASE("a heartbeat tells that an element is lost, and then nothing is done for it any more") {
  auto server = lending_server();
  Numbers numbers(*server, {.lasts = std::chrono::milliseconds(300)});
  numbers.fill({5});
  const auto loan = numbers.borrow();
  // Somebody else ends it, as its time does when no heartbeat comes through.
  CHECK(numbers.session
            ->run({{numbers.take.fed.name(), Tensor::scalar(loan->lease())}}, {},
                  {.targets = {numbers.take.given_back.name()}})
            .ok());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (loan->is_held() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto is_told = [](const Status& status) {
    return status.code() == Code::failed_precondition &&
           status.message().find("(attempt 1) is lost") != std::string::npos;
  };
  CHECK(is_told(loan->run(numbers.fed(5), {numbers.add.name()}).status()));
  CHECK(is_told(loan->acknowledge()));
  CHECK(loan->give_back().ok());
  CHECK(numbers.value(numbers.total) == "int32[] 0");
}

TEST_CASE("a closed session has given back what it lent, and its loan says so") {
  auto server = lending_server();
  Numbers owner(*server), other(*server);
  owner.fill({5});
  const auto loan = other.borrow();
  CHECK(other.session->close().ok());
  CHECK(loan->acknowledge().code() == Code::failed_precondition);
  CHECK(Numbers::shown(*owner.borrow()) == "5 a2");
}

TEST_CASE("leases without an end or without time are errors of building") {
  for (const LeaseTerms terms : {LeaseTerms{.lasts = std::chrono::milliseconds(0)},
                                 LeaseTerms{.lasts = kLongestLeaseTime + std::chrono::seconds(1)},
                                 LeaseTerms{.attempts = -1}}) {
    GraphBuilder builder(testing::runtime()->ops());
    const Output queue = ops::fifo_queue_v2(builder.root(), {DType::i32});
    (void)leased_dequeue(builder.root(), queue, {DType::i32}, terms);
    CHECK(builder.status().code() == Code::invalid_argument);
  }
}

}  // namespace
}  // namespace millrace
