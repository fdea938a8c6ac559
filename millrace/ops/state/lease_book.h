// LeaseBook: which elements of a queue are lent, to whom, for how long and for which time; which
// have come back, which have ended, and which were given up.
//
// It knows numbers, not elements: whoever owns the queue keeps those. Time is an argument. A number
// is given when an element is lent for the first time, from 1 on, so that numbers are in the order
// of lending whatever the order of the queue.
//
//   lend -> lent -- end ----------------------------> ended
//            |  ^                                       ^
//            |  '- lend_again -- returned -- end -------'
//            '-- give_back, expire -^  '- too many attempts -> dead
//
// What ends stays ended: it is below `horizon()` and not in `open()`. That is all that others need
// to know in order to forget it, and its size is that of what is lent or waits to be lent again.
//
// Not thread-safe; the queue's lock guards it. docs/design/once.md tells what it is for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/clock.h"

namespace millrace {

class LeaseBook {
 public:
  using Number = uint64_t;  // never 0
  using Holder = uint64_t;  // who is answerable for a lease: a session's kernel

  struct Loan {
    Number number = 0;
    uint32_t attempt = 0;  // from 1 on
  };
  struct Terms {
    Holder holder = 0;
    Clock::Time until;
    uint32_t attempts = 0;  // after so many, an element that comes back is a dead letter; 0: never
  };
  // What came back, in order of numbers.
  struct Returned {
    std::vector<Number> again;  // to be lent again
    std::vector<Number> dead;
  };
  enum class Ending : uint8_t {
    now,     // ended by this call
    before,  // had ended already
    dead,    // given up before: it is among the dead letters
    never,   // no such element
  };

  // What of it outlives its owner's process, in which nobody holds anything any more.
  struct Kept {
    struct Open {
      Number number = 0;
      uint32_t attempt = 0;  // that it was lent for last
      friend bool operator==(const Open&, const Open&) = default;
    };
    Number next = 1;
    std::vector<Open> open;    // ascending
    std::vector<Number> dead;  // ascending
    friend bool operator==(const Kept&, const Kept&) = default;
  };

  LeaseBook() = default;
  // In the next life: whatever was lent has come back. That its owner died is no attempt that
  // failed: nothing becomes a dead letter by it.
  explicit LeaseBook(const Kept& kept);

  Loan lend(const Terms& terms);
  // Requires that `number` is returned.
  Loan lend_again(Number number, const Terms& terms);
  // Whoever says it: what one attempt has done whole need not be done by another.
  Ending end(Number number);
  // False if it is not lent in this attempt (any more).
  bool extend(Number number, uint32_t attempt, Clock::Time until);
  // What is lent in this attempt comes back; nothing if it is not.
  Returned give_back(Number number, uint32_t attempt);
  Returned give_back_all_of(Holder holder);
  // What is lent until `now` or less.
  Returned expire(Clock::Time now);

  // When expire() will have something to do. None if nothing is lent.
  std::optional<Clock::Time> next_expiry() const;
  // All numbers below it were lent; none from it on.
  Number horizon() const { return next_; }
  // Those below the horizon that have neither ended nor died, ascending.
  std::vector<Number> open() const;
  size_t num_lent() const { return num_lent_; }

  Kept kept() const;

  // "1 lent a2 until 30, 3 returned a1; horizon 4" (in nanoseconds), for transcripts.
  std::string description() const;

 private:
  struct Entry {
    bool is_lent = true;
    uint32_t attempt = 1;
    Terms terms;
  };
  using Entries = std::map<Number, Entry>;
  // The entry after it, which may have been dropped.
  Entries::iterator come_back(Entries::iterator at, Returned& returned);

  Number next_ = 1;
  size_t num_lent_ = 0;
  Entries open_;  // lent or returned
  // Those that died, for the sake of end(): a straggler must not believe that its work counted. As
  // many as there ever were dead letters, also those that were looked into since.
  std::vector<Number> dead_;
};

}  // namespace millrace
