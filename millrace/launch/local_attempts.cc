#include "millrace/launch/local_attempts.h"

#include <sys/wait.h>

#include <csignal>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/environment.h"

namespace millrace {
namespace {

// So many times a pipe's capacity, of a task that is gone: who still holds the pipe is none of it.
constexpr int kLastReads = 16;

}  // namespace

TaskAttempts::TaskAttempts(size_t index, const TaskPlan& plan, std::optional<HeldPort> port,
                           Allowed allowed, Console& console)
    : index_(index),
      plan_(plan),
      console_(console),
      allowed_(allowed),
      port_(std::move(port)),
      output_(std::in_place, index, console) {}

void TaskAttempts::hear(const Reach& reach) {
  heard_with_ = reach.own_failure;
  hear_ = reach.hear;
  listen_to_output();
}

void TaskAttempts::listen_to_output() {
  heard_ = {};
  if (hear_) output_->set_foreign([this](std::string_view line) { return hear_(line, heard_); });
}

Status TaskAttempts::keep_logs(const std::string& directory) {
  log_directory_ = directory;
  return output_->open_log(log_path(attempt_ + 1));
}

std::string TaskAttempts::log_path(int attempt) const {
  return str_cat(log_directory_, "/", plan_.file_stem,
                 attempt > 1 ? str_cat(".", attempt) : std::string(), ".log");
}

Status TaskAttempts::start(const TaskProcess::Options& options) {
  restart_asked_.reset();
  // The first one, too, when it was begun before, and forgotten.
  if (++attempt_ > 1 || process_) begin_attempt();
  TaskPlan plan = plan_;
  plan.environment.emplace_back(kAttemptVariable, std::to_string(attempt_));
  std::optional<HeldPort> port;
  if (port_ && allowed_ == Allowed::one) port = std::exchange(port_, std::nullopt);
  // A program that binds by itself could not if it were held for the next attempt.
  if (port_ && options.ports == PortHandling::released) port_.reset();
  if (port_) {
    MR_ASSIGN(port, port_->share());
  }
  MR_ASSIGN(TaskProcess process, TaskProcess::start(plan, std::move(port), options));
  process_.emplace(std::move(process));
  return {};
}

void TaskAttempts::begin_attempt() {
  for (int i = 0; i < kLastReads && has_open_pipes(); ++i) read();
  output_->finish();
  output_.emplace(index_, console_);
  listen_to_output();
  records_ = {};
  if (!log_directory_.empty()) {
    if (const Status opened = output_->open_log(log_path(attempt_)); !opened.ok())
      console_.note(opened.message());
  }
  reap();
  process_.reset();
}

void TaskAttempts::kill() {
  if (process_) process_->kill();
}

void TaskAttempts::reap() {
  if (process_) process_->reap();
}

void TaskAttempts::add_descriptors(std::vector<pollfd>& events) const {
  if (!process_) return;
  for (int number : {process_->reports(), process_->out(), process_->err(), process_->records()})
    if (number >= 0) events.push_back({number, POLLIN, 0});
}

void TaskAttempts::read() {
  using enum TaskOutput::Pipe;
  if (!process_) return;
  process_->read_records(records_);
  if (process_->out() >= 0 && output_->read(process_->out(), Stream::out) == ended)
    process_->close_out();
  if (process_->err() >= 0 && output_->read(process_->err(), Stream::err) == ended)
    process_->close_err();
}

std::optional<std::vector<std::string>> TaskAttempts::take_waits() {
  std::optional<std::string> line = output_->take_waiting();
  if (auto others = records_.take_waits()) return others;
  if (!line || records_.are_kept()) return {};
  return std::vector<std::string>{std::move(*line)};
}

std::optional<ProcessEnd> TaskAttempts::take_end() {
  if (!process_) return {};
  std::optional<ProcessEnd> end = process_->read_end();
  if (!end) return {};
  if (port_) port_->keep_alone();
  // What it wrote before it ended is in the pipes by now, and says why.
  read();
  output_->finish();
  return end;
}

ExitFacts TaskAttempts::facts_of(const ProcessEnd& end) const {
  const ErrorLines& errors = output_->errors();
  const bool counts =
      !heard_with_ || (WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == *heard_with_);
  const ExitFacts heard = counts ? heard_ : ExitFacts{};
  ExitFacts facts{.start_error = end.start_error.empty() ? heard.start_error : end.start_error,
                  .taken_away = heard.taken_away,
                  .by_hand = heard.by_hand,
                  .place_is_gone = heard.place_is_gone,
                  .out_of_memory_kill = heard.out_of_memory_kill,
                  .lost = end.lost,
                  .first_error_line = errors.first(),
                  .last_error_line = errors.last(),
                  .ends_with_error = errors.ends_with_error(),
                  .told = records_.end()};
  if (WIFSIGNALED(end.wait_status)) facts.signal = WTERMSIG(end.wait_status);
  if (WIFEXITED(end.wait_status)) facts.code = WEXITSTATUS(end.wait_status);
  // However the one who reached out puts it.
  if (facts.out_of_memory_kill && facts.code.value_or(0) != 0) facts.code = 128 + SIGKILL;
  return facts;
}

bool TaskAttempts::has_open_pipes() const {
  return process_ && (process_->reports() >= 0 || process_->out() >= 0 || process_->err() >= 0);
}

}  // namespace millrace
