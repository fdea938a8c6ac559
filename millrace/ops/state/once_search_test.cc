// Every way that two takers and three elements can go, up to a bound of faults: the two books of
// lease_book.h and applied_book.h with takers and messages between them that are lost, doubled,
// late and out of order, leases that run out at any moment, takers that die and come back, and
// updates that fail. Each state is visited once; what must hold is looked at in all of them.
//
// And the same with a bug put in, for the search must find it.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/ops/state/applied_book.h"
#include "millrace/ops/state/lease_book.h"

namespace millrace {
namespace {

constexpr int kTakers = 2, kElements = 3;
constexpr uint64_t kQueue = 7;

enum class Bug {
  none,
  applies_again,          // the owner of the state asks no book
  names_the_attempt,      // an update's name has the attempt in it
  settles_too_much,       // a taker says that the step is settled that it is about to make
  drops_exceptions,       // the lease lists no open elements
  ends_what_is_not_named  // a dequeue ends all that its session has
};

struct Faults {
  int lost = 0, doubled = 0, expired = 0, deaths = 0, failed = 0;
};

struct Setting {
  Faults most;
  uint64_t steps = 1;     // updates per element, one in each
  uint32_t attempts = 0;  // 0: no limit
  Bug bug = Bug::none;
};

struct Message {
  enum class Kind { take, taken, update, updated } kind;
  int taker = 0, life = 0, request = 0;
  uint64_t ends = 0;      // of take: the element that is acknowledged; 0: none
  bool is_over = false;   // of taken: there are no more
  Lease lease = {};       // of taken and update
  bool at_work = false;   // an update that is being applied
  bool succeeded = true;  // of updated

  std::string text() const {
    return str_cat(int(kind), ".", taker, ".", life, ".", request, ".", ends, is_over, at_work,
                   succeeded, lease.number, ".", lease.attempt, ".", lease.step, ".", lease.settled,
                   ".", lease.horizon, ":", lease.open.size(),
                   lease.open.empty() ? 0 : lease.open.front());
  }
};

struct Taker {
  enum class At { idle, taking, updating, finished } at = At::idle;
  int life = 0, request = 0;
  Lease lease = {};
  uint64_t step = 0;
};

struct World {
  // The queue's owner.
  LeaseBook book;
  std::vector<int> fresh = {0, 1, 2};
  std::set<uint64_t> returned, dead, ended;
  std::map<uint64_t, int> element_of;  // by number
  // The state's owner.
  AppliedBook applied;
  int effects[kElements][2] = {};
  // The takers and what is on its way.
  Taker takers[kTakers];
  std::vector<Message> messages;
  Faults faults;

  std::string key() const {
    std::string text = str_cat(book.description(), "|", applied.description(), "|");
    for (const int element : fresh) str_append(&text, element, ",");
    for (const auto& [number, element] : element_of)
      str_append(&text, number, "=", element, ended.contains(number) ? "e" : "", ",");
    for (const auto& row : effects) str_append(&text, "|", row[0], row[1]);
    for (const Taker& taker : takers) {
      str_append(&text, "|", int(taker.at), taker.life, taker.request, ".", taker.step, ".",
                 taker.lease.number, ".", taker.lease.attempt);
    }
    std::multiset<std::string> sorted;
    for (const Message& message : messages) sorted.insert(message.text());
    for (const std::string& message : sorted) str_append(&text, "|", message);
    str_append(&text, "|", faults.lost, faults.doubled, faults.expired, faults.deaths,
               faults.failed);
    return text;
  }
};

class Search {
 public:
  explicit Search(Setting setting) : setting_(setting) {}

  // The first thing that must not be, or empty.
  std::string run() {
    visit(World());
    while (!open_.empty() && broken_.empty()) {
      const World world = std::move(open_.front());
      open_.pop_front();
      step(world);
    }
    return broken_;
  }
  size_t states() const { return seen_.size(); }
  size_t ends() const { return ends_; }
  size_t ends_with_dead() const { return ends_with_dead_; }

 private:
  void visit(World world) {
    if (!broken_.empty() || !seen_.insert(world.key()).second) return;
    check(world);
    open_.push_back(std::move(world));
  }

  void check(const World& world) {
    for (const auto& [number, element] : world.element_of) {
      for (uint64_t step = 0; step < setting_.steps; ++step) {
        const int times = world.effects[element][step];
        if (times > 1) broken_ = str_cat("element ", element, " counted ", times, " times");
        if (times == 0 && world.ended.contains(number))
          broken_ = str_cat("element ", element, " ended and was not counted");
      }
    }
    if (world.element_of.size() + world.fresh.size() != kElements) broken_ = "an element is lost";
  }

