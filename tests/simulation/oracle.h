// Oracle: what a simulated cluster may say, given what happened to it. It knows every fault that
// was done and every step that was asked for, and nothing of how the program works.
//
//  - Every error names its cause: a task that is blamed had a fault while it was needed, a time
//  that
//    passed had been set, a session that is gone was closed, reset, or its master lost.
//  - What a step that was answered OK has put into a queue is there, once; and nothing else is.
//  - Who reads a variable finds what was assigned last by a step that was answered OK before, or
//    something that may have been assigned since.
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/status.h"

namespace millrace::simulation {

// What one call asked for, as far as errors of it may be explained.
struct Asked {
  std::string what;                // "run enqueue 17 at worker:1"
  std::string master;              // the site that was asked
  std::vector<std::string> sites;  // that it needs; of a session all
  Clock::Time session_since{};     // when the session was asked for
  Clock::Time since{};             // when the call was made
  bool has_limit = false;          // a timeout of the step, the session or the call
  bool is_given_up = false;        // the client cancelled it, or has gone
  bool is_ended = false;           // its session was closed or reset
  bool had_failed_leg = false;     // of the same partial run
  std::string reads_at = {};       // this site's variable
  uint64_t life = 0;               // of that site
};

class Oracle {
 public:
  // Names of sites, and by what errors may call them.
  void know(const std::string& site, std::vector<std::string> names);

  // `site` is struck now; healed later. What it is blamed for may come long after.
  void strike(const std::string& site) { ++strikes_[site].open; }
  void heal(const std::string& site, Clock::Time now);
  bool was_struck(const std::string& site, Clock::Time from) const;

  // Empty if the error is explained.
  std::string complaint(const Asked& asked, const Status& error) const;

  // ---- Queues, by site ----
  // All that was put or kept there is gone: the task lost its life.
  void lose(const std::string& site);
  // It may be gone, from now on until `until`: a reset is under way.
  void may_lose_all(Clock::Time until);
  void sends(const std::string& site, int64_t id);
  // A step that sent it was answered OK; `life` is what life() was when it was sent.
  void keeps(const std::string& site, int64_t id, uint64_t life, Clock::Time sent);
  uint64_t life(const std::string& site) const;
  // Empty if it may be so.
  std::string takes(const std::string& site, int64_t id);
  // Something may have been taken and lost with the answer.
  void may_take(const std::string& site);
  // All that is left.
  std::string ends_with(const std::string& site, const std::vector<int64_t>& ids);

  // ---- Variables, one at each site; every value is assigned once ----
  void assigns(const std::string& site, int64_t id, Clock::Time now);
  // That was answered OK; `life` as in keeps().
  void has_assigned(const std::string& site, int64_t id, uint64_t life, Clock::Time now);
  // Empty if a step that was asked for at `since`, in that life, may read this.
  std::string reads(const std::string& site, int64_t id, uint64_t life, Clock::Time since) const;

 private:
  struct Strikes {
    int open = 0;        // that have not been healed
    Clock::Time last{};  // when one was healed last
  };
  struct Queue {
    uint64_t life = 0;
    std::set<int64_t> sent, kept, taken;
    size_t lost = 0;  // at most
  };
  struct Assignment {
    Clock::Time begun{};
    std::optional<Clock::Time> answered = {};  // OK, and not lost since
  };
  std::vector<std::string> named_in(const std::string& text) const;
  bool may_be_unset(const std::string& site, uint64_t life, Clock::Time since) const;

  std::map<std::string, std::vector<std::string>> names_;
  std::map<std::string, Strikes> strikes_;
  std::map<std::string, Queue> queues_;
  std::map<std::string, std::map<int64_t, Assignment>> variables_;
  Clock::Time may_be_lost_until_{};
};

}  // namespace millrace::simulation
