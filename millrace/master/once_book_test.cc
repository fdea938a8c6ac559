// How a session that counts once numbers its steps, and what it acknowledges when.
#include "millrace/master/once_book.h"

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr uint64_t kTake = 1, kAdd = 2, kOther = 3;  // signatures

std::string lent(uint64_t number, uint64_t queue = 7, uint32_t attempt = 1) {
  return encode_lease({.queue = queue,
                       .number = number,
                       .attempt = attempt,
                       .horizon = number + 1,
                       .open = {number}});
}

// "#5 step 1 settled 0".
std::string told(const OnceBook::Step& step) {
  const Lease lease = decode_lease(step.lease).value();
  if (!lease.has_element()) return "no lease";
  return str_cat("#", lease.number, " step ", lease.step, " settled ", lease.settled);
}

struct Taker {
  OnceBook book;
  std::string take(uint64_t number, uint64_t queue = 7) {
    const OnceBook::Step step = book.begin(OnceBook::Kind::takes, kTake).value();
    const std::string left = book.end(step, {}, lent(number, queue)).value();
    if (left.empty()) return told(step);
    return str_cat(told(step), "; still to end #", decode_lease(left)->number);
  }
  OnceBook::Step begin(uint64_t signature) {
    return book.begin(OnceBook::Kind::updates, signature).value();
  }
  std::string step(uint64_t signature, const Status& outcome = {}) {
    const OnceBook::Step step = begin(signature);
    (void)book.end(step, outcome, {});
    return told(step);
  }
  void fail_to_take(const Status& why) {
    const OnceBook::Step step = book.begin(OnceBook::Kind::takes, kTake).value();
    (void)book.end(step, why, {});
  }
};

TEST_CASE("a take brings the lease of the element before, and steps in between are numbered") {
  Taker taker;
  CHECK_FALSE(taker.book.has_lease());
  CHECK(taker.take(5) == "no lease");
  CHECK(taker.book.has_lease());
  CHECK(taker.step(kAdd) == "#5 step 1 settled 1");
  CHECK(taker.step(kAdd) == "#5 step 2 settled 2");
  CHECK(taker.take(6) == "#5 step 3 settled 3");
  CHECK(taker.step(kAdd) == "#6 step 1 settled 1");
}

TEST_CASE("a step that failed keeps its number for the same step, whatever is made in between") {
  Taker taker;
  (void)taker.take(5);
  CHECK(taker.step(kAdd, unavailable("lost")) == "#5 step 1 settled 1");
  CHECK(taker.step(kOther) == "#5 step 2 settled 1");
  CHECK(taker.step(kAdd) == "#5 step 1 settled 1");
  CHECK(taker.step(kAdd) == "#5 step 3 settled 3");
}

TEST_CASE("steps side by side have different numbers, and settle when the first has ended") {
  Taker taker;
  (void)taker.take(5);
  const OnceBook::Step first = taker.begin(kAdd), second = taker.begin(kAdd);
  CHECK(told(first) == "#5 step 1 settled 1");
  CHECK(told(second) == "#5 step 2 settled 1");
  (void)taker.book.end(second, {}, {});
  CHECK(taker.step(kAdd) == "#5 step 3 settled 1");
  (void)taker.book.end(first, {}, {});
  CHECK(taker.step(kAdd) == "#5 step 4 settled 4");
}

TEST_CASE("after a take that failed updates are nobody's, and the next take acknowledges") {
  Taker taker;
  (void)taker.take(5);
  taker.fail_to_take(out_of_range("closed"));
  CHECK_FALSE(taker.book.has_lease());
  CHECK_FALSE(taker.book.held().has_value());
  CHECK(taker.take(6) == "#5 step 1 settled 1");
  CHECK(taker.book.has_lease());
}

TEST_CASE("what has become a dead letter is not acknowledged again and again") {
  Taker taker;
  (void)taker.take(5);
  taker.fail_to_take(failed_precondition("element 5 is among the dead letters"));
  CHECK(taker.take(6) == "no lease");
}

TEST_CASE("two takes at once are refused, and the first goes on") {
  Taker taker;
  const OnceBook::Step first = taker.book.begin(OnceBook::Kind::takes, kTake).value();
  CHECK(taker.book.begin(OnceBook::Kind::takes, kTake).status().code() == Code::unimplemented);
  CHECK_FALSE(taker.book.has_lease());
  CHECK(taker.book.end(first, {}, lent(5)).ok());
  CHECK(taker.book.held()->lease == lent(5));
}

TEST_CASE("an element of another queue leaves the one before to be acknowledged by itself") {
  Taker taker;
  (void)taker.take(5);
  CHECK(taker.take(1, 8) == "#5 step 1 settled 1; still to end #5");
  CHECK(taker.step(kAdd) == "#1 step 1 settled 1");
}

TEST_CASE("a step with a dequeue that was not run takes nothing") {
  Taker taker;
  (void)taker.take(5);
  CHECK(taker.take(5) == "#5 step 1 settled 1");
  CHECK(taker.step(kAdd) == "#5 step 2 settled 2");
}

TEST_CASE("a step of an element before this one changes nothing when it ends") {
  Taker taker;
  (void)taker.take(5);
  const OnceBook::Step late = taker.begin(kAdd);
  (void)taker.take(6);
  (void)taker.book.end(late, unavailable("lost"), {});
  CHECK(taker.step(kAdd) == "#6 step 1 settled 1");
  CHECK(taker.step(kAdd) == "#6 step 2 settled 2");
}

}  // namespace
}  // namespace millrace
