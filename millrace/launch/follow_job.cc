#include "millrace/launch/follow_job.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <tuple>

#include "millrace/launch/growing_file.h"
#include "millrace/launch/local_command.h"
#include "millrace/launch/local_console.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kWhilePending{500};
// Of a job that has just come: where there is room, its tasks begin within seconds.
constexpr milliseconds kWhileFresh{200};
constexpr milliseconds kFresh = seconds(15);
// Of a job that has waited for a minute already: it may wait for hours.
constexpr milliseconds kWhileWaiting{3000};
constexpr milliseconds kLongWait = std::chrono::minutes(1);
constexpr milliseconds kWhileRunning{1000};
// Between two looks at files that grow, the job's own among them.
constexpr milliseconds kWhileGrowing{100};
// A place that does not answer may do so again.
constexpr Clock::Duration kSilence = std::chrono::minutes(2);
// What is left of a decided job is expected to end by itself in its grace and this.
constexpr Clock::Duration kAfterGrace = seconds(5);
constexpr Clock::Duration kForTheRest = seconds(45);
constexpr Clock::Duration kForOutput = seconds(20);
// A program for each output that is shown at once.
constexpr size_t kMostOutputs = 32;
constexpr int kMostTries = 5;

// What one attempt of a task writes.
struct Output {
  size_t task;
  TaskSight sight;
  std::optional<RunningCommand> command = std::nullopt;
  std::optional<GrowingFile> source = std::nullopt;  // instead of a command
  std::unique_ptr<std::ofstream> file = nullptr;
  size_t shown = 0;    // lines, in all tries
  size_t to_skip = 0;  // of this try, which begins at the beginning
  int tries = 0;
  bool is_over = false;

  bool is_open() const { return command || source; }
};

class Follower {
 public:
  Follower(JobPlace& place, std::string name, const FollowOptions& options, const Clock& clock,
           JobSight first)
      : place_(place),
        name_(std::move(name)),
        options_(options),
        clock_(clock),
        start_(clock.now()),
        heard_(start_),
        sight_(std::move(first)),
        console_(names_of(sight_), {.signals = signals_.descriptor()}) {}

  Result<FollowedJob> run() {
    MR_TRY(make_log_directory());
    note_news({.name = name_});
    for (;;) {
      MR_TRY(start_outputs());
      console_.flush();
      if (is_over()) return done(FollowedJob::Why::over);
      wait();
      if (signals_.take() || console_.is_deserted()) return interrupted();
      if (options_.time_limit && clock_.now() >= start_ + *options_.time_limit)
        return done(FollowedJob::Why::time_limit);
      if (options_.how != FollowOptions::How::once && clock_.now() >= next_look_) MR_TRY(look());
    }
  }

 private:
  static std::vector<std::string> names_of(const JobSight& sight) {
    std::vector<std::string> names;
    for (const TaskSight& task : sight.tasks) names.push_back(task.name);
    return names;
  }

  Status make_log_directory() const {
    if (options_.log_directory.empty()) return {};
    std::error_code fault;
    std::filesystem::create_directories(options_.log_directory, fault);
    if (!fault) return {};
    return unavailable("can't make the log directory '", options_.log_directory,
                       "': ", fault.message());
  }

  bool owns() const { return options_.part == FollowOptions::Part::owner; }

  // --- looking ---

  void note_news(const JobSight& before) {
    if (options_.how == FollowOptions::How::once) return;
    for (const std::string& line : news(before, sight_)) console_.note(line);
  }

  Status look() {
    Result<JobSight> now = place_.look(name_);
    next_look_ = clock_.now() + between_looks();
    if (!now.ok()) return bear(now.status());
    if (std::exchange(is_silent_, false)) console_.note("it answers again");
    heard_ = clock_.now();
    const JobSight before = std::exchange(sight_, std::move(*now));
    note_news(before);
    MR_TRY(heed_stuck());
    return heed_rest();
  }

  milliseconds between_looks() const {
    if (sight_.stage != JobStage::pending) return kWhileRunning;
    if (sight_.age < kFresh) return kWhileFresh;
    return sight_.age < kLongWait ? kWhilePending : kWhileWaiting;
  }

  // OK for as long as it may pass.
  Status bear(const Status& fault) {
    if (!may_pass(fault) || clock_.now() >= heard_ + kSilence) return fault;
    if (!std::exchange(is_silent_, true)) console_.note(str_cat(fault.message(), "; trying again"));
    return {};
  }

