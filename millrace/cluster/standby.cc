#include "millrace/cluster/standby.h"

#include <algorithm>
#include <array>

#include "millrace/base/str_cat.h"

namespace millrace {

std::string to_text(const Term& term) {
  if (term.number == 0) return "no term";
  return str_cat("term ", term.number, ": ", term.owner, " owns since ", term.since,
                 term.standby == 0 ? std::string() : str_cat(", ", term.standby, " stands by"));
}

std::string to_text(const StandbyMessage& message) {
  constexpr std::array<std::string_view, 5> kVerbs = {"joins with", "sends all to", "sends group",
                                                      "has", "tells the term, holds"};
  return str_cat(message.store, " ", kVerbs[static_cast<size_t>(message.kind)], " ",
                 message.kept.since, ".", message.kept.last, " under term ", message.term.number);
}

const Term& TermBook::propose(const Term& wanted) {
  const bool goes_on = wanted.owner == term_.owner && wanted.since == term_.since;
  const bool is_sound = wanted.owner != 0 && wanted.owner != wanted.standby &&
                        (goes_on || wanted.since == wanted.number);
  if (is_sound && wanted.number == term_.number + 1) term_ = wanted;
  return term_;
}

StandbySide::Actions StandbySide::begin() { return {{.kind = Do::ask}}; }

StandbySide::Actions StandbySide::told(const Term& term) {
  Actions actions;
  if (known_.number != 0 && term.number <= known_.number) return actions;
  if (term.number == 0) {
    if (kept_.since != 0) return {{.kind = Do::refuse}};
    if (is_first_ && !proposed_) take_over(actions);
    return actions;
  }
  learn(term, actions);
  settle(actions);
  return actions;
}

StandbySide::Actions StandbySide::heard(const StandbyMessage& message) {
  Actions actions;
  // What comes late from an earlier life of either could be taken for what this one has asked for:
  // the first word is the witness's.
  if (known_.number == 0) return actions;
  learn(message.term, actions);
  const bool is_of_mine = serves_ && message.kept.since == known_.since;
  switch (message.kind) {
    case Kind::news:
      break;
    case Kind::has: {
      const bool is_new = follower_ == 0;
      if (is_of_mine) note_has(message);
      // What has begun since the state went out to it was not sent to who did not follow yet.
      if (is_new && follower_ != 0 && has_ < begun_) send(Kind::whole, actions);
      break;
    }
    case Kind::join:
      if (is_of_mine) note_has(message);
      if (serves_ && message.kept != told_kept()) send(Kind::whole, actions);
      break;
    case Kind::whole:
    case Kind::group:
      // What an earlier owner says is nothing; it hears why below.
      if (message.term.since == known_.since && !serves_) {
        suspects_ = false;
        keep(message, actions);
      }
      break;
  }
  if (message.term.number < known_.number && !serves_) send(Kind::news, actions);
  if (message.term.since < known_.since && serves_) send(Kind::news, actions);
  settle(actions);
  return actions;
}

void StandbySide::keep(const StandbyMessage& message, Actions& actions) {
  const bool is_same = message.kept.since == kept_.since;
  const bool is_next = message.kind == Kind::whole ? !is_same || message.kept.last > kept_.last
                                                   : is_same && message.kept.last == kept_.last + 1;
  if (is_next) {
    kept_ = message.kept;
    actions.push_back({.kind = Do::keep, .kept = kept_});
  } else if (!is_same || message.kept.last > kept_.last) {
    return send(Kind::join, actions);
  }
  send(Kind::has, actions);
}

void StandbySide::note_has(const StandbyMessage& message) {
  // One of another store is no word of the standby, which is gone, then.
  if (possible_standby() != 0 && possible_standby() != message.store) {
    suspects_ = true;
    return;
  }
  suspects_ = false;
  if (follower_ != message.store && possible_standby() == 0) has_ = 0;
  follower_ = message.store;
  has_ = std::max(has_, message.kept.last);
}

StandbySide::Actions StandbySide::begins() {
  Actions actions;
  if (!serves_) return actions;
  ++begun_;
  if (follower_ != 0 || possible_standby() != 0) send(Kind::group, actions);
  return actions;
}

StandbySide::Actions StandbySide::wrote() {
  Actions actions;
  if (!serves_) return actions;
  kept_.last = begun_;
  settle(actions);
  return actions;
}

StandbySide::Actions StandbySide::silent() {
  suspects_ = true;
  follower_ = 0;
  Actions actions;
  // Whether it stands by, it may not have heard.
  if (!serves_) actions.push_back({.kind = Do::ask});
  settle(actions);
  return actions;
}

StandbySide::Actions StandbySide::again() {
  Actions actions;
  if (proposed_) {
    actions.push_back({.kind = Do::propose, .term = *proposed_});
  } else if (!serves_) {
    actions.push_back({.kind = Do::ask});
  }
  if (!serves_ && known_.number != 0 && known_.owner != store_) send(Kind::join, actions);
  if (serves_ && (follower_ != 0 || possible_standby() != 0) && has_ < begun_)
    send(Kind::whole, actions);
  return actions;
}

void StandbySide::learn(const Term& term, Actions& actions) {
  if (term.number <= known_.number) return;
  known_ = term;
  // Whatever was asked for, it has happened or never will.
  proposed_.reset();
  pairing_ = 0;
  if (!serves_ || (term.owner == store_ && term.since == kept_.since)) return;
  serves_ = false;
  actions.push_back({.kind = Do::cease, .term = term});
}

void StandbySide::settle(Actions& actions) {
  if (known_.number == 0) return;  // the witness is asked
  if (known_.owner == store_) return settle_owner(actions);
  if (proposed_) return;
  if (kept_.since != known_.since) return send(Kind::join, actions);
  if (suspects_ && known_.standby == store_) take_over(actions);
}

void StandbySide::settle_owner(Actions& actions) {
  if (!serves_) {
    // An earlier life of this process may have asked for it, or been it.
    if (known_.since != candidate_) {
      if (!proposed_) take_over(actions);
      return;
    }
    serves_ = true;
    kept_.since = known_.since;
    acknowledged_ = begun_ = kept_.last;
    follower_ = has_ = 0;
    suspects_ = false;
    actions.push_back({.kind = Do::serve, .term = known_, .kept = kept_});
  }
  const Term alone{.number = known_.number + 1, .owner = store_, .since = known_.since};
  if (suspects_) {
    follower_ = 0;
    if (possible_standby() != 0 && proposed_ != alone) propose(alone, actions);
  } else if (possible_standby() == 0 && follower_ != 0 && has_ >= acknowledged_ && !proposed_) {
    Term paired = alone;
    pairing_ = paired.standby = follower_;
    propose(paired, actions);
  }
  acknowledge(actions);
}

void StandbySide::acknowledge(Actions& actions) {
  const bool waits = possible_standby() != 0 || follower_ != 0;
  const uint64_t most = waits ? std::min(kept_.last, has_) : kept_.last;
  if (most <= acknowledged_) return;
  acknowledged_ = most;
  actions.push_back({.kind = Do::acknowledge, .kept = {kept_.since, most}});
}

void StandbySide::propose(const Term& wanted, Actions& actions) {
  proposed_ = wanted;
  actions.push_back({.kind = Do::propose, .term = wanted});
}

void StandbySide::take_over(Actions& actions) {
  candidate_ = known_.number + 1;
  propose({.number = candidate_, .owner = store_, .since = candidate_}, actions);
}

void StandbySide::send(StandbyMessage::Kind kind, Actions& actions) const {
  actions.push_back(
      {.kind = Do::send,
       .message = {.kind = kind, .store = store_, .term = known_, .kept = told_kept()}});
}

std::string StandbySide::description() const {
  return str_cat(to_text(known_), "; holds ", kept_.since, ".", kept_.last,
                 proposed_ ? str_cat("; asks for ", to_text(*proposed_)) : std::string(),
                 serves_ ? str_cat("; serves, begun ", begun_, ", acknowledged ", acknowledged_,
                                   ", ", follower_, " has ", has_, ", pairing ", pairing_)
                         : std::string(),
                 "; candidate ", candidate_, suspects_ ? "; suspects" : "");
}

}  // namespace millrace
