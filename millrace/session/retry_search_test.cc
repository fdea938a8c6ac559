// Every way that two threads of a client and three steps can go, up to a bound of faults: the book
// of retry_book.h and the owner's (applied_book.h), with tries between them that are lost, doubled,
// late and out of order, connections that break at any moment while a try goes on without them, and
// updates that fail. Each state is visited once; what must hold is looked at in all of them.
//
// And the same with a bug put in, for the search must find it.
#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/ops/state/applied_book.h"
#include "millrace/session/retry_book.h"

namespace millrace {
namespace {

constexpr int kRetryingThreads = 2, kRetriedSteps = 3, kMostTries = 3;

enum class RetryBug {
  none,
  asks_no_book,      // the owner applies whatever comes
  names_each_try,    // a step that is made again is another step
  forgets_the_other  // a name says that the other thread's step has been answered
};

struct RetryFaults {
  int lost = 0, doubled = 0, broken = 0, failed = 0;
};

struct Try {
  enum class Kind { update, answer } kind = Kind::update;
  int step = 0;  // which of the client's, whatever it is called
  int request = 0;
  Lease name = {};
  bool at_work = false, succeeded = true;

  std::string text() const {
    std::string open;
    for (const uint64_t number : name.open) str_append(&open, number, ",");
    return str_cat(int(kind), step, ".", request, ".", name.number, ".", name.horizon, ".", open,
                   at_work, succeeded);
  }
};

struct Asking {
  int step = 0;         // 0: none
  uint64_t number = 0;  // as it is called
  int request = 0, tries = 0;
};

struct RetriedWorld {
  RetryBook client{7};
  AppliedBook owner;
  Asking threads[kRetryingThreads];
  int begun = 0, requests = 0;
  int effects[kRetriedSteps + 1] = {};
  bool is_answered[kRetriedSteps + 1] = {};
  std::vector<Try> tries;
  RetryFaults faults;

  std::string key() const {
    std::string text = str_cat(owner.description(), "|", begun);
    for (const Asking& each : threads)
      str_append(&text, "|", each.step, ".", each.number, ".", each.request, ".", each.tries);
    for (int step = 1; step <= kRetriedSteps; ++step)
      str_append(&text, "|", effects[step], is_answered[step]);
    std::multiset<std::string> sorted;
    for (const Try& each : tries) sorted.insert(each.text());
    for (const std::string& each : sorted) str_append(&text, "|", each);
    str_append(&text, "|", faults.lost, faults.doubled, faults.broken, faults.failed);
    return text;
  }
};

class RetrySearch {
 public:
  RetrySearch(RetryFaults most, RetryBug bug) : most_(most), bug_(bug) {}

  // The first thing that must not be, or empty.
  std::string run() {
    visit(RetriedWorld());
    while (!open_.empty() && broken_.empty()) {
      const RetriedWorld world = std::move(open_.front());
      open_.pop_front();
      step(world);
    }
    return broken_;
  }
  size_t states() const { return seen_.size(); }
  size_t ends() const { return ends_; }

 private:
  void visit(RetriedWorld world) {
    if (!broken_.empty() || !seen_.insert(world.key()).second) return;
    for (int step = 1; step <= kRetriedSteps; ++step) {
      const int times = world.effects[step];
      if (times > 1) broken_ = str_cat("step ", step, " counted ", times, " times");
      if (times == 0 && world.is_answered[step])
        broken_ = str_cat("step ", step, " was answered and not counted");
    }
    open_.push_back(std::move(world));
  }

