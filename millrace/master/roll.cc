#include "millrace/master/roll.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

// A member whose connection broke while it was answering is asked again this much later.
constexpr std::chrono::milliseconds kRetryDelay{200};

// The connection broke, or the other end stops: gRPC cancels what a server that ends has not taken
// up yet. We cancel only when it is all over.
bool is_broken_off(const Status& status) {
  return status.code() == Code::unavailable || status.code() == Code::cancelled;
}

// Nobody there, or nobody who answers.
bool is_silence(const Status& status) {
  return is_broken_off(status) || status.code() == Code::deadline_exceeded;
}

std::string describe(const Member& member, const Status& diagnosis) {
  return str_cat(member.task.to_string(), member.address.empty() ? "" : " at ", member.address,
                 diagnosis.ok() ? "" : str_cat(" (", diagnosis.to_string(), ")"));
}

}  // namespace

Roll::Roll(Options options, std::vector<Member> members)
    : options_(std::move(options)),
      members_(std::move(members)),
      states_(members_.size()),
      open_(members_.size()) {}

Roll::Action Roll::ask(size_t member, Life life) {
  const bool is_brief = life == Life::has_ended;
  return {.kind = is_brief ? Action::Kind::ask_briefly : Action::Kind::ask, .member = member};
}

void Roll::locate(size_t member, Result<std::string> address) {
  if (!address.ok()) states_[member].diagnosis = address.status();
  members_[member].address = address.ok() ? std::move(*address) : "";
}

Roll::Actions Roll::start(const std::vector<Life>& lives) {
  Actions actions;
  // The first reminder comes early: most of what is wrong is wrong from the start.
  actions.push_back({.kind = Action::Kind::remind_later, .pause = options_.reminder_interval / 10});
  for (size_t i = 0; i < members_.size(); ++i) actions.push_back(ask(i, lives[i]));
  return actions;
}

Roll::Actions Roll::on_answer(size_t member, Result<GetStatusReply> reply, Life life) {
  Actions actions;
  if (!is_open(member)) return actions;
  if (failure_.ok()) {
    if (is_silence(reply.status()) && life == Life::has_ended) {
      leave_out(member, &actions);
      return actions;
    }
    if (is_broken_off(reply.status())) {
      states_[member].stage = Stage::resting;
      actions.push_back({.kind = Action::Kind::ask_later, .member = member, .pause = kRetryDelay});
      return actions;
    }
  }
  if (reply.ok() && life == Life::is_ending) {
    leave_out(member, &actions);
    return actions;
  }
  const Member& who = members_[member];
  Status status = reply.status().with(millrace::describe(who, {}));
  if (reply.ok() && !options_.is_sent) status = check_identity(who, reply->devices);
  if (status.ok()) {
    states_[member].can = reply->can;
    auto devices = renamed(std::move(reply).value().devices, who.task);
    status = devices.status();
    if (devices.ok()) states_[member].devices = std::move(devices).value();
  }
  states_[member].stage = status.ok() ? Stage::present : Stage::failed;
  if (!status.ok()) fail(std::move(status), &actions);
  settle(member, states_[member].stage, &actions);
  return actions;
}

Roll::Actions Roll::on_retry_due(size_t member, Life life) {
  Actions actions;
  if (states_[member].stage != Stage::resting) return actions;
  states_[member].stage = Stage::asked;
  actions.push_back(ask(member, life));
  return actions;
}

Roll::Actions Roll::on_reminder_due() {
  Actions actions;
  if (open_ == 0) return actions;
  actions.push_back({.kind = Action::Kind::report});
  for (size_t i = 0; failure_.ok() && i < members_.size(); ++i)
    if (is_open(i)) actions.push_back({.kind = Action::Kind::look, .member = i});
  actions.push_back({.kind = Action::Kind::remind_later, .pause = options_.reminder_interval});
  return actions;
}

Roll::Actions Roll::on_seen(size_t member, Status status, Life life, Look look) {
  Actions actions;
  if (look == Look::for_people) {
    actions.push_back(
        {.kind = Action::Kind::say, .text = reminder(options_.purpose, members_[member], status)});
  }
  const bool is_gone = is_silence(status) && life == Life::has_ended;
  states_[member].diagnosis = std::move(status);
  if (is_gone && is_open(member)) leave_out(member, &actions);
  return actions;
}

Roll::Actions Roll::on_departure(size_t member) {
  Actions actions;
  if (is_open(member) && failure_.ok())
    actions.push_back({.kind = Action::Kind::look_quietly, .member = member});
  return actions;
}

Roll::Actions Roll::on_stop(Status why) {
  Actions actions;
  if (open_ > 0) fail(std::move(why), &actions);
  return actions;
}

void Roll::settle(size_t member, Stage stage, Actions* actions) {
  states_[member].stage = stage;
  if (--open_ == 0) actions->push_back({.kind = Action::Kind::answer});
}

void Roll::leave_out(size_t member, Actions* actions) {
  actions->push_back({.kind = Action::Kind::say,
                      .text = str_cat(options_.purpose, " goes on without ",
                                      members_[member].task.to_string(), ", which has ended")});
  settle(member, Stage::left_out, actions);
}

void Roll::fail(Status why, Actions* actions) {
  const bool is_first = failure_.ok();
  if (is_first) actions->push_back({.kind = Action::Kind::cancel, .why = why.as_consequence()});
  failure_.add(why.code() == Code::deadline_exceeded ? why.then(not_there()) : std::move(why));
  if (!is_first) return;
  // Nothing is asked of them that could be answered.
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i].stage == Stage::resting) settle(i, Stage::failed, actions);
}

// "; not there: /job:ps/replica:0/task:0 at ps0:2222 (why, if somebody has looked)"
std::string Roll::not_there() const {
  constexpr size_t kNamed = 5;
  const std::vector<Missing> all = missing();
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kNamed); ++i)
    str_append(&text, i == 0 ? "; not there: " : ", ",
               millrace::describe(all[i].member, all[i].diagnosis));
  return all.size() > kNamed ? str_cat(text, " and ", all.size() - kNamed, " more") : text;
}

std::vector<Roll::Missing> Roll::missing() const {
  std::vector<Missing> all;
  for (size_t i = 0; i < members_.size(); ++i)
    if (is_open(i)) all.push_back({members_[i], states_[i].diagnosis});
  return all;
}

TaskWaitsFor Roll::waits() const {
  TaskWaitsFor waits{.what = options_.purpose, .others = {}, .more = 0};
  for (const auto& [member, why] : missing())
    waits.others.push_back(
        {short_name(member.task), member.address, why.ok() ? "" : why.to_string()});
  return waits;
}

std::vector<std::string> Roll::describe() const {
  std::vector<std::string> lines;
  for (const auto& [member, why] : missing())
    lines.push_back(str_cat(options_.purpose, " waits for ", millrace::describe(member, why)));
  return lines;
}

std::string reminder(std::string_view purpose, const Member& missing, const Status& diagnosis) {
  return str_cat(purpose,
                 " still waiting for response from worker: ", describe(missing, diagnosis));
}

}  // namespace millrace
