// Part of verbs.h: `millrace attach`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/follow_job.h"

namespace millrace {
namespace {

constexpr const char* kAttachFooter =
    R"(Shows what one task of a submitted job has written and writes, to the end of the job, and ends as that did.
The task's standard input stays where it is: nothing that is typed here reaches it. `millrace exec` runs a command beside it.

Examples:
  millrace attach word-count map:0 --on local
  millrace attach digits worker:3 --on k8s

Exit codes: 0 the job succeeded, 1 it failed, or can't be asked, 2 the command line makes no sense, 130
interrupted: the job goes on.)";

struct AttachFlags {
  std::string job;
  std::string task;
  PlaceFlags place;
};

int attach(const AttachFlags& flags) {
  const auto random = make_random();
  const auto place = place_of(flags.place, *random, Clock::real());
  if (!place.ok()) return complain("attach", place.status());
  const auto followed =
      follow_job(**place, flags.job, {.how = FollowOptions::How::to_the_end, .tasks = {flags.task}},
                 Clock::real());
  if (!followed.ok()) return complain("attach", followed.status());
  constexpr int kInterrupted = 130;
  if (followed->why == FollowedJob::Why::interrupted) return kInterrupted;
  std::cerr << "millrace: " << sentence(followed->sight) << "\n";
  return exit_code(followed->sight);
}

}  // namespace

void add_attach(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<AttachFlags>();
  CLI::App* verb = app.add_subcommand("attach", "Show what one task writes, to the end of its job");
  verb->footer(kAttachFooter);
  verb->add_option("JOB", flags->job, "The job's name")->type_name("")->required();
  verb->add_option("TASK", flags->task, "Whose output")->type_name("NAME:N")->required();
  add_place_flags(*verb, flags->place);
  verb->callback([flags, &invocation] { invocation.run = [flags] { return attach(*flags); }; });
}

}  // namespace millrace