  Status heed_stuck() {
    const auto stuck =
        std::ranges::find_if(sight_.tasks, [](const TaskSight& task) { return task.is_stuck; });
    if (stuck == sight_.tasks.end() || sight_.stage != JobStage::pending) {
      stuck_since_.reset();
      return {};
    }
    if (!stuck_since_) stuck_since_ = clock_.now();
    if (!owns() || clock_.now() < *stuck_since_ + options_.patience) return {};
    sight_.report.end = JobEnd::failed;
    sight_.report.time = sight_.age;
    sight_.report.cause = str_cat(stuck->name, " can't start: ", stuck->text);
    sight_.stage = JobStage::ended;
    outputs_.clear();
    return place_.remove(name_).with("removing a job that can't start");
  }

  // Tasks that did not hear that the others need them no longer.
  Status heed_rest() {
    // A job that its place begins again is no longer ending.
    if (sight_.stage != JobStage::ending) {
      decided_.reset();
      rest_is_ended_ = false;
      return {};
    }
    if (!decided_) decided_ = clock_.now();
    const bool is_late = clock_.now() >= *decided_ + sight_.grace + kAfterGrace;
    if (!owns() || !is_late || std::exchange(rest_is_ended_, true)) return {};
    console_.note("ending the tasks that are left");
    return place_.end_rest(name_);
  }

  // --- what the tasks write ---

  bool is_shown(const TaskSight& task) const {
    const auto& only = options_.tasks;
    return options_.output == FollowOptions::Output::shown && task.stage != TaskStage::pending &&
           !task.handle.empty() &&
           (only.empty() || std::ranges::find(only, task.name) != only.end());
  }

  void add(const TaskSight& task) {
    if (!is_shown(task)) return;
    const auto named = std::ranges::find(sight_.tasks, task.name, &TaskSight::name);
    const auto number = static_cast<size_t>(named - sight_.tasks.begin());
    auto [entry, is_new] = outputs_.try_emplace({number, task.attempt, task.handle},
                                                Output{.task = number, .sight = task});
    entry->second.sight = task;
  }

  Status start_outputs() {
    for (const TaskSight& task : sight_.earlier) add(task);
    for (const TaskSight& task : sight_.tasks) add(task);
    size_t open = static_cast<size_t>(std::ranges::count_if(
        outputs_, [](const auto& entry) { return entry.second.command.has_value(); }));
    for (auto& [handle, output] : outputs_) {
      if (output.is_over || output.is_open()) continue;
      if (open >= kMostOutputs || clock_.now() < next_try_) break;
      MR_TRY(start(output));
      if (output.command) ++open;
    }
    return {};
  }

  Status start(Output& output) {
    if (!options_.log_directory.empty() && output.file == nullptr) {
      std::string stem = output.sight.name;
      // A place tells names as it has them, which no file has to bear.
      std::ranges::replace_if(
          stem, [](char c) { return c == ':' || c == '/'; }, '_');
      if (output.sight.attempt > 1) str_append(&stem, ".", output.sight.attempt);
      const std::string path = str_cat(options_.log_directory, "/", stem, ".log");
      output.file = std::make_unique<std::ofstream>(path, std::ios::binary);
      if (!output.file->is_open())
        return unavailable("can't write the log file '", path, "': ", std::strerror(errno));
    }
    const auto follow =
        options_.how == FollowOptions::How::once ? JobPlace::Follow::no : JobPlace::Follow::yes;
    const Result<AttemptOutput> told = place_.output_of(output.sight, follow);
    if (!told.ok()) {
      next_try_ = clock_.now() + kWhilePending;
      return bear(told.status());
    }
    if (!told->file.empty()) {
      output.source.emplace(told->file);
      has_more_ = true;  // maybe
      return {};
    }
    MR_ASSIGN(RunningCommand command, RunningCommand::start(told->command));
    output.command.emplace(std::move(command));
    output.to_skip = output.shown;
    ++output.tries;
    return {};
  }

  void show(Output& output, std::string_view line) {
    ++output.shown;
    console_.line(output.task, Stream::out, line);
    if (output.file != nullptr) *output.file << line << std::endl;
  }

  void read_file(Output& output) {
    // A job that has ended before the file was looked at writes no more.
    const bool has_ended = options_.how == FollowOptions::How::once ||
                           sight_.stage == JobStage::ended || is_earlier(output);
    const Result<bool> more =
        output.source->read(has_ended, [&](std::string_view line) { show(output, line); });
    has_more_ = has_more_ || (more.ok() && *more);
    output.is_over = has_ended && !(more.ok() && *more);
    if (!output.is_over) return;
    if (!more.ok())
      console_.note(
          str_cat("what ", output.sight.name, " wrote can't be had: ", more.status().message()));
    output.source.reset();
  }

