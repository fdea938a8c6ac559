// The rules of updates that happen once, as transcripts: "begin 2.0 add" is step 0 under element 2
// of queue 7.
#include "millrace/ops/state/applied_book.h"

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// What queue 7 says when it has lent `horizon - 1` elements of which only `open` have not ended.
Lease lease_of(uint64_t number, uint64_t horizon, std::vector<uint64_t> open, uint64_t step = 0,
               uint64_t settled = 0) {
  return {.queue = 7,
          .number = number,
          .attempt = 1,
          .step = step,
          .settled = settled,
          .horizon = horizon,
          .open = std::move(open)};
}

std::string word(AppliedBook::Verdict verdict) {
  constexpr const char* kWords[] = {"run", "done", "wait"};
  return kWords[static_cast<int>(verdict)];
}

struct Updates {
  AppliedBook book;
  std::string begin(const Lease& lease, std::string_view update = "add") {
    return word(book.begin(lease, update));
  }
  void end(const Lease& lease, AppliedBook::Outcome outcome = AppliedBook::Outcome::applied,
           std::string_view update = "add") {
    book.end(lease, update, outcome);
  }
};

TEST_CASE("an update is applied by who comes first, and by nobody else") {
  Updates updates;
  const Lease first = lease_of(1, 2, {1});
  CHECK(updates.begin(first) == "run");
  CHECK(updates.begin(first) == "wait");
  updates.end(first);
  Lease second = first;
  second.attempt = 2;
  CHECK(updates.begin(second) == "done");
  CHECK(updates.book.description() == "queue 7: all below 2 but 1; 1: settled 0, 0 add applied");
}

TEST_CASE("an update that failed is another attempt's to make") {
  Updates updates;
  const Lease lease = lease_of(1, 2, {1});
  CHECK(updates.begin(lease) == "run");
  updates.end(lease, AppliedBook::Outcome::failed);
  CHECK(updates.begin(lease) == "run");
}

TEST_CASE("other steps, other nodes, other elements and other queues are other updates") {
  Updates updates;
  CHECK(updates.begin(lease_of(1, 3, {1, 2})) == "run");
  CHECK(updates.begin(lease_of(1, 3, {1, 2}, 1)) == "run");
  CHECK(updates.begin(lease_of(2, 3, {1, 2})) == "run");
  CHECK(updates.begin(lease_of(1, 3, {1, 2}), "subtract") == "run");
  Lease elsewhere = lease_of(1, 3, {1, 2});
  elsewhere.queue = 8;
  CHECK(updates.begin(elsewhere) == "run");
  CHECK(updates.book.num_updates() == 5);
}

TEST_CASE("what has ended is forgotten, and a straggler that works on it does nothing") {
  Updates updates;
  const Lease first = lease_of(1, 2, {1});
  CHECK(updates.begin(first) == "run");
  updates.end(first);
  CHECK(updates.begin(lease_of(3, 4, {3})) == "run");
  CHECK(updates.book.description() == "queue 7: all below 4 but 3; 3: settled 0, 0 add running");
  CHECK(updates.begin(first) == "done");
  CHECK(updates.begin(lease_of(2, 3, {1, 2})) == "done");
}

TEST_CASE("news that comes late takes nothing back") {
  Updates updates;
  CHECK(updates.begin(lease_of(5, 6, {3, 5})) == "run");
  CHECK(updates.begin(lease_of(4, 5, {2, 3, 4})) == "done");
  CHECK(updates.begin(lease_of(3, 4, {1, 2, 3})) == "run");
  CHECK(updates.book.description().starts_with("queue 7: all below 6 but 3, 5;"));
  CHECK(updates.begin(lease_of(7, 8, {5, 7})) == "run");
  CHECK(updates.book.description().starts_with("queue 7: all below 8 but 5, 7;"));
}

TEST_CASE("steps below which all went well are remembered as one number") {
  Updates updates;
  for (uint64_t step = 0; step < 1'000; ++step) {
    const Lease lease = lease_of(1, 2, {1}, step, step);
    CHECK(updates.begin(lease) == "run");
    updates.end(lease);
  }
  CHECK(updates.book.num_updates() == 1);
  CHECK(updates.begin(lease_of(1, 2, {1}, 0, 0)) == "done");
  CHECK(updates.begin(lease_of(1, 2, {1}, 999, 0)) == "done");
  CHECK(updates.begin(lease_of(1, 2, {1}, 1'000, 0)) == "run");
}

TEST_CASE("the book does not grow with what passes, also while one element is never ended") {
  Updates updates;
  for (uint64_t number = 2; number < 10'000; ++number) {
    const Lease lease = lease_of(number, number + 1, {1, number});
    CHECK(updates.begin(lease) == "run");
    updates.end(lease);
  }
  CHECK(updates.book.num_updates() == 1);
  CHECK(updates.book.num_elements() == 3);
}

TEST_CASE("of too many queues the one that was silent for longest is forgotten") {
  AppliedBook book(2);
  Lease lease = lease_of(1, 2, {1});
  for (const uint64_t queue : {1, 2, 1, 3}) {
    lease.queue = queue;
    (void)book.begin(lease, "add");
  }
  CHECK(book.description() ==
        "queue 1: all below 2 but 1; 1: settled 0, 0 add running\n"
        "queue 3: all below 2 but 1; 1: settled 0, 0 add running");
}

TEST_CASE("what is kept of the book is what was applied, and only what has changed is told") {
  Updates updates;
  updates.book.take_changes(true);
  for (uint64_t number : {1, 2}) {
    const Lease lease = lease_of(number, 3, {1, 2}, 1, 1);
    CHECK(updates.begin(lease) == "run");
    if (number == 1) updates.end(lease);
  }
  const AppliedBook::Changes changes = updates.book.take_changes(false);
  CHECK_FALSE(changes.is_all);
  REQUIRE(changes.parts.size() == 1);
  AppliedBook next;
  next.put_back(changes.parts[0]);
  CHECK(next.description() ==
        "queue 7: all below 3 but 1, 2; 1: settled 1, 1 add applied; 2: settled 1");
  CHECK(updates.book.take_changes(false).parts.empty());
  updates.book.note_applied({7, 2, 1, "add"});
  updates.book.note_applied({7, 2, 0, "add"});  // of a step that is settled
  CHECK(updates.book.take_changes(false).parts.size() == 1);
  CHECK(updates.begin(lease_of(2, 3, {1, 2}, 1, 1)) == "done");
}

TEST_CASE("once a queue is forgotten all others are told again") {
  AppliedBook book(2);
  Lease lease = lease_of(1, 2, {1});
  for (const uint64_t queue : {2, 1}) {
    lease.queue = queue;
    (void)book.begin(lease, "add");
  }
  CHECK(book.take_changes(false).parts.size() == 2);
  lease.queue = 3;
  (void)book.begin(lease, "add");
  const AppliedBook::Changes changes = book.take_changes(false);
  CHECK(changes.is_all);
  REQUIRE(changes.parts.size() == 2);
  CHECK(changes.parts[0].queue == 1);  // in the order in which they were heard of
  CHECK(changes.parts[1].queue == 3);
}

}  // namespace
}  // namespace millrace