  // Everything that may happen next.
  void step(const World& world) {
    bool moved = false;
    const auto next = [&](auto change) {
      World after = world;
      if (!change(after)) return;
      moved = true;
      visit(std::move(after));
    };
    for (size_t i = 0; i < world.messages.size(); ++i) {
      next([&](World& after) { return deliver(after, i); });
      if (world.messages[i].at_work) {
        next([&](World& after) { return fail(after, i); });
        continue;
      }
      next([&](World& after) {
        if (after.faults.lost++ >= setting_.most.lost) return false;
        after.messages.erase(after.messages.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      });
      next([&](World& after) {
        if (after.faults.doubled++ >= setting_.most.doubled) return false;
        after.messages.push_back(after.messages[i]);
        return true;
      });
    }
    for (int i = 0; i < kTakers; ++i) {
      next([&](World& after) { return ask(after, i); });
      next([&](World& after) { return die(after, i); });
    }
    for (const uint64_t number : world.book.open())
      next([&](World& after) { return expire(after, number); });
    if (!moved) finish(world);
  }

  // What a taker does of its own accord: begins, or asks again for what can't come any more.
  bool ask(World& world, int index) {
    Taker& taker = world.takers[index];
    if (taker.at == Taker::At::finished) return false;
    const bool waits = std::ranges::any_of(world.messages, [&](const Message& each) {
      return each.taker == index && each.life == taker.life && each.request == taker.request;
    });
    if (taker.at != Taker::At::idle && waits) return false;
    if (taker.at == Taker::At::idle) taker.at = Taker::At::taking;
    send(world, index);
    return true;
  }

  void send(World& world, int index) {
    Taker& taker = world.takers[index];
    Message message{.kind = Message::Kind::take,
                    .taker = index,
                    .life = taker.life,
                    .request = ++taker.request};
    if (taker.at == Taker::At::taking) {
      message.ends = taker.lease.number;
    } else {
      message.kind = Message::Kind::update;
      message.lease = taker.lease;
      message.lease.step = taker.step;
      message.lease.settled = taker.step + (setting_.bug == Bug::settles_too_much ? 1 : 0);
    }
    world.messages.push_back(std::move(message));
  }

  bool deliver(World& world, size_t at) {
    Message message = world.messages[at];
    switch (message.kind) {
      case Message::Kind::take:
        return take(world, at, message);
      case Message::Kind::update:
        return update(world, at, message);
      default:
        break;
    }
    world.messages.erase(world.messages.begin() + static_cast<std::ptrdiff_t>(at));
    Taker& taker = world.takers[message.taker];
    if (message.life != taker.life || message.request != taker.request) return true;
    if (message.kind == Message::Kind::taken) {
      taker.lease = message.lease;
      taker.step = 0;
      taker.at = message.is_over ? Taker::At::finished : Taker::At::updating;
    } else if (message.succeeded) {
      taker.at = ++taker.step == setting_.steps ? Taker::At::taking : Taker::At::updating;
    }
    if (taker.at != Taker::At::finished) send(world, message.taker);
    return true;
  }

  static uint64_t holder_of(const Message& message) {
    return 10 * static_cast<uint64_t>(message.taker) + static_cast<uint64_t>(message.life) + 1;
  }

  // At the queue's owner.
  bool take(World& world, size_t at, const Message& message) {
    World before = world;
    if (setting_.bug == Bug::ends_what_is_not_named) {
      // As far as a session has one: what comes back now and is not waited for is what it had.
      for (const uint64_t number : world.book.give_back_all_of(holder_of(message)).again)
        end(world, number);
    } else if (message.ends != 0) {
      end(world, message.ends);
    }
    Message answer = message;
    answer.kind = Message::Kind::taken;
    answer.ends = 0;
    const LeaseBook::Terms terms{
        .holder = holder_of(message), .until = Clock::Time(), .attempts = setting_.attempts};
    LeaseBook::Loan loan;
    if (!world.returned.empty()) {
      loan = world.book.lend_again(*world.returned.begin(), terms);
      world.returned.erase(world.returned.begin());
    } else if (!world.fresh.empty()) {
      loan = world.book.lend(terms);
      world.element_of[loan.number] = world.fresh.front();
      world.fresh.erase(world.fresh.begin());
    } else if (world.book.num_lent() > 0) {
      // Waits, for what is lent may come back; what it acknowledged is ended.
      return world.key() != before.key();
    } else {
      answer.is_over = true;
    }
    if (loan.number != 0) {
      answer.lease = {.queue = kQueue,
                      .number = loan.number,
                      .attempt = loan.attempt,
                      .horizon = world.book.horizon(),
                      .open = world.book.open()};
      if (setting_.bug == Bug::drops_exceptions) answer.lease.open.clear();
    }
    world.messages[at] = std::move(answer);
    return true;
  }

  static void end(World& world, uint64_t number) {
    const LeaseBook::Ending ending = world.book.end(number);
    if (ending == LeaseBook::Ending::dead) return;
    world.returned.erase(number);
    world.ended.insert(number);
  }

  // At the state's owner: first it begins, then it ends.
  bool update(World& world, size_t at, Message message) {
    Lease named = message.lease;
    if (setting_.bug == Bug::names_the_attempt) named.queue += named.attempt;
    if (!message.at_work) {
      const auto verdict = setting_.bug == Bug::applies_again ? AppliedBook::Verdict::run
                                                              : world.applied.begin(named, "add");
      if (verdict == AppliedBook::Verdict::wait) return false;
      message.at_work = verdict == AppliedBook::Verdict::run;
      if (message.at_work) {
        world.messages[at] = std::move(message);
        return true;
      }
    } else {
      ++world.effects[world.element_of.at(message.lease.number)][message.lease.step];
      world.applied.end(named, "add", AppliedBook::Outcome::applied);
    }
    answer(world, at, std::move(message), true);
    return true;
  }

  bool fail(World& world, size_t at) {
    if (world.faults.failed++ >= setting_.most.failed) return false;
    world.applied.end(world.messages[at].lease, "add", AppliedBook::Outcome::failed);
    answer(world, at, world.messages[at], false);
    return true;
  }

  static void answer(World& world, size_t at, Message message, bool succeeded) {
    message.kind = Message::Kind::updated;
    message.at_work = false;
    message.succeeded = succeeded;
    world.messages[at] = std::move(message);
  }

  bool expire(World& world, uint64_t number) {
    if (world.faults.expired++ >= setting_.most.expired) return false;
    // The attempt is whichever it is lent in; of the others, nothing comes back.
    for (uint32_t attempt = 1; attempt < 10; ++attempt)
      if (come_back(world, world.book.give_back(number, attempt))) return true;
    return false;
  }

  // Its session's next life comes, and with it all that it had.
  bool die(World& world, int index) {
    Taker& taker = world.takers[index];
    if (taker.at == Taker::At::finished || taker.at == Taker::At::idle) return false;
    if (world.faults.deaths++ >= setting_.most.deaths) return false;
    const Message last{.kind = Message::Kind::take, .taker = index, .life = taker.life};
    come_back(world, world.book.give_back_all_of(holder_of(last)));
    taker = {.life = taker.life + 1};
    return true;
  }

  static bool come_back(World& world, const LeaseBook::Returned& back) {
    world.returned.insert(back.again.begin(), back.again.end());
    world.dead.insert(back.dead.begin(), back.dead.end());
    return !back.again.empty() || !back.dead.empty();
  }

  // Nothing can happen any more, but that time passes: then all leases run out.
  void finish(const World& world) {
    if (world.book.num_lent() > 0) {
      World after = world;
      come_back(after, after.book.expire(Clock::Time()));
      return visit(std::move(after));
    }
    ++ends_;
    if (!world.dead.empty()) ++ends_with_dead_;
    if (world.ended.size() + world.dead.size() != kElements)
      broken_ = str_cat("all is quiet with ", world.ended.size(), " ended and ", world.dead.size(),
                        " dead");
    for (const Taker& taker : world.takers)
      if (taker.at != Taker::At::finished) broken_ = "a taker waits for ever";
  }

  const Setting setting_;
  std::deque<World> open_;
  std::unordered_set<std::string> seen_;
  size_t ends_ = 0, ends_with_dead_ = 0;
  std::string broken_;
};

void hold(const char* what, Setting setting, bool some_die = false) {
  Search search(setting);
  CHECK(search.run() == "");
  MESSAGE(std::string(what), ": ", search.states(), " states, ", search.ends(),
          " of them at the end, ", search.ends_with_dead(), " with dead letters");
  CHECK(search.states() > 1'000);
  CHECK((search.ends_with_dead() > 0) == some_die);
}

TEST_CASE("each element counts once, whatever is lost, late, doubled or dies") {
  hold("one loss and a doubled message", {.most = {.lost = 1, .doubled = 1}});
  hold("two leases that run out", {.most = {.expired = 2}});
  hold("a lease that runs out, a death", {.most = {.expired = 1, .deaths = 1}});
  hold("a doubled message, a lease that runs out", {.most = {.doubled = 1, .expired = 1}});
  hold("two steps, a death, a failed update", {.most = {.deaths = 1, .failed = 1}, .steps = 2});
  hold("two steps, a lease that runs out", {.most = {.expired = 1}, .steps = 2});
}

TEST_CASE("what is given up is among the dead letters, and counts once at most") {
  hold("two leases that run out, two attempts", {.most = {.expired = 2}, .attempts = 2}, true);
}

TEST_CASE("a bug that is put in is found") {
  const auto find = [](Bug bug, uint64_t steps) {
    return Search({.most = {.lost = 1, .expired = 1}, .steps = steps, .bug = bug}).run();
  };
  CHECK(find(Bug::none, 1) == "");
  CHECK(find(Bug::applies_again, 1).find("counted 2 times") != std::string::npos);
  CHECK(find(Bug::names_the_attempt, 1).find("counted 2 times") != std::string::npos);
  CHECK(find(Bug::settles_too_much, 1).find("ended and was not counted") != std::string::npos);
  CHECK(find(Bug::drops_exceptions, 1).find("ended and was not counted") != std::string::npos);
  CHECK(find(Bug::ends_what_is_not_named, 1).find("ended and was not counted") !=
        std::string::npos);
}

}  // namespace
}  // namespace millrace