  bool is_earlier(const Output& output) const {
    return std::ranges::find(sight_.earlier, output.sight.handle, &TaskSight::handle) !=
           sight_.earlier.end();
  }

  void read(Output& output) {
    const bool goes_on = output.command->read([&](std::string_view line) {
      if (output.to_skip > 0) {
        --output.to_skip;
        return;
      }
      output.tries = 0;  // a place that hangs up now and then has told something new
      show(output, line);
    });
    if (goes_on) return;
    const int code = output.command->wait();
    output.command.reset();
    // It may have come too early, or the place has hung up: the task tells more when it runs.
    const bool has_ended =
        output.sight.stage == TaskStage::ended || options_.how == FollowOptions::How::once;
    output.is_over = (code == 0 && has_ended) || output.tries >= kMostTries;
    if (output.is_over && (code != 0 || !has_ended))
      console_.note(str_cat(output.shown == 0 ? "what " : "what else ", output.sight.name,
                            " wrote can't be had any more"));
    if (!output.is_over) next_try_ = clock_.now() + kWhilePending;
  }

  void wait() {
    Clock::Time until = clock_.now() + kWhileRunning;
    if (options_.how != FollowOptions::How::once) until = std::min(until, next_look_);
    if (awaits_news()) until = std::min(until, clock_.now() + kWhileGrowing);
    std::vector<pollfd> events = {{signals_.descriptor(), POLLIN, 0}};
    for (const auto& [handle, output] : outputs_)
      if (output.command) events.push_back({output.command->descriptor(), POLLIN, 0});
    const bool grows = std::ranges::any_of(
        outputs_, [](const auto& entry) { return entry.second.source.has_value(); });
    if (grows)
      until = std::min(until, clock_.now() + (has_more_ ? milliseconds(0) : kWhileGrowing));
    has_more_ = false;
    poll(events.data(), events.size(), poll_milliseconds(until, clock_.now()));
    for (auto& [handle, output] : outputs_) {
      if (output.command) read(output);
      if (output.source) read_file(output);
    }
    if (awaits_news() && place_.has_news(name_)) next_look_ = clock_.now();
  }

  // Of a job that runs, a second is soon enough.
  bool awaits_news() const {
    return options_.how != FollowOptions::How::once && sight_.stage == JobStage::pending;
  }

  // --- the end ---

  bool outputs_are_over() const {
    return std::ranges::all_of(outputs_, [](const auto& entry) { return entry.second.is_over; });
  }

  bool is_over() {
    if (options_.how == FollowOptions::How::once) return outputs_are_over();
    if (options_.how == FollowOptions::How::until_it_runs && sight_.stage != JobStage::pending)
      return true;
    if (sight_.stage == JobStage::ending)
      return decided_ && clock_.now() >= *decided_ + sight_.grace + kForTheRest;
    if (sight_.stage != JobStage::ended) return false;
    if (!ended_) ended_ = clock_.now();
    return outputs_are_over() || clock_.now() >= *ended_ + kForOutput;
  }

  Result<FollowedJob> interrupted() {
    if (owns()) {
      console_.note("interrupted: removing the job");
      console_.flush();
      MR_TRY(place_.remove(name_));
      sight_.report.end = JobEnd::interrupted;
      sight_.report.cause = "interrupted";
      sight_.report.time = sight_.age;
    }
    return done(FollowedJob::Why::interrupted);
  }

  FollowedJob done(FollowedJob::Why why) {
    console_.flush();
    return {why, sight_};
  }

  JobPlace& place_;
  const std::string name_;
  const FollowOptions& options_;
  const Clock& clock_;
  const Clock::Time start_;
  SignalWatch signals_;
  Clock::Time heard_;
  bool is_silent_ = false;
  JobSight sight_;
  Console console_;
  // By task, attempt, and what the place calls that.
  std::map<std::tuple<size_t, int, std::string>, Output> outputs_;
  Clock::Time next_look_ = {};
  Clock::Time next_try_ = {};
  std::optional<Clock::Time> stuck_since_;
  std::optional<Clock::Time> decided_;
  std::optional<Clock::Time> ended_;
  bool rest_is_ended_ = false;
  bool has_more_ = false;  // of a file that was read a part of
};

}  // namespace

Result<FollowedJob> follow_job(JobPlace& place, const std::string& name,
                               const FollowOptions& options, const Clock& clock) {
  MR_ASSIGN(JobSight first, place.look(name));
  for (const std::string& task : options.tasks)
    if (std::ranges::find(first.tasks, task, &TaskSight::name) == first.tasks.end())
      return not_found("job '", name, "' has no task '", task, "'");
  return Follower(place, name, options, clock, std::move(first)).run();
}

}  // namespace millrace
