#include "millrace/bin/places.h"

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "millrace/bin/verbs.h"
#include "millrace/launch/follow_job.h"
#include "millrace/launch/kubernetes/kubernetes_place.h"

namespace millrace {
namespace {

std::unique_ptr<JobPlace> make_kubernetes(const PlaceFlags& flags, Random& random,
                                          const Clock& clock) {
  return std::make_unique<KubernetesPlace>(
      KubernetesOptions{.context = flags.context, .name_space = flags.name_space}, random, clock);
}

struct KnownPlace {
  std::string_view name;
  std::unique_ptr<JobPlace> (*make)(const PlaceFlags& flags, Random& random, const Clock& clock);
};
constexpr KnownPlace kJobPlaces[] = {
    {"k8s", make_kubernetes},
};

Result<FollowedJob> submit_and_follow(JobPlace& place, const JobSpec& job,
                                      const FollowOptions& options) {
  MR_TRY(place.submit(job));
  std::cerr << "millrace: submitted as '" << job.name << "'" << std::endl;
  return follow_job(place, job.name, options, Clock::real());
}

}  // namespace

void add_place_details(CLI::App& verb, PlaceFlags& flags) {
  verb.add_option("--context", flags.context,
                  "Kubernetes: which of kubectl's contexts (the current)")
      ->type_name("NAME");
  verb.add_option("--namespace", flags.name_space, "Kubernetes: which namespace (the context's)")
      ->type_name("NAME");
}

void add_place_flags(CLI::App& verb, PlaceFlags& flags) {
  verb.add_option("--on", flags.where, str_cat("Where the job is: ", place_names()))
      ->type_name("PLACE");
  add_place_details(verb, flags);
}

void add_submit_flags(CLI::App& verb, SubmitFlags& flags) {
  verb.add_option("--name", flags.name, "With --on k8s: what the job is called (the file's name)")
      ->type_name("NAME");
  verb.add_option("--image", flags.image, "With --on k8s: the container's image")
      ->type_name("IMAGE");
  verb.add_option("--patience", flags.patience,
                  "With --on k8s: how long tasks may be unable to start before the job is given up "
                  "(1m)")
      ->type_name("DURATION");
  add_place_details(verb, flags.place);
}

bool is_place(std::string_view name) {
  return std::ranges::find(kJobPlaces, name, &KnownPlace::name) != std::end(kJobPlaces);
}

std::string place_names() {
  std::string names;
  for (const KnownPlace& place : kJobPlaces)
    str_append(&names, names.empty() ? "" : ", ", place.name);
  return names;
}

Result<std::unique_ptr<JobPlace>> place_of(const PlaceFlags& flags, Random& random,
                                           const Clock& clock) {
  for (const KnownPlace& place : kJobPlaces)
    if (place.name == flags.where) return place.make(flags, random, clock);
  if (flags.where.empty()) return invalid("say where the job is: --on ", place_names());
  return invalid("--on ", flags.where, ": jobs are kept by ", place_names());
}

JobSpec submitted_job(JobSpec job, const SubmitFlags& flags, Random& random) {
  if (!flags.name.empty()) job.name = flags.name;
  if (!flags.image.empty()) job.image = flags.image;
  if (job.name.empty()) job.name = str_cat("job-", random.next() % 1'000'000);
  return job;
}

int run_there(const JobSpec& job, const PlaceFlags& where, const SubmitFlags& flags,
              const std::string& log_directory) {
  const auto random = make_random();
  const auto place = place_of(where, *random, Clock::real());
  if (!place.ok()) return complain("run", place.status());
  const auto patience = parse_duration(flags.patience);
  if (!patience.ok()) return complain("run", patience.status().with("--patience"));
  const Result<FollowedJob> followed = submit_and_follow(
      **place, submitted_job(job, flags, *random),
      {.log_directory = log_directory, .part = FollowOptions::Part::owner, .patience = *patience});
  if (!followed.ok()) return complain("run", followed.status());
  std::cout << render(followed->sight.report) << std::flush;
  return exit_code(followed->sight);
}

}  // namespace millrace
