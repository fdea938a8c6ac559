// Every way that an owner, its standby and their witness can go, up to a bound of faults: messages
// that are lost, doubled, late and out of order, sides that die and come back with what their store
// has, stores that refuse what an owner writes, and suspicions of a side that lives. Each state is
// visited once. What must hold in all of them: a step that is acknowledged, be it one that only
// reads, has seen all that was acknowledged before it began, on whichever side; and from each state
// there is a way back to one that serves.
//
// And the same with a bug put in, for the search must find it.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <unordered_map>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/cluster/standby.h"

namespace millrace::simulation {
namespace {

enum class StandbyBug {
  none,
  acknowledges_unwritten,  // the owner waits for the standby, and not for its own store
  acknowledges_alone,      // the owner asks nobody whether the standby has it
  reads_alone,             // a step that changes nothing is answered at once
  has_before_it_is_kept,   // the standby says so, and what it has is in its memory
  witness_takes_all,       // and compares nothing
  asks_itself,             // a side that suspects the other one is its own witness
  asks_once                // what was lost is said no more
};

struct StandbyFaults {
  int lost = 0, doubled = 0, deaths = 0, suspicions = 0, refusals = 0;
};

struct StandbySetting {
  StandbyFaults most;
  int updates = 2, reads = 1;
  StandbyBug bug = StandbyBug::none;
};

// What was changed, one bit for each update.
using Changes = uint32_t;

struct Sent {
  enum class Kind : uint8_t { ask, propose, told, peer } kind = Kind::ask;
  int side = 0;  // that asks or is answered; that is to hear
  int life = 0;  // of it, for what goes to and from the witness: an answer finds no later one
  Term term = {};
  StandbyMessage message = {};
  Changes changes = 0;

  std::string text() const {
    return str_cat(int(kind), ".", side, ".", life, ".", brief(term), ".", int(message.kind), ".",
                   message.store, ".", brief(message.term), ".", message.kept.since, ".",
                   message.kept.last, ".", changes);
  }
  static std::string brief(const Term& term) {
    return str_cat(term.number, ",", term.owner, ",", term.since, ",", term.standby);
  }
};

struct Waiting {
  Changes seen = 0;   // what its answer shows
  Changes known = 0;  // what had been acknowledged when it began
  Changes made = 0;
};

struct StandbyPlayer {
  std::optional<StandbySide> side;  // none: it is dead
  int life = 0;
  KeptStream kept;                      // on the disk
  Changes changes = 0;                  // on the disk
  Changes unsafe = 0;                   // what is in memory only, under a bug
  Changes memory = 0;                   // of an owner that serves: what is on the disk, and more
  uint64_t writing = 0;                 // the group that its disk is at; 0: none
  bool is_refused = false;              // by the disk, so that the next group is all of the state
  std::map<uint64_t, Waiting> waiting;  // by group
};

struct StandbyWorld {
  TermBook witness;
  std::array<StandbyPlayer, 2> players;
  std::vector<Sent> sent;
  Changes acknowledged = 0;
  int updates = 0, reads = 0;
  StandbyFaults faults;

  std::string key() const {
    std::string text = to_text(witness.term());
    for (const StandbyPlayer& player : players) {
      str_append(&text, "|", player.life, player.side ? player.side->description() : "dead", ";",
                 player.kept.since, ".", player.kept.last, ".", player.changes, ".", player.unsafe,
                 ".", player.memory, ".", player.writing, player.is_refused ? "!" : "");
      for (const auto& [group, each] : player.waiting)
        str_append(&text, ",", group, ":", each.seen, ".", each.known, ".", each.made);
    }
    std::vector<std::string> texts;
    for (const Sent& each : sent) texts.push_back(each.text());
    std::ranges::sort(texts);
    for (const std::string& each : texts) str_append(&text, "|", each);
    str_append(&text, "|", acknowledged, ".", updates, ".", reads, ".", faults.lost, faults.doubled,
               faults.deaths, faults.suspicions, faults.refusals);
    return text;
  }
};

class StandbySearch {
 public:
  explicit StandbySearch(StandbySetting setting) : setting_(setting) {}

