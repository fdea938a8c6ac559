// An owner, its standby and their witness in stories. Messages arrive in the order in which they
// were sent, but where a story cuts a way; standby_search_test.cc has all other orders.
#include "millrace/cluster/standby.h"

#include <array>
#include <deque>
#include <functional>
#include <utility>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"

namespace millrace::simulation {
namespace {

// Sides 1 and 2. What each of them does is a line of the story.
class StandbyStory {
 public:
  void start(int side) {
    sides_[index(side)].emplace(static_cast<uint64_t>(side), side == 1, kept_[index(side)]);
    act(side, at(side).begin());
    go_on();
  }
  void kill(int side) {
    sides_[index(side)].reset();
    line(side, "dies");
  }
  void begin(int side) {
    act(side, at(side).begins());
    go_on();
  }
  // The disk has it.
  void written(int side) {
    kept_[index(side)].last = at(side).told_kept().last;
    act(side, at(side).wrote());
    go_on();
  }
  void write(int side) {
    begin(side);
    written(side);
  }
  void silent(int side) {
    line(side, "hears nothing any more");
    act(side, at(side).silent());
    go_on();
  }
  void again(int side) {
    act(side, at(side).again());
    go_on();
  }
  // Between the sides nothing arrives.
  void cut(bool is_cut) { is_cut_ = is_cut; }
  // Nor anything from this side at the witness, until it is let go on.
  void hold_back(int side) { held_back_ = side; }
  void let_go() {
    held_back_ = 0;
    go_on();
  }
  void forget() { witness_ = TermBook(); }

  // What happened since the last call.
  std::string told() { return std::exchange(text_, ""); }
  StandbySide& at(int side) { return *sides_[index(side)]; }
  const Term& term() const { return witness_.term(); }

 private:
  static size_t index(int side) { return static_cast<size_t>(side - 1); }
  void line(int side, std::string_view what) { str_append(&text_, side, " ", what, "\n"); }

  void act(int side, const StandbySide::Actions& actions) {
    using Kind = StandbyAction::Kind;
    for (const StandbyAction& action : actions) {
      switch (action.kind) {
        case Kind::ask:
          ways_.push_back({side, [this, side] { tell(side); }});
          break;
        case Kind::propose:
          line(side, str_cat("wants ", to_text(action.term)));
          ways_.push_back({side, [this, side, wanted = action.term] {
                             witness_.propose(wanted);
                             tell(side);
                           }});
          break;
        case Kind::send:
          if (is_cut_) break;
          str_append(&text_, to_text(action.message), "\n");
          ways_.push_back({0, [this, side, message = action.message] { hear(3 - side, message); }});
          break;
        case Kind::keep:
          kept_[index(side)] = action.kept;
          break;
        case Kind::serve:
          kept_[index(side)] = action.kept;
          line(side, str_cat("serves under ", to_text(action.term)));
          break;
        case Kind::acknowledge:
          line(side, str_cat("acknowledges ", action.kept.last));
          break;
        case Kind::cease:
          line(side, "ceases");
          break;
        case Kind::refuse:
          line(side, "refuses to serve");
          break;
      }
    }
  }
  void tell(int side) {
    if (sides_[index(side)]) act(side, at(side).told(witness_.term()));
  }
  void hear(int side, const StandbyMessage& message) {
    if (sides_[index(side)]) act(side, at(side).heard(message));
  }
  void go_on() {
    std::deque<Way> held;
    while (!ways_.empty()) {
      const Way way = std::move(ways_.front());
      ways_.pop_front();
      if (way.from != 0 && way.from == held_back_) {
        held.push_back(way);
      } else {
        way.arrive();
      }
    }
    ways_ = std::move(held);
  }

