#include "millrace/master/step_tracker.h"

#include <utility>

namespace millrace {

namespace {

bool says_restarted(const Status& status) {
  if (status.payloads().contains(kWorkerPossiblyRestartedUrl)) return true;
  // Payloads are lost where an error travels in the body of an answer.
  return status.code() == Code::aborted &&
         (status.message().find("just restarted") != std::string::npos ||
          status.message().find("was probably restarted") != std::string::npos);
}

std::string all_of(std::span<const Status> causes, size_t count) {
  std::string text = str_cat(count, " root errors:");
  for (const Status& cause : causes)
    str_append(&text, "\n=====================\n", cause.to_string());
  str_append(&text, "\n=====================");
  if (count > causes.size()) str_append(&text, "\nand ", count - causes.size(), " more");
  return text;
}

}  // namespace

Status with_message(const Status& status, std::string message) {
  Status made(status.code(), std::move(message));
  for (const auto& [url, bytes] : status.payloads()) made = made.with_payload(url, bytes);
  return status.is_consequence() ? made.as_consequence() : made;
}

Status from_worker(std::string_view worker, const Status& status) {
  if (status.ok()) return status;
  std::string text = str_cat("From ", worker, ":\n", status.message());
  if (says_restarted(status)) {
    str_append(
        &text, "\n", worker,
        " no longer has this session: it was restarted, or the session was "
        "closed or reset by somebody else. Its variables and queues may be gone. Create a new "
        "session and restore or initialise what it needs.");
  }
  return with_message(status, std::move(text));
}

StepTracker::StepTracker(std::span<const Part> parts)
    : parts_(parts), answered_(parts.size(), false), pending_(parts.size()) {}

StepTracker::Actions StepTracker::on_reply(size_t index, Status status) {
  if (answered_[index]) return {};
  answered_[index] = true;
  --pending_;
  const bool was_ending = !stopped_.ok() || num_causes_ > 0;
  if (!status.ok()) record(index, std::move(status));
  if (pending_ == 0) return {.answer = !std::exchange(is_client_answered_, true), .is_over = true};
  if (was_ending || num_causes_ == 0) return {};
  return {.cancel_parts = causes_.front().as_consequence()};
}

StepTracker::Actions StepTracker::on_stop(Status why) {
  if (pending_ == 0 || !stopped_.ok()) return {};
  const bool was_ending = num_causes_ > 0;
  stopped_ = std::move(why);
  if (was_ending) return {};
  return {.cancel_parts = stopped_.as_consequence()};
}

StepTracker::Actions StepTracker::on_patience_end() {
  if (pending_ == 0) return {};
  return {.answer = !std::exchange(is_client_answered_, true)};
}

void StepTracker::record(size_t index, Status status) {
  const bool was_ending = !stopped_.ok() || num_causes_ > 0;
  // A part that was told to stop answers CANCELLED, whatever else it says about it.
  const bool is_consequence =
      status.is_consequence() || (was_ending && status.code() == Code::cancelled);
  if (parts_[index].where == Part::Where::elsewhere)
    status = from_worker(parts_[index].worker, status);
  // Whatever fails once the client is gone has nobody to report to.
  if (is_consequence || !stopped_.ok()) {
    ++num_consequences_;
    failure_.add(status.as_consequence());
    return;
  }
  failure_.add(status);
  if (++num_causes_ <= kMaxCauses) causes_.push_back(std::move(status));
}

Status StepTracker::outcome() const {
  if (num_causes_ == 0 && !stopped_.ok()) return stopped_;
  Status shown = failure_.status();
  if (num_causes_ == 0) return shown;
  if (num_causes_ > 1) shown = with_message(shown, all_of(causes_, num_causes_));
  if (num_consequences_ == 0) return shown;
  return shown.then(
      str_cat(" (", num_consequences_,
              num_consequences_ == 1 ? " consequence hidden)" : " consequences hidden)"));
}

}  // namespace millrace
