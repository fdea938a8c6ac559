// Silence: what to do about a peer that owes answers and is not heard of.
//
// Pure: it is told, once a round, whether the peer was heard of since the last one. Rounds are
// counted, not seconds, so that a process that was itself stopped for a while (or got no processor)
// does not take its own absence for that of its peers.
#pragma once

#include "millrace/base/clock.h"

namespace millrace::transport {

class Silence {
 public:
  enum class Action : uint8_t {
    nothing,
    ask,      // send a question that any peer answers at once
    warn,     // tell the log
    give_up,  // end the calls that wait; in each further round again, for those that came meanwhile
  };
  // After so many rounds of silence.
  static constexpr int kAskAfter = 1;
  static constexpr int kWarnAfter = 2;
  static constexpr int kGiveUpAfter = 6;

  // The pause between rounds of which kGiveUpAfter make up `limit`.
  static constexpr Clock::Duration pause(Clock::Duration limit) { return limit / kGiveUpAfter; }

  enum class Sign : uint8_t { none, heard };
  Action on_round(Sign sign) {
    if (sign == Sign::heard) {
      rounds_ = 0;
      return Action::nothing;
    }
    if (rounds_ < kGiveUpAfter) ++rounds_;
    switch (rounds_) {
      case kAskAfter:
        return Action::ask;
      case kWarnAfter:
        return Action::warn;
      case kGiveUpAfter:
        return Action::give_up;
      default:
        return Action::nothing;
    }
  }
  // Forgets what was before.
  void reset() { rounds_ = 0; }
  bool has_warned() const { return rounds_ >= kWarnAfter; }

 private:
  int rounds_ = 0;
};

}  // namespace millrace::transport
