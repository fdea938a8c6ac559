#include "millrace/master/registration.h"

#include <utility>

namespace millrace {

Registration::Actions Registration::on_reply(size_t index, Status status) {
  if (states_[index] != State::asked) return {};
  states_[index] = status.ok() ? State::registered : State::gone;
  failure_.add(std::move(status));
  Actions actions{.answer = --missing_ == 0};
  // Not before: who is told while others still register might hear of it first.
  if (is_let_go_ || (actions.answer && !failure_.ok())) forget_registered(actions);
  return actions;
}

Registration::Actions Registration::on_let_go() {
  is_let_go_ = true;
  Actions actions;
  forget_registered(actions);
  return actions;
}

void Registration::forget_registered(Actions& actions) {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] != State::registered) continue;
    states_[i] = State::gone;
    actions.forget.push_back(i);
  }
}

}  // namespace millrace
