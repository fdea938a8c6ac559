// OnceBook: what a session that counts once has taken, and under which number each of its steps is
// made.
//
//   take ok -> held -- a take begins --> given back to the queue with that take, which acknowledges
//               |                        it: ok -> held, the next one
//               '- updates 0, 1, 2 …                failed -> finished: for the next take only
//
// The program is through with an element once it has asked for the next one; what it does after a
// take that failed is no longer made for that element. A step that failed keeps its number until
// the same step (the same feeds, fetches and targets) is made again, which is how a retry is known;
// other steps, and those that run side by side, have numbers of their own.
//
// Knows no time, thread or message. Not thread-safe. docs/design/once.md tells what it is for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"

#include "millrace/base/result.h"
#include "millrace/ops/state/lease.h"

namespace millrace {

class OnceBook {
 public:
  enum class Kind : uint8_t { updates, takes };

  // A step under way: what its end is told by.
  struct Mark {
    Kind kind = Kind::updates;
    uint64_t life = 0;       // of which lease it is
    uint64_t number = 0;     // under that
    uint64_t signature = 0;  // which step it is
  };
  struct Step : Mark {
    std::string lease;  // what it is fed; empty: nothing was taken before
  };

  // An update has a lease to be made under: an element is held, and nobody takes at this moment.
  bool has_lease() const { return lease_.has_element() && !is_finished_ && !is_taking_; }
  // Requires has_lease() for updates. Errors: UNIMPLEMENTED for a take beside another one.
  Result<Step> begin(Kind kind, uint64_t signature);
  // The same with the step's lease in a text whose memory it takes over.
  Result<Mark> begin(Kind kind, uint64_t signature, std::string* lease);

  // What came of a step that updates.
  void end_update(const Mark& step, const Status& outcome);
  // What came of any step; `after` is the lease that a take gave. If that took from another queue,
  // the result is the lease that is still to be acknowledged. Errors: INVALID_ARGUMENT if `after`
  // is no lease.
  Result<std::string> end(const Mark& step, const Status& outcome, std::string_view after);

  // Another one with each lease.
  uint64_t life() const { return life_; }
  // The lease that heartbeats are to extend, with its life; none if nothing is held.
  struct Held {
    std::string lease;
    uint64_t life = 0;
  };
  std::optional<Held> held() const;

 private:
  struct Numbered {
    uint64_t number, signature;
  };

  uint64_t take_number(uint64_t signature);
  uint64_t settled() const;
  // False if it does not run, or not any more.
  bool ends_running(uint64_t number);

  Lease lease_;       // without an element: none
  Lease last_lease_;  // the one before: its memory is the next one's
  uint64_t life_ = 0;
  bool is_finished_ = false;
  bool is_taking_ = false;
  uint64_t next_ = 0;
  absl::InlinedVector<Numbered, 2> running_;  // as many as run side by side
  std::map<uint64_t, uint64_t> failed_;       // number -> signature
};

}  // namespace millrace
