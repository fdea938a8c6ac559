// Part of verbs.h: `millrace submit`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/job_flags.h"
#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"

namespace millrace {
namespace {

constexpr const char* kSubmitFooter =
    R"(Gives a job to a cluster's manager, or to a launcher of its own on this machine, and ends; the job goes
on. Its name is printed. When it can't be submitted, nothing of it is left there. `millrace explain
--on k8s`, `--on slurm` and `--on yarn` show what would be submitted. Jobs on Slurm, on YARN and on this machine are
kept below $MILLRACE_JOBS (~/.local/state/millrace); on Slurm and YARN all machines have to see that folder.

On Kubernetes a job of several tasks begins when there is room for all of them. A process stays here until it has
begun; without that, the job begins when anybody asks about jobs there.

Examples:
  millrace submit word_count.yaml --on k8s
  millrace submit word_count.yaml --on slurm
  millrace submit word_count.yaml --on yarn
  millrace submit word_count.yaml --on local
  millrace submit --on k8s --image words:1 --job files=1 --job map=4 --until map -- word_count
  millrace logs word-count --on k8s --follow

Exit codes: 0 submitted, 1 it could not be, 2 the command line or the job makes no sense.)";

struct SubmitCommandFlags {
  JobFlags job;
  SubmitFlags submit;
  std::string where;
};

int submit(const SubmitCommandFlags& flags, const std::vector<std::string>& extras,
           const std::vector<std::string>& command) {
  const Result<JobSpec> given = job_of(flags.job, extras, command);
  if (!given.ok()) return complain("submit", given.status());
  PlaceFlags where = flags.submit.place;
  where.where = flags.where;
  const auto random = make_random();
  const auto place = place_of(where, *random, Clock::real());
  if (!place.ok()) return complain("submit", place.status());
  const JobSpec job = submitted_job(*given, flags.submit, *random);
  const Status done = (*place)->submit(job);
  if (!done.ok()) return complain("submit", done);
  leave_company(**place, job.name, where);
  std::cout << job.name << "\n";
  return kDone;
}

}  // namespace

void add_submit(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<SubmitCommandFlags>();
  CLI::App* verb = app.add_subcommand(
      "submit", "Give a job to a cluster's manager, or leave it to this machine");
  verb->footer(kSubmitFooter);
  add_job_flags(*verb, flags->job);
  verb->add_option("--on", flags->where, str_cat("Where: ", place_names()))->type_name("PLACE");
  add_submit_flags(*verb, flags->submit);
  verb->callback([flags, verb, &invocation] {
    invocation.run = [flags, verb, &invocation] {
      return submit(*flags, verb->remaining(), invocation.command);
    };
  });
}

}  // namespace millrace
