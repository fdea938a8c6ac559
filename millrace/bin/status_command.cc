// Part of verbs.h: millrace status.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>

#include "millrace/base/random.h"
#include "millrace/bin/places.h"
#include "millrace/bin/verbs.h"
#include "millrace/bin/whole_number.h"
#include "millrace/cluster/environment.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/session/ask_task.h"

namespace millrace {
namespace {

constexpr const char* kStatusFooter =
    R"(Asks tasks over their ports what they wait for: sessions that can't begin, with the tasks that are
missing; steps that run, with the tensors that they wait for and from whom. The tasks are those of the
command line, else of --cluster, else of TF_CONFIG.

With --on: shows a job that was submitted there, its tasks, what they wait for, and how they ended.

Examples:
  millrace status localhost:2222 localhost:2223
  millrace status --cluster cluster.json
  millrace status word-count --on k8s

Exit codes: 0 all have answered or the job is shown, 1 some have not, or there is no such job, 2 the command line makes no sense.)";

struct StatusFlags {
  std::vector<std::string> addresses;
  std::string cluster_file;
  int timeout_seconds = 5;
  PlaceFlags place;
};

// A task to ask: its name as far as it is known, and where it is.
struct Asked {
  std::string name;
  std::string address;
};

Result<ClusterSpec> told_cluster(const StatusFlags& flags) {
  if (flags.cluster_file.empty()) {
    MR_ASSIGN(TfConfig config, TfConfig::from_environment(std::getenv(kTaskVariable)));
    return std::move(config.cluster);
  }
  std::ifstream file(flags.cluster_file, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return invalid("can't read '", flags.cluster_file, "'");
  MR_ASSIGN(TfConfig config, TfConfig::parse_cluster_file(text.str(), flags.cluster_file));
  return std::move(config.cluster);
}

Result<std::vector<Asked>> tasks_of(const StatusFlags& flags) {
  constexpr std::string_view kScheme = "grpc://";
  std::vector<Asked> tasks;
  for (const std::string& address : flags.addresses) {
    const bool has_scheme = address.starts_with(kScheme);
    tasks.push_back({address, has_scheme ? address.substr(kScheme.size()) : address});
  }
  if (!tasks.empty()) return tasks;
  MR_ASSIGN(const ClusterSpec cluster, told_cluster(flags));
  for (const TaskName& task : cluster.tasks()) {
    MR_ASSIGN(std::string address, cluster.address(task));
    tasks.push_back({str_cat(task.job, ":", task.task), std::move(address)});
  }
  if (tasks.empty())
    return invalid(
        "no task is named; write HOST:PORT, or name a file with --cluster, or set TF_CONFIG");
  return tasks;
}

int status_there(const StatusFlags& flags) {
  if (flags.addresses.size() != 1 || !flags.cluster_file.empty())
    return complain("status", invalid("name one job that was submitted to ", flags.place.where));
  const auto random = make_random();
  const auto place = place_of(flags.place, *random, Clock::real());
  if (!place.ok()) return complain("status", place.status());
  const Result<JobSight> sight = (*place)->look(flags.addresses[0]);
  if (!sight.ok()) return complain("status", sight.status());
  std::cout << render(*sight);
  return kDone;
}

int status(const StatusFlags& flags) {
  if (!flags.place.where.empty()) return status_there(flags);
  Result<std::vector<Asked>> tasks = tasks_of(flags);
  if (!tasks.ok()) return complain("status", tasks.status());
  const auto runtime = Runtime::create();
  int code = kDone;
  for (const Asked& task : *tasks) {
    const auto told = ask_task(str_cat("grpc://", task.address), runtime,
                               std::chrono::seconds(flags.timeout_seconds));
    if (told.ok()) {
      std::cout << to_text(*told) << std::endl;
      continue;
    }
    if (told.status().code() == Code::invalid_argument) return complain("status", told.status());
    std::cout << task.name << ": " << told.status().message() << std::endl;
    code = kFailed;
  }
  return code;
}

}  // namespace

void add_status(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<StatusFlags>();
  CLI::App* verb = app.add_subcommand("status", "Ask tasks that run what they wait for");
  verb->footer(kStatusFooter);
  verb->add_option("ADDRESS", flags->addresses, "Where tasks listen; with --on, a job's name")
      ->type_name("HOST:PORT...");
  add_place_flags(*verb, flags->place);
  verb->add_option(kClusterFlags, flags->cluster_file, "JSON: a cluster, or a whole TF_CONFIG")
      ->type_name("FILE");
  verb->add_option("--timeout", flags->timeout_seconds, "Seconds that a task may take (5)")
      ->type_name("N")
      ->check(whole_number(1, 3600));
  verb->callback([flags, &invocation] { invocation.run = [flags] { return status(*flags); }; });
}

}  // namespace millrace
