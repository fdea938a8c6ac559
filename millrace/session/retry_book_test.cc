// Under which names a client's steps go, what the owner of a variable makes of them, and how long
// broken calls are made again.
#include "millrace/session/retry_book.h"

#include <chrono>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/ops/state/applied_book.h"
#include "millrace/session/retry_pace.h"

namespace millrace {
namespace {

// "#2 a1 of 3 but 1 2": the step, the attempt, the horizon, what is open.
std::string shown_name(const std::string& bytes) {
  const Lease lease = decode_lease(bytes).value();
  std::string text = str_cat("#", lease.number, " a", lease.attempt, " below ", lease.horizon);
  for (const uint64_t number : lease.open)
    str_append(&text, number == lease.open.front() ? " but " : " ", number);
  return text;
}

// The owner of a variable, to which messages come in any order, or twice.
struct Owner {
  AppliedBook book;
  int total = 0;
  // An attempt that is made whole. Whether it changed anything.
  bool add_one(const std::string& name) {
    const Lease lease = decode_lease(name).value();
    if (book.begin(lease, "add") != AppliedBook::Verdict::run) return false;
    ++total;
    book.end(lease, "add", AppliedBook::Outcome::applied);
    return true;
  }
};

TEST_CASE(
    "a step has one number however often it is made, and the name tells which others are open") {
  RetryBook client(7);
  const uint64_t first = client.begin();
  CHECK(shown_name(client.name(first)) == "#1 a1 below 2 but 1");
  const uint64_t second = client.begin();
  CHECK(shown_name(client.name(second)) == "#2 a1 below 3 but 1 2");
  CHECK(shown_name(client.name(first)) == "#1 a2 below 3 but 1 2");
  client.end(first);
  CHECK(shown_name(client.name(second)) == "#2 a2 below 3 but 2");
}

TEST_CASE("an update that arrived is not made again; one that did not arrive is") {
  RetryBook client(7);
  Owner owner;
  const uint64_t arrives = client.begin();
  CHECK(owner.add_one(client.name(arrives)));
  CHECK_FALSE(owner.add_one(client.name(arrives)));
  client.end(arrives);
  const uint64_t lost = client.begin();
  (void)client.name(lost);
  CHECK(owner.add_one(client.name(lost)));
  CHECK(owner.total == 2);
}

TEST_CASE("an attempt that was held up on its way changes nothing after its step was answered") {
  RetryBook client(7);
  Owner owner;
  const uint64_t step = client.begin();
  const std::string late = client.name(step);
  CHECK(owner.add_one(client.name(step)));
  client.end(step);
  CHECK(owner.add_one(client.name(client.begin())));
  CHECK_FALSE(owner.add_one(late));
  CHECK(owner.total == 2);
}

TEST_CASE("what an owner remembers of a client does not grow with its steps") {
  RetryBook client(7);
  Owner owner;
  const uint64_t slow = client.begin();
  CHECK(owner.add_one(client.name(slow)));
  for (int i = 0; i < 1000; ++i) {
    const uint64_t step = client.begin();
    CHECK(owner.add_one(client.name(step)));
    client.end(step);
  }
  CHECK(owner.total == 1001);
  CHECK(owner.book.num_updates() == 2);
  CHECK_FALSE(owner.add_one(client.name(slow)));
}

// "50 100 - UNAVAILABLE": the pauses after these failures, until one is the answer.
std::string paces(int times, std::initializer_list<Status> outcomes) {
  RetryPace pace(times);
  std::string text;
  for (const Status& outcome : outcomes) {
    const auto pause = pace.after(outcome);
    if (!pause) return str_cat(text, "- ", code_name(outcome.code()));
    str_append(&text, std::chrono::duration_cast<std::chrono::milliseconds>(*pause).count(), " ");
  }
  return text;
}

TEST_CASE("a broken connection is waited for with growing pauses, as often as it was asked for") {
  const Status broken = unavailable("cut");
  CHECK(paces(0, {broken}) == "- UNAVAILABLE");
  CHECK(paces(2, {broken, broken, broken}) == "50 100 - UNAVAILABLE");
  CHECK(paces(9, {broken, broken, broken, broken, broken, broken, broken}) ==
        "50 100 200 400 800 1000 1000 ");
}

TEST_CASE(
    "what may be the end of a broken step is tried once more, and a step's own error is not") {
  CHECK(paces(9, {invalid("shape")}) == "- INVALID_ARGUMENT");
  CHECK(paces(9, {cancelled("step"), cancelled("queue is closed")}) == "50 - CANCELLED");
  CHECK(paces(9, {unavailable("cut"), cancelled("step"), unavailable("cut"), aborted("gone"),
                  aborted("gone")}) == "50 100 200 400 - ABORTED");
}

TEST_CASE("an answer that leaves in the dark what was done says so, and any other is as it was") {
  RetryPace pace(9);
  (void)pace.after(unavailable("cut"));
  CHECK(pace.told(aborted("Session 's' is not found")).to_string() ==
        "ABORTED: Session 's' is not found; it was made 1 time more, and nobody knows whether its "
        "updates were made; at first: UNAVAILABLE: cut");
  CHECK(pace.told(invalid("shape")) == invalid("shape"));
  RetryPace unbroken(9);
  (void)unbroken.after(cancelled("queue is closed"));
  CHECK(unbroken.told(cancelled("queue is closed")) == cancelled("queue is closed"));
}

}  // namespace
}  // namespace millrace
