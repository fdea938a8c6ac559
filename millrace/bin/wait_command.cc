// Part of verbs.h: `millrace wait`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/follow_job.h"

namespace millrace {
namespace {

constexpr const char* kWaitFooter =
    R"(Waits until a submitted job has ended, and tells how each of its tasks did. What tasks that are no
longer needed do is waited for a minute; millrace stop ends them. It brings what tasks have made, where nobody else does: on Kubernetes, and on YARN with staging.

Examples:
  millrace wait word-count --on k8s
  millrace wait word-count --on k8s --timeout 10m
  millrace wait word-count --on k8s --running

Exit codes: 0 the job succeeded (or runs), 1 it failed, or can't be asked about, 2 the command line makes no sense,
124 it has not ended in time, 130 interrupted: the job goes on.)";

constexpr int kTooLate = 124;
constexpr int kInterruptedHere = 130;

struct WaitFlags {
  std::string job;
  PlaceFlags place;
  std::string timeout;
  bool is_until_it_runs = false;
};

Result<FollowedJob> waited(const WaitFlags& flags, JobPlace& place) {
  FollowOptions options{.output = FollowOptions::Output::hidden};
  if (flags.is_until_it_runs) options.how = FollowOptions::How::until_it_runs;
  if (!flags.timeout.empty()) {
    MR_ASSIGN(options.time_limit, parse_duration(flags.timeout).with("--timeout"));
  }
  return follow_job(place, flags.job, options, Clock::real());
}

int wait(const WaitFlags& flags) {
  const auto random = make_random();
  const auto place = place_of(flags.place, *random, Clock::real());
  if (!place.ok()) return complain("wait", place.status());
  const Result<FollowedJob> followed = waited(flags, **place);
  if (!followed.ok()) return complain("wait", followed.status());
  const JobStage stage = followed->sight.stage;
  if (followed->why == FollowedJob::Why::over &&
      (stage == JobStage::ended || stage == JobStage::ending)) {
    std::cout << render(followed->sight.report) << std::flush;
    return flags.is_until_it_runs ? exit_code(followed->sight)
                                  : code_with_outputs("wait", **place, *followed);
  }
  std::cerr << "millrace: " << sentence(followed->sight) << "\n";
  if (followed->why == FollowedJob::Why::over) return kDone;
  return followed->why == FollowedJob::Why::time_limit ? kTooLate : kInterruptedHere;
}

}  // namespace

void add_wait(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<WaitFlags>();
  CLI::App* verb = app.add_subcommand("wait", "Wait until a submitted job has ended");
  verb->footer(kWaitFooter);
  verb->add_option("JOB", flags->job, "The job's name")->type_name("")->required();
  add_place_flags(*verb, flags->place);
  verb->add_option("--timeout", flags->timeout, "How long at most")->type_name("DURATION");
  verb->add_flag("--running", flags->is_until_it_runs, "Only until all of its tasks run");
  verb->callback([flags, &invocation] { invocation.run = [flags] { return wait(*flags); }; });
}

}  // namespace millrace
