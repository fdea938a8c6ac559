// Part of verbs.h: `millrace rerun`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/follow_job.h"
#include "millrace/launch/local_secrets.h"

namespace millrace {
namespace {

constexpr const char* kRerunFooter =
    R"(Submits a job that has ended once more, as it was submitted: there, with its command, its roles and its
environment, in the directory that this is called in; its secrets are read anew, from there. What is kept of its last run makes room for the new one; --log-dir saves what its tasks
have written, and --name leaves it as it is and calls the new one something else.

Examples:
  millrace rerun word-count --on slurm --log-dir first_run
  millrace rerun word-count --on k8s
  millrace rerun word-count --on local --name word-count-2

Exit codes: 0 submitted, 1 there is no such job, it has not ended, or it could not be submitted, 2 the
command line makes no sense.)";

struct RerunFlags {
  std::string job;
  std::string name;
  std::string log_directory;
  PlaceFlags place;
};

Status make_room(JobPlace& place, const RerunFlags& flags) {
  MR_ASSIGN(const JobSight sight, place.look(flags.job));
  if (sight.stage != JobStage::ended)
    return failed_precondition("job '", flags.job, "' has not ended: wait for it, end it with ",
                               "millrace stop ", flags.job, ", or choose a --name");
  if (!flags.log_directory.empty()) {
    const FollowOptions save{.how = FollowOptions::How::once, .log_directory = flags.log_directory};
    MR_ASSIGN(const FollowedJob saved, follow_job(place, flags.job, save, Clock::real()));
    if (saved.why == FollowedJob::Why::interrupted) return cancelled("interrupted");
  }
  return place.remove(flags.job);
}

Result<std::string> submitted_again(const RerunFlags& flags, Random& random) {
  MR_ASSIGN(const auto place, place_of(flags.place, random, Clock::real()));
  MR_ASSIGN(JobSpec job, place->job_of(flags.job));
  // Before anything of the last run goes.
  MR_TRY(read_secrets(job).status());
  if (flags.name.empty() || flags.name == flags.job) {
    MR_TRY(make_room(*place, flags));
  } else {
    job.name = flags.name;
  }
  MR_TRY(place->submit(job));
  leave_company(*place, job.name, flags.place);
  return job.name;
}

int rerun(const RerunFlags& flags) {
  const auto random = make_random();
  const Result<std::string> name = submitted_again(flags, *random);
  if (!name.ok()) return complain("rerun", name.status());
  std::cout << *name << "\n";
  return kDone;
}

}  // namespace

void add_rerun(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<RerunFlags>();
  CLI::App* verb = app.add_subcommand("rerun", "Submit a job that has ended once more");
  verb->footer(kRerunFooter);
  verb->add_option("JOB", flags->job, "The job's name")->type_name("")->required();
  add_place_flags(*verb, flags->place);
  verb->add_option("--name", flags->name, "What the new one is called (as the old one)")
      ->type_name("NAME");
  verb->add_option("--log-dir", flags->log_directory, "Write DIR/map_0.log and so on before")
      ->type_name("DIR");
  verb->callback([flags, &invocation] { invocation.run = [flags] { return rerun(*flags); }; });
}

}  // namespace millrace