  // The first thing that must not be, or empty.
  std::string run() {
    StandbyWorld begin;
    for (int i = 0; i < 2; ++i) start(begin, i);
    visit(std::move(begin), kNowhere);
    while (!open_.empty() && broken_.empty()) {
      const auto [number, world] = std::move(open_.front());
      open_.pop_front();
      step(world, number);
    }
    if (broken_.empty()) look_for_dead_ends();
    return broken_;
  }
  size_t states() const { return seen_.size(); }
  size_t ends() const { return ends_.size(); }

 private:
  static constexpr size_t kNowhere = static_cast<size_t>(-1);

  // `from` leads there without a fault.
  void visit(StandbyWorld world, size_t from) {
    if (!broken_.empty()) return;
    std::erase_if(world.sent, [&](const Sent& each) { return says_nothing(world, each); });
    const auto [found, is_new] = seen_.emplace(world.key(), seen_.size());
    if (is_new) {
      into_.emplace_back();
      if (is_end(world)) ends_.push_back(found->second);
    }
    if (from != kNowhere) into_[found->second].push_back(from);
    if (is_new) open_.emplace_back(found->second, std::move(world));
  }

  // An answer to who is dead, or knows a later one.
  static bool says_nothing(const StandbyWorld& world, const Sent& sent) {
    if (sent.kind != Sent::Kind::told) return false;
    const StandbyPlayer& who = world.players[static_cast<size_t>(sent.side)];
    return !who.side || who.life != sent.life ||
           (sent.term.number != 0 && sent.term.number <= who.side->known().number);
  }

  // All that was to be done is done, and whoever owns the state serves.
  bool is_end(const StandbyWorld& world) const {
    if (world.updates < setting_.updates || world.reads < setting_.reads) return false;
    return std::ranges::any_of(world.players, [&](const StandbyPlayer& player) {
      return player.side && player.side->serves() && player.waiting.empty() &&
             player.side->known() == world.witness.term();
    });
  }

  void look_for_dead_ends() {
    std::vector<bool> leads(into_.size());
    std::vector<size_t> next = ends_;
    for (const size_t end : ends_) leads[end] = true;
    while (!next.empty()) {
      const size_t state = next.back();
      next.pop_back();
      for (const size_t before : into_[state]) {
        if (!leads[before]) next.push_back(before);
        leads[before] = true;
      }
    }
    for (const auto& [key, number] : seen_)
      if (!leads[number]) broken_ = str_cat("no way leads on from ", key);
  }

