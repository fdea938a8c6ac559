// Part of verbs.h: `millrace stop`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/follow_job.h"

namespace millrace {
namespace {

constexpr const char* kStopFooter =
    R"(Ends the tasks of a submitted job and removes all that its place has of it, what the tasks have
written too; --log-dir saves that first. Returns when the place says that all is gone.

Examples:
  millrace stop word-count --on k8s
  millrace stop word-count --on k8s --log-dir logs

Exit codes: 0 it is gone, 1 there is no such job, or it could not be removed, 2 the command line makes no
sense.)";

struct StopFlags {
  std::string job;
  PlaceFlags place;
  std::string log_directory;
};

Status stopped(const StopFlags& flags, Random& random) {
  MR_ASSIGN(const auto place, place_of(flags.place, random, Clock::real()));
  if (!flags.log_directory.empty()) {
    const FollowOptions save{.how = FollowOptions::How::once, .log_directory = flags.log_directory};
    MR_ASSIGN(const FollowedJob saved, follow_job(*place, flags.job, save, Clock::real()));
    if (saved.why == FollowedJob::Why::interrupted) return cancelled("interrupted");
  }
  return place->remove(flags.job);
}

int stop(const StopFlags& flags) {
  const auto random = make_random();
  const Status done = stopped(flags, *random);
  if (!done.ok()) return complain("stop", done);
  std::cout << flags.job << " is gone\n";
  return kDone;
}

}  // namespace

void add_stop(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<StopFlags>();
  CLI::App* verb = app.add_subcommand("stop", "End a submitted job and remove it");
  verb->footer(kStopFooter);
  verb->add_option("JOB", flags->job, "The job's name")->type_name("")->required();
  add_place_flags(*verb, flags->place);
  verb->add_option("--log-dir", flags->log_directory, "Write DIR/map_0.log and so on before")
      ->type_name("DIR");
  verb->callback([flags, &invocation] { invocation.run = [flags] { return stop(*flags); }; });
}

}  // namespace millrace
