// Part of verbs.h: `millrace scale`.
#include <pwd.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/scaling.h"

namespace millrace {
namespace {

constexpr const char* kScaleFooter =
    R"(Gives roles of a submitted job other numbers of tasks while it runs: all that are named, or none. A role may have what
its job file says, as in  map: {count: 2, min: 1, max: 8}. The tasks that are there stay: those that come have the
next numbers, and those that go have the last. Who goes is asked to end (SIGTERM), has the job's grace for that, and has
not failed: `millrace status` and the report say that it was scaled down. The job succeeds when those that are left and count have. Returns when the
job's launcher has taken it on, and says what it changes; `millrace status` shows how far that is.

On this machine, on Kubernetes, on YARN, and on Slurm, where a job asks for all tasks that it may have. Jobs of `millrace run` are not submitted, and have no name to be scaled by.

Examples:
  millrace scale word-count map=4 --on local
  millrace scale word-count map=4 --on k8s --namespace words
  millrace scale words map=6 --on slurm
  millrace scale words map=6 --on yarn
  millrace scale digits worker=1 evaluator=1 --on local

Exit codes: 0 taken on, 1 there is no such job, it does not run, or it can't be scaled there, 2 the command line
makes no sense, or the job has no such role or may not have so many tasks of it.)";

struct ScaleFlags {
  std::string job;
  std::vector<std::string> roles;
  PlaceFlags place;
};

std::string caller() {
  const passwd* entry = getpwuid(getuid());
  return str_cat("process ", getpid(), " of ",
                 entry == nullptr ? std::to_string(getuid()) : entry->pw_name);
}

Result<std::vector<ScaledRole>> scaled(const ScaleFlags& flags) {
  std::vector<RoleCount> counts;
  for (const std::string& role : flags.roles) {
    MR_ASSIGN(RoleCount count, parse_role_count(role));
    counts.push_back(std::move(count));
  }
  const auto random = make_random();
  MR_ASSIGN(const auto place, place_of(flags.place, *random, Clock::real()));
  return place->scale(flags.job, counts, caller());
}

int scale(const ScaleFlags& flags) {
  const Result<std::vector<ScaledRole>> roles = scaled(flags);
  if (!roles.ok()) return complain("scale", roles.status());
  for (const ScaledRole& role : *roles)
    std::cout << role.name << ": " << role.before << " -> " << role.after
              << (role.after == 1 ? " task\n" : " tasks\n");
  return kDone;
}

}  // namespace

void add_scale(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<ScaleFlags>();
  CLI::App* verb = app.add_subcommand("scale", "Give a running job more or fewer tasks");
  verb->footer(kScaleFooter);
  verb->add_option("JOB", flags->job, "The job's name")->type_name("")->required();
  verb->add_option("ROLE=COUNT", flags->roles, "How many tasks a role is to have")
      ->type_name("")
      ->required();
  add_place_flags(*verb, flags->place);
  verb->callback([flags, &invocation] { invocation.run = [flags] { return scale(*flags); }; });
}

}  // namespace millrace
