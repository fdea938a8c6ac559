// Part of verbs.h: `millrace logs`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/follow_job.h"

namespace millrace {
namespace {

constexpr const char* kLogsFooter =
    R"(Shows what the tasks of a submitted job have written, each line with its task's name in front;
attempts that others have followed come first. After the job's end too, for as long as it is kept.

Examples:
  millrace logs word-count --on k8s
  millrace logs word-count map:0 map:1 --on k8s --follow
  millrace logs word-count --on k8s --log-dir logs          also logs/map_0.log and so on

Exit codes: 0 shown, 1 there is no such job, or it can't be asked, 2 the command line makes no sense.)";

struct LogsFlags {
  std::string job;
  std::vector<std::string> tasks;
  PlaceFlags place;
  std::string log_directory;
  bool follow = false;
};

int logs(const LogsFlags& flags) {
  const auto random = make_random();
  const auto place = place_of(flags.place, *random, Clock::real());
  if (!place.ok()) return complain("logs", place.status());
  using How = FollowOptions::How;
  const auto followed = follow_job(**place, flags.job,
                                   {.how = flags.follow ? How::to_the_end : How::once,
                                    .tasks = flags.tasks,
                                    .log_directory = flags.log_directory},
                                   Clock::real());
  if (!followed.ok()) return complain("logs", followed.status());
  if (flags.follow && followed->why == FollowedJob::Why::over)
    std::cerr << "millrace: " << sentence(followed->sight) << "\n";
  return kDone;
}

}  // namespace

void add_logs(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<LogsFlags>();
  CLI::App* verb = app.add_subcommand("logs", "Show what a submitted job's tasks write");
  verb->footer(kLogsFooter);
  verb->add_option("JOB", flags->job, "The job's name")->type_name("")->required();
  verb->add_option("TASK", flags->tasks, "Whose output (all tasks')")->type_name("NAME:N...");
  add_place_flags(*verb, flags->place);
  verb->add_flag("-f,--follow", flags->follow, "Go on until the job has ended");
  verb->add_option("--log-dir", flags->log_directory, "Also write DIR/map_0.log and so on")
      ->type_name("DIR");
  verb->callback([flags, &invocation] { invocation.run = [flags] { return logs(*flags); }; });
}

}  // namespace millrace