  // Everything that may happen next.
  void step(const StandbyWorld& world, size_t number) {
    const auto next = [&](bool is_fault, auto change) {
      StandbyWorld after = world;
      if (change(after)) visit(std::move(after), is_fault ? kNowhere : number);
    };
    for (size_t i = 0; i < world.sent.size(); ++i) {
      next(false, [&](StandbyWorld& after) { return deliver(after, i); });
      next(true, [&](StandbyWorld& after) {
        if (after.faults.lost++ >= setting_.most.lost) return false;
        after.sent.erase(after.sent.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      });
      next(true, [&](StandbyWorld& after) {
        if (after.faults.doubled++ >= setting_.most.doubled) return false;
        after.sent.push_back(after.sent[i]);
        return true;
      });
    }
    for (int i = 0; i < 2; ++i) {
      next(false, [&](StandbyWorld& after) { return update(after, i); });
      next(false, [&](StandbyWorld& after) { return read(after, i); });
      next(false, [&](StandbyWorld& after) { return written(after, i); });
      next(true, [&](StandbyWorld& after) { return refuse(after, i); });
      next(false, [&](StandbyWorld& after) { return ask_again(after, i); });
      next(true, [&](StandbyWorld& after) { return die(after, i); });
      next(false, [&](StandbyWorld& after) { return come_back(after, i); });
      next(true, [&](StandbyWorld& after) { return suspect(after, i, true); });
      // Of one that is dead it is no fault, once nothing can come from it any more.
      const bool is_dead = !world.players[static_cast<size_t>(1 - i)].side;
      next(false, [&](StandbyWorld& after) { return is_dead && suspect(after, i, false); });
    }
  }

  static StandbyPlayer& player(StandbyWorld& world, int side) {
    return world.players[static_cast<size_t>(side)];
  }

  void start(StandbyWorld& world, int side) {
    StandbyPlayer& who = player(world, side);
    who.side.emplace(static_cast<uint64_t>(side + 1), side == 0, who.kept);
    act(world, side, who.side->begin(), 0, 0);
  }

  bool deliver(StandbyWorld& world, size_t at) {
    const Sent message = world.sent[at];
    world.sent.erase(world.sent.begin() + static_cast<std::ptrdiff_t>(at));
    Sent answer = message;
    answer.kind = Sent::Kind::told;
    StandbyPlayer& who = player(world, message.side);
    switch (message.kind) {
      case Sent::Kind::ask:
        answer.term = world.witness.term();
        world.sent.push_back(answer);
        break;
      case Sent::Kind::propose:
        if (setting_.bug == StandbyBug::witness_takes_all) world.witness = TermBook(message.term);
        answer.term = world.witness.propose(message.term);
        if (setting_.bug == StandbyBug::asks_itself && world.faults.suspicions > 0)
          answer.term = message.term;
        world.sent.push_back(answer);
        break;
      case Sent::Kind::told:
        if (who.side && who.life == message.life)
          act(world, message.side, who.side->told(message.term), 0, 0);
        break;
      case Sent::Kind::peer:
        if (who.side)
          act(world, message.side, who.side->heard(message.message), message.changes, 0);
        break;
    }
    return true;
  }

  // `heard`: what the message had. `made`: what the group has that was written just now.
  void act(StandbyWorld& world, int side, const StandbySide::Actions& actions, Changes heard,
           Changes made) {
    using Kind = StandbyAction::Kind;
    StandbyPlayer& who = player(world, side);
    for (const StandbyAction& action : actions) {
      switch (action.kind) {
        case Kind::ask:
          send(world, {.kind = Sent::Kind::ask, .side = side, .life = who.life});
          break;
        case Kind::propose:
          send(world,
               {.kind = Sent::Kind::propose, .side = side, .life = who.life, .term = action.term});
          break;
        case Kind::send: {
          StandbyMessage message = action.message;
          if (who.is_refused && message.kind == StandbyMessage::Kind::group)
            message.kind = StandbyMessage::Kind::whole;
          const bool is_group = message.kind == StandbyMessage::Kind::group;
          const bool is_whole = message.kind == StandbyMessage::Kind::whole;
          send(world, {.kind = Sent::Kind::peer,
                       .side = 1 - side,
                       .message = message,
                       .changes = is_group   ? made
                                  : is_whole ? who.memory
                                             : 0});
          break;
        }
        case Kind::keep:
          keep(who, action.kept, heard);
          break;
        case Kind::serve:
          if (world.witness.term() == action.term && (world.acknowledged & ~who.changes) != 0)
            broken_ = str_cat("what was acknowledged is lost: ", world.key());
          who.kept = action.kept;
          who.memory = who.changes;
          break;
        case Kind::acknowledge:
          acknowledge(world, who, action.kept.last);
          break;
        case Kind::cease:
          drop_memory(who);
          break;
        case Kind::refuse:
          broken_ = "the witness does not forget here";
          break;
      }
    }
  }

  // What is on its way already need not be there twice: a doubled message is a fault.
  static void send(StandbyWorld& world, const Sent& message) {
    const std::string text = message.text();
    if (std::ranges::none_of(world.sent, [&](const Sent& each) { return each.text() == text; }))
      world.sent.push_back(message);
  }

  void keep(StandbyPlayer& who, const KeptStream& kept, Changes heard) const {
    const bool is_group = who.kept.since == kept.since && who.kept.last + 1 == kept.last;
    who.unsafe = setting_.bug == StandbyBug::has_before_it_is_kept ? heard & ~who.changes : 0;
    // A whole state that is one group further has that group's changes and no fewer than before.
    who.changes = is_group ? who.changes | heard : heard;
    who.kept = kept;
  }

  void acknowledge(StandbyWorld& world, StandbyPlayer& who, uint64_t most) {
    while (!who.waiting.empty() && who.waiting.begin()->first <= most) {
      const Waiting each = who.waiting.begin()->second;
      who.waiting.erase(who.waiting.begin());
      answer(world, each);
    }
  }

  void answer(StandbyWorld& world, const Waiting& each) {
    if ((each.known & ~each.seen) != 0)
      broken_ = str_cat("an answer lacks what was acknowledged before: ", world.key());
    world.acknowledged |= each.made;
  }

  bool update(StandbyWorld& world, int side) {
    if (world.updates >= setting_.updates) return false;
    const Changes made = 1U << world.updates;
    if (!write(world, side, made)) return false;
    ++world.updates;
    return true;
  }

  bool read(StandbyWorld& world, int side) {
    if (world.reads >= setting_.reads || !write(world, side, 0)) return false;
    ++world.reads;
    return true;
  }

  bool write(StandbyWorld& world, int side, Changes made) {
    StandbyPlayer& who = player(world, side);
    if (!who.side || !who.side->serves() || who.writing != 0) return false;
    who.memory |= made;
    const Waiting waiting{.seen = who.memory, .known = world.acknowledged, .made = made};
    const bool is_asked = setting_.bug != StandbyBug::reads_alone || made != 0;
    if (!is_asked) answer(world, waiting);
    who.writing = who.side->told_kept().last + 1;
    if (is_asked) who.waiting[who.writing] = waiting;
    // All of a state is on the disk before it begins, and what changes nothing needs none.
    const bool is_there = who.is_refused || made == 0;
    act(world, side, who.side->begins(), 0, made);
    if (setting_.bug == StandbyBug::acknowledges_unwritten)
      act(world, side, who.side->wrote(), 0, 0);
    return !is_there || written(world, side);
  }

  // The disk has the group, and with it all that there was before.
  bool written(StandbyWorld& world, int side) {
    StandbyPlayer& who = player(world, side);
    if (!who.side || who.writing == 0) return false;
    who.changes = who.memory;
    who.kept.last = who.writing;
    const uint64_t group = std::exchange(who.writing, 0);
    who.is_refused = false;
    if (setting_.bug == StandbyBug::acknowledges_alone) acknowledge(world, who, group);
    act(world, side, who.side->wrote(), 0, 0);
    return true;
  }

  bool refuse(StandbyWorld& world, int side) {
    StandbyPlayer& who = player(world, side);
    if (!who.side || who.writing == 0 || world.faults.refusals++ >= setting_.most.refusals)
      return false;
    who.waiting.erase(std::exchange(who.writing, 0));
    who.is_refused = true;
    return true;
  }

  static void drop_memory(StandbyPlayer& who) {
    who.waiting.clear();
    who.memory = 0;
    who.writing = 0;
    who.is_refused = false;
  }

  // Time passes: once nothing can come any more that has to do with it.
  bool ask_again(StandbyWorld& world, int side) {
    StandbyPlayer& who = player(world, side);
    if (!who.side || !world.sent.empty() || setting_.bug == StandbyBug::asks_once) return false;
    act(world, side, who.side->again(), 0, 0);
    return true;
  }

  bool die(StandbyWorld& world, int side) {
    StandbyPlayer& who = player(world, side);
    if (!who.side || world.faults.deaths++ >= setting_.most.deaths) return false;
    who.side.reset();
    drop_memory(who);
    who.changes &= ~who.unsafe;
    who.unsafe = 0;
    return true;
  }

  bool come_back(StandbyWorld& world, int side) {
    StandbyPlayer& who = player(world, side);
    if (who.side) return false;
    ++who.life;
    start(world, side);
    return true;
  }

  bool suspect(StandbyWorld& world, int side, bool is_fault) {
    StandbyPlayer& who = player(world, side);
    if (!who.side) return false;
    if (!is_fault && !world.sent.empty()) return false;
    if (is_fault && world.faults.suspicions++ >= setting_.most.suspicions) return false;
    act(world, side, who.side->silent(), 0, 0);
    return true;
  }

  const StandbySetting setting_;
  std::deque<std::pair<size_t, StandbyWorld>> open_;
  std::unordered_map<std::string, size_t> seen_;
  std::vector<std::vector<size_t>> into_;
  std::vector<size_t> ends_;
  std::string broken_;
};

void hold_between_sides(const char* what, StandbySetting setting) {
  StandbySearch search(setting);
  CHECK(search.run() == "");
  MESSAGE(std::string(what), ": ", search.states(), " states, ", search.ends(), " of them ends");
  CHECK(search.states() > 1'000);
  CHECK(search.ends() > 0);
}

TEST_CASE("what is acknowledged is seen by all that follows, whoever owns the state") {
  hold_between_sides("nothing fails", {});
  const auto hold = [](const char* what, StandbyFaults most) {
    hold_between_sides(what, {.most = most, .updates = 1});
  };
  hold("a loss", {.lost = 1});
  hold("a doubled message", {.doubled = 1});
  hold("a suspicion", {.suspicions = 1});
  hold("a death", {.deaths = 1});
  hold_between_sides("a disk that refuses", {.most = {.refusals = 1}});
  hold_between_sides("two suspicions", {.most = {.suspicions = 2}, .updates = 1, .reads = 0});
}

// Minutes, and some gigabytes: simulation_test --no-skip -tc='*several faults*'
TEST_CASE("what is acknowledged is not lost by several faults together" * doctest::skip()) {
  const auto hold = [](const char* what, StandbyFaults most, int reads) {
    hold_between_sides(what, {.most = most, .updates = 1, .reads = reads});
  };
  hold("a loss, a suspicion", {.lost = 1, .suspicions = 1}, 1);
  hold("a doubled message, a suspicion", {.doubled = 1, .suspicions = 1}, 1);
  hold("a doubled message, a death", {.doubled = 1, .deaths = 1}, 1);
  hold("a death, a suspicion", {.deaths = 1, .suspicions = 1}, 0);
  hold("two deaths", {.deaths = 2}, 0);
  hold("a disk that refuses, a death", {.deaths = 1, .refusals = 1}, 1);
  hold("a disk that refuses, a suspicion", {.suspicions = 1, .refusals = 1}, 1);
  hold("a loss, a death, a suspicion", {.lost = 1, .deaths = 1, .suspicions = 1}, 0);
}

TEST_CASE("a bug that is put into a side or its witness is found") {
  const auto find = [](StandbyBug bug, StandbyFaults most = {.deaths = 1, .suspicions = 1}) {
    return StandbySearch({.most = most, .updates = 1, .reads = 1, .bug = bug}).run();
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(find(StandbyBug::acknowledges_unwritten), "lost"));
  CHECK(has(find(StandbyBug::acknowledges_alone), "lost"));
  CHECK(has(find(StandbyBug::reads_alone), "lacks what was acknowledged"));
  CHECK(has(find(StandbyBug::has_before_it_is_kept), "lost"));
  CHECK(has(find(StandbyBug::witness_takes_all), "lost"));
  CHECK(has(find(StandbyBug::asks_itself, {.suspicions = 2}), "lost"));
  CHECK(has(find(StandbyBug::asks_once, {.lost = 1}), "no way leads on"));
}

}  // namespace
}  // namespace millrace::simulation
