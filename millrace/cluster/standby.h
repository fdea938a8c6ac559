// Who owns a state that two tasks hold, and when what is in it may be acknowledged: the rules of
// an owner and its standby (docs/design/standby.md), without threads, clocks, sockets or files.
//
//   owner:    writes a group of changes and sends it at once, acknowledges when both have it
//   standby:  writes what it is sent; asks the witness for the ownership when the owner is silent
//   witness:  has one Term, and puts the next one in its place for whoever asks first
//
// A term says who owns the state and whether the other one has all of it. Nobody acts on time
// alone: silence only makes a side ask, and what it may do then follows from the term that the
// witness answers with. As long as a side does not know how its question ended, it keeps to the
// stricter of the two terms that may hold.
//
// session/succession.h has what they ask for done; tests/simulation/standby_search_test.cc makes
// every order in which they can go. Values and pure state machines; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

// What the witness knows. Each term follows the one before it by one.
struct Term {
  uint64_t number = 0;   // 0: nobody has owned the state yet
  uint64_t owner = 0;    // a store, by its identity: the folder of a task
  uint64_t since = 0;    // the first term of this reign: of this owner, in this life of its process
  uint64_t standby = 0;  // the store that has to have whatever is acknowledged; 0: none
  friend bool operator==(const Term&, const Term&) = default;
};
// "term 3: 1 owns since 2, 2 stands by"
std::string to_text(const Term& term);

// The witness's: has to outlast its process.
class TermBook {
 public:
  explicit TermBook(const Term& last = {}) : term_(last) {}
  const Term& term() const { return term_; }
  // Takes `wanted` if it follows the term that there is, and gives the one that holds afterwards.
  // So of all that want to follow one term, one does; and what comes twice, or late, is nothing.
  const Term& propose(const Term& wanted);

 private:
  Term term_;
};

// What a store holds: the reign whose changes they are, and up to which group.
struct KeptStream {
  uint64_t since = 0;  // 0: it has never held anything
  uint64_t last = 0;
  friend bool operator==(const KeptStream&, const KeptStream&) = default;
};

// From one side to the other.
struct StandbyMessage {
  enum class Kind : uint8_t {
    join,   // this is what I have; send what I lack
    whole,  // all of the state as it is after group `kept.last`
    group,  // the changes of group `kept.last`
    has,    // up to group `kept.last` it is all in my store
    news    // the term that you do not know
  };
  Kind kind = Kind::news;
  uint64_t store = 0;  // the sender's
  Term term = {};      // that the sender knows
  KeptStream kept = {};
};

// "2 joins with 1.3 under term 4": the kept state by its reign and its last group.
std::string to_text(const StandbyMessage& message);

// What a side has to do, in this order, each before the next.
struct StandbyAction {
  enum class Kind : uint8_t {
    ask,          // the witness for its term
    propose,      // `term` to the witness, which answers with its term
    send,         // `message` to the other side, with the changes if it is to have any
    keep,         // what the message had into the store, as `kept`; then it outlasts this process
    serve,        // as the owner, with what the store has, as `kept`
    acknowledge,  // all steps whose changes are in groups up to `kept.last`
    cease,        // another one owns the state: what waits fails, and what was changed is dropped
    refuse        // the witness has forgotten what it knew: nobody may serve
  };
  Kind kind = Kind::ask;
  Term term = {};
  StandbyMessage message = {};
  KeptStream kept = {};
};

// One of the two.
class StandbySide {
 public:
  using Actions = std::vector<StandbyAction>;

  // `store`: not 0; `kept` is what it holds. The first side begins the first reign.
  StandbySide(uint64_t store, bool is_first, KeptStream kept)
      : store_(store), is_first_(is_first), kept_(kept) {}

  Actions begin();
  // The witness has answered.
  Actions told(const Term& term);
  // The other side has said something.
  Actions heard(const StandbyMessage& message);
  // The next group of an owner that serves is on its way to the store, which may refuse it. A step
  // that has changed nothing waits for an empty one: by that it learns whether its answer still
  // counts.
  Actions begins();
  // The store of an owner that serves has all that has begun.
  Actions wrote();
  // Nothing has been heard of the other side for too long.
  Actions silent();
  // Some time has passed: what has not been answered may be lost.
  Actions again();

  bool serves() const { return serves_; }
  const Term& known() const { return known_; }
  const KeptStream& kept() const { return kept_; }
  // What the other side is told that this one has: of an owner that serves, all that has begun.
  KeptStream told_kept() const { return {kept_.since, serves_ ? begun_ : kept_.last}; }
  // All that decides what it does next.
  std::string description() const;

 private:
  using Kind = StandbyMessage::Kind;
  using Do = StandbyAction::Kind;

  void learn(const Term& term, Actions& actions);
  void settle(Actions& actions);
  void settle_owner(Actions& actions);
  void acknowledge(Actions& actions);
  void propose(const Term& wanted, Actions& actions);
  void take_over(Actions& actions);
  void send(StandbyMessage::Kind kind, Actions& actions) const;
  void keep(const StandbyMessage& message, Actions& actions);
  void note_has(const StandbyMessage& message);
  // The store that may be a standby as far as this owner knows; 0: none can be.
  uint64_t possible_standby() const { return known_.standby != 0 ? known_.standby : pairing_; }

  const uint64_t store_;
  const bool is_first_;
  KeptStream kept_;
  Term known_;
  std::optional<Term> proposed_;  // and not answered
  uint64_t candidate_ = 0;        // the reign that it asked for last, in this life
  bool suspects_ = false;         // the other side, since it was heard last
  // Of an owner that serves.
  bool serves_ = false;
  uint64_t begun_ = 0;  // the last group that was begun, which the store may not have yet
  uint64_t acknowledged_ = 0;
  uint64_t follower_ = 0;  // a store that keeps up, and is waited for
  uint64_t has_ = 0;       // the group up to which the one that may be a standby has all
  uint64_t pairing_ = 0;   // asked to be one; whether it is, is not known
};

}  // namespace millrace