  // Everything that may happen next.
  void step(const RetriedWorld& world) {
    bool moved = false;
    const auto next = [&](auto change) {
      RetriedWorld after = world;
      if (!change(after)) return;
      moved = true;
      visit(std::move(after));
    };
    for (size_t i = 0; i < world.tries.size(); ++i) {
      next([&](RetriedWorld& after) { return deliver(after, i); });
      if (world.tries[i].at_work) {
        next([&](RetriedWorld& after) { return fail(after, i); });
        continue;
      }
      next([&](RetriedWorld& after) {
        if (after.faults.lost++ >= most_.lost) return false;
        after.tries.erase(after.tries.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      });
      next([&](RetriedWorld& after) {
        if (after.faults.doubled++ >= most_.doubled) return false;
        after.tries.push_back(after.tries[i]);
        return true;
      });
    }
    for (int thread = 0; thread < kRetryingThreads; ++thread) {
      next([&](RetriedWorld& after) { return begin(after, thread); });
      next([&](RetriedWorld& after) { return breaks(after, thread); });
    }
    if (!moved) finish(world);
  }

  bool begin(RetriedWorld& world, int thread) {
    Asking& asking = world.threads[thread];
    if (asking.step != 0 || world.begun == kRetriedSteps) return false;
    asking = {.step = ++world.begun, .number = world.client.begin()};
    send(world, asking);
    return true;
  }

  // The client hears of it; what is on its way goes on.
  bool breaks(RetriedWorld& world, int thread) {
    Asking& asking = world.threads[thread];
    if (asking.step == 0) return false;
    const bool may_be_answered = std::ranges::any_of(
        world.tries, [&](const Try& each) { return each.request == asking.request; });
    // Whoever can't be answered any more hears of that, however many faults there were.
    if (may_be_answered && world.faults.broken++ >= most_.broken) return false;
    again(world, asking);
    return true;
  }

  void again(RetriedWorld& world, Asking& asking) {
    const bool is_given_up = asking.tries == kMostTries;
    if (is_given_up || bug_ == RetryBug::names_each_try) world.client.end(asking.number);
    if (is_given_up) {
      asking = {};
      return;
    }
    if (bug_ == RetryBug::names_each_try) asking.number = world.client.begin();
    send(world, asking);
  }

  void send(RetriedWorld& world, Asking& asking) {
    ++asking.tries;
    asking.request = ++world.requests;
    Lease name = decode_lease(world.client.name(asking.number)).value();
    if (bug_ == RetryBug::forgets_the_other) name.open = {name.number};
    world.tries.push_back({.step = asking.step, .request = asking.request, .name = name});
  }

  bool deliver(RetriedWorld& world, size_t at) {
    Try made = world.tries[at];
    if (made.kind == Try::Kind::update) return update(world, at, std::move(made));
    world.tries.erase(world.tries.begin() + static_cast<std::ptrdiff_t>(at));
    for (Asking& asking : world.threads) {
      if (asking.step == 0 || asking.request != made.request) continue;
      if (!made.succeeded) {
        again(world, asking);
        continue;
      }
      world.client.end(asking.number);
      world.is_answered[asking.step] = true;
      asking = {};
    }
    return true;
  }

  // At the owner: first it begins, then it ends.
  bool update(RetriedWorld& world, size_t at, Try made) {
    if (!made.at_work) {
      const auto verdict = bug_ == RetryBug::asks_no_book ? AppliedBook::Verdict::run
                                                          : world.owner.begin(made.name, "add");
      if (verdict == AppliedBook::Verdict::wait) return false;
      made.at_work = verdict == AppliedBook::Verdict::run;
      if (made.at_work) {
        world.tries[at] = std::move(made);
        return true;
      }
    } else {
      ++world.effects[made.step];
      world.owner.end(made.name, "add", AppliedBook::Outcome::applied);
    }
    answer(world, at, std::move(made), true);
    return true;
  }

  // The task heard that the connection broke, and ends what is under way.
  bool fail(RetriedWorld& world, size_t at) {
    if (world.faults.failed++ >= most_.failed) return false;
    world.owner.end(world.tries[at].name, "add", AppliedBook::Outcome::failed);
    answer(world, at, world.tries[at], false);
    return true;
  }

  static void answer(RetriedWorld& world, size_t at, Try made, bool succeeded) {
    made.kind = Try::Kind::answer;
    made.at_work = false;
    made.succeeded = succeeded;
    world.tries[at] = std::move(made);
  }

  // Nothing is on its way: with the next name that it hears the owner has forgotten all others.
  void finish(RetriedWorld world) {
    ++ends_;
    if (world.begun != kRetriedSteps) broken_ = "a thread waits without end";
    const Lease name = decode_lease(world.client.name(world.client.begin())).value();
    (void)world.owner.begin(name, "add");
    if (bug_ == RetryBug::none && world.owner.num_updates() != 1)
      broken_ = str_cat(world.owner.num_updates(), " updates are kept in mind");
  }

  const RetryFaults most_;
  const RetryBug bug_;
  std::string broken_;
  size_t ends_ = 0;
  std::unordered_set<std::string> seen_;
  std::deque<RetriedWorld> open_;
};

void hold_however(const char* what, RetryFaults most) {
  RetrySearch search(most, RetryBug::none);
  CHECK(search.run() == "");
  MESSAGE(std::string(what), ": ", search.states(), " states, ", search.ends(), " ends");
  CHECK(search.ends() > 0);
}

TEST_CASE("however connections break, a step is counted once if it is answered, and never twice") {
  hold_however("two ways that break", {.broken = 2});
  hold_however("a loss and a way that breaks", {.lost = 1, .broken = 1});
  hold_however("a loss and a doubled try", {.lost = 1, .doubled = 1});
  hold_however("a way that breaks, an update that fails", {.broken = 1, .failed = 1});
  hold_however("a doubled try, an update that fails", {.doubled = 1, .failed = 1});
}

TEST_CASE("the search finds each bug that is put into it") {
  const auto found = [](RetryBug bug) { return RetrySearch({.lost = 1, .broken = 1}, bug).run(); };
  CHECK(found(RetryBug::asks_no_book).ends_with("counted 2 times"));
  CHECK(found(RetryBug::names_each_try).ends_with("counted 2 times"));
  CHECK(found(RetryBug::forgets_the_other).ends_with("was answered and not counted"));
}

}  // namespace
}  // namespace millrace