  struct Way {
    int from = 0;  // to the witness; 0: to the other side
    std::function<void()> arrive;
  };
  TermBook witness_;
  std::array<std::optional<StandbySide>, 2> sides_;
  std::array<KeptStream, 2> kept_;  // on the disks
  std::deque<Way> ways_;
  bool is_cut_ = false;
  int held_back_ = 0;
  std::string text_;
};

// Both there, in step, and one group acknowledged.
StandbyStory paired() {
  StandbyStory story;
  story.start(1);
  story.start(2);
  story.again(2);
  story.write(1);
  story.told();
  return story;
}

TEST_CASE("the first side owns the state, and waits for the other one once that keeps up") {
  StandbyStory story;
  story.start(1);
  story.write(1);
  CHECK(story.told() ==
        "1 wants term 1: 1 owns since 1\n"
        "1 serves under term 1: 1 owns since 1\n"
        "1 acknowledges 1\n");
  story.start(2);
  CHECK(story.told() ==
        "2 joins with 0.0 under term 1\n"
        "1 sends all to 1.1 under term 1\n"
        "2 has 1.1 under term 1\n"
        "1 wants term 2: 1 owns since 1, 2 stands by\n");
  story.write(1);
  CHECK(story.told() ==
        "1 sends group 1.2 under term 2\n"
        "2 has 1.2 under term 2\n"
        "1 acknowledges 2\n");
}

TEST_CASE("the standby follows an owner that died, which stands by when it comes back") {
  StandbyStory story = paired();
  story.kill(1);
  story.silent(2);
  story.write(2);
  CHECK(story.told() ==
        "1 dies\n"
        "2 hears nothing any more\n"
        "2 wants term 3: 2 owns since 3\n"
        "2 serves under term 3: 2 owns since 3\n"
        "2 acknowledges 2\n");
  story.start(1);
  CHECK(story.told() ==
        "1 joins with 1.1 under term 3\n"
        "2 sends all to 3.2 under term 3\n"
        "1 has 3.2 under term 3\n"
        "2 wants term 4: 2 owns since 3, 1 stands by\n");
  CHECK(story.at(1).kept() == story.at(2).kept());
}

TEST_CASE("an owner that is cut off from its standby goes on once the witness has agreed") {
  StandbyStory story = paired();
  story.cut(true);
  story.write(1);
  CHECK(story.told() == "");
  story.silent(1);
  CHECK(story.told() ==
        "1 hears nothing any more\n"
        "1 wants term 3: 1 owns since 1\n"
        "1 acknowledges 2\n");
  // The standby is later, and hears that it stands by no more.
  story.silent(2);
  CHECK(story.told() ==
        "2 hears nothing any more\n"
        "2 wants term 3: 2 owns since 3\n");
  CHECK(story.term() == Term{.number = 3, .owner = 1, .since = 1});
  story.cut(false);
  story.again(2);
  CHECK(story.told() ==
        "2 joins with 1.1 under term 3\n"
        "1 sends all to 1.2 under term 3\n"
        "2 has 1.2 under term 3\n"
        "1 wants term 4: 1 owns since 1, 2 stands by\n");
}

TEST_CASE("an owner that was cut off, and is late, acknowledges nothing more") {
  StandbyStory story = paired();
  story.cut(true);
  story.hold_back(1);
  story.write(1);
  story.silent(1);
  story.silent(2);
  story.write(2);
  CHECK(story.told() ==
        "1 hears nothing any more\n"
        "1 wants term 3: 1 owns since 1\n"
        "2 hears nothing any more\n"
        "2 wants term 3: 2 owns since 3\n"
        "2 serves under term 3: 2 owns since 3\n"
        "2 acknowledges 2\n");
  story.let_go();
  CHECK(story.told() == "1 ceases\n");
  // What it wrote and did not acknowledge makes room for what the other one has.
  story.cut(false);
  story.again(1);
  CHECK(story.told() ==
        "1 joins with 1.2 under term 3\n"
        "2 sends all to 3.2 under term 3\n"
        "1 has 3.2 under term 3\n"
        "2 wants term 4: 2 owns since 3, 1 stands by\n");
}

TEST_CASE("an owner that is started again owns the state under a new term, without its standby") {
  StandbyStory story = paired();
  story.kill(1);
  story.start(1);
  CHECK(story.told() ==
        "1 dies\n"
        "1 wants term 3: 1 owns since 3\n"
        "1 serves under term 3: 1 owns since 3\n");
  story.again(2);
  CHECK(story.term() == Term{.number = 4, .owner = 1, .since = 3, .standby = 2});
}

TEST_CASE("a group goes to the standby while the owner's disk is at it, and both have to have it") {
  StandbyStory story = paired();
  story.begin(1);
  CHECK(story.told() ==
        "1 sends group 1.2 under term 2\n"
        "2 has 1.2 under term 2\n");
  story.written(1);
  CHECK(story.told() == "1 acknowledges 2\n");
  // The other way round.
  story.cut(true);
  story.write(1);
  story.cut(false);
  CHECK(story.told() == "");
  story.again(1);
  CHECK(story.told() ==
        "1 sends all to 1.3 under term 2\n"
        "2 has 1.3 under term 2\n"
        "1 acknowledges 3\n");
}

TEST_CASE("what the owner's disk has refused is acknowledged with the next group that it has") {
  StandbyStory story = paired();
  story.begin(1);
  story.begin(1);
  story.told();
  story.written(1);
  CHECK(story.told() == "1 acknowledges 3\n");
}

TEST_CASE("an owner that dies before its disk has what its standby has comes back without it") {
  StandbyStory story = paired();
  story.begin(1);
  story.kill(1);
  CHECK(story.at(2).kept() == KeptStream{1, 2});
  story.start(1);
  story.again(2);
  // Nobody was told of the second group.
  CHECK(story.at(1).kept() == KeptStream{3, 1});
  CHECK(story.at(2).kept() == KeptStream{3, 1});
  CHECK(story.term() == Term{.number = 4, .owner = 1, .since = 3, .standby = 2});
}

TEST_CASE("who begins to follow gets what has begun while the state was on its way to it") {
  StandbySide owner(1, true, {});
  (void)owner.begin();
  (void)owner.told({});
  (void)owner.told({.number = 1, .owner = 1, .since = 1});
  (void)owner.begins();
  (void)owner.wrote();
  using Kind = StandbyMessage::Kind;
  const Term term = owner.known();
  CHECK(owner.heard({.kind = Kind::join, .store = 2, .term = term}).size() == 1);
  CHECK(owner.begins().empty());
  (void)owner.wrote();
  const auto actions = owner.heard({.kind = Kind::has, .store = 2, .term = term, .kept = {1, 1}});
  REQUIRE(actions.size() == 1);
  CHECK(to_text(actions[0].message) == "1 sends all to 1.2 under term 1");
  // It is waited for from now on, and gets each group.
  CHECK(to_text(owner.begins().at(0).message) == "1 sends group 1.3 under term 1");
}

TEST_CASE("where the witness has forgotten what it knew nobody serves") {
  StandbyStory story = paired();
  story.kill(1);
  story.forget();
  story.told();
  story.start(1);
  CHECK(story.told() == "1 refuses to serve\n");
}

TEST_CASE("of all that want to follow a term one does, and what makes no sense never does") {
  TermBook book;
  const Term first{.number = 1, .owner = 1, .since = 1};
  CHECK(book.propose(first) == first);
  const Term paired{.number = 2, .owner = 1, .since = 1, .standby = 2};
  CHECK(book.propose(paired) == paired);
  CHECK(book.propose({.number = 2, .owner = 2, .since = 2}) == paired);
  CHECK(book.propose(paired) == paired);
  for (const Term& senseless :
       {Term{.number = 4, .owner = 2, .since = 4}, Term{.number = 3, .owner = 0, .since = 3},
        Term{.number = 3, .owner = 2, .since = 1}, Term{.number = 3, .owner = 1, .since = 2},
        Term{.number = 3, .owner = 1, .since = 1, .standby = 1}})
    CHECK(book.propose(senseless) == paired);
  const Term next{.number = 3, .owner = 2, .since = 3};
  CHECK(book.propose(next) == next);
}

}  // namespace
}  // namespace millrace::simulation
