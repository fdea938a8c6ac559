// Part of verbs.h: `millrace config`.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>

#include "millrace/bin/verbs.h"
#include "millrace/bin/whole_number.h"
#include "millrace/cluster/host_port.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/config_script.h"
#include "millrace/launch/job.h"
#include "millrace/launch/plan.h"

namespace millrace {
namespace {

constexpr const char* kConfigFooter =
    R"(One script per task, config_JOB_INDEX.sh. Source one in each shell, then start the program there:
  . ./config_map_0.sh && python3 word_count.py

Examples:
  millrace config --job files=1 --job reduce=1 --job map=2         ports 2222, 2223 ... of localhost
  millrace config --cluster cluster.json --out configs
where cluster.json is {"ps": ["10.0.0.7:2222"], "worker": ["10.0.0.8:2222", "10.0.0.9:2222"]}.

Exit codes: 0 written, 1 a file could not be read or written, 2 the command line or the cluster
makes no sense.)";

struct ConfigFlags {
  std::vector<std::string> jobs;
  std::string cluster_file;
  std::string directory = ".";
  std::string host = "localhost";
  int first_port = kConventionalPort;
};

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return not_found("can't read '", path, "'");
  return text.str();
}

Result<ClusterSpec> cluster_of(const ConfigFlags& flags) {
  if (!flags.cluster_file.empty()) {
    MR_ASSIGN(std::string text, read_file(flags.cluster_file));
    MR_ASSIGN(TfConfig config, TfConfig::parse_cluster_file(text, flags.cluster_file));
    for (const std::string& note : config.notes) std::cerr << "millrace config: " << note << "\n";
    return config.cluster;
  }
  JobSpec job{.command = {"-"}, .host = flags.host, .first_port = flags.first_port};
  for (const std::string& text : flags.jobs) {
    MR_ASSIGN(RoleSpec role, parse_role(text));
    job.roles.push_back(std::move(role));
  }
  MR_TRY(check(job));
  std::vector<int> ports(count_planned(job));
  for (size_t i = 0; i < ports.size(); ++i) ports[i] = flags.first_port + static_cast<int>(i);
  return plan_launch(job, ports).cluster;
}

Status write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return {};
  return unavailable("can't write '", path.string(), "'");
}

Status write_scripts(const ConfigFlags& flags) {
  MR_ASSIGN(ClusterSpec cluster, cluster_of(flags));
  if (cluster.num_tasks() == 0) return invalid("the cluster has no tasks");
  std::error_code fault;
  std::filesystem::create_directories(flags.directory, fault);
  if (fault) return unavailable("can't make '", flags.directory, "': ", fault.message());
  for (const TaskName& task : cluster.tasks()) {
    if (task.replica != 0) continue;  // all replicas of a task share its TF_CONFIG
    std::filesystem::path path = std::filesystem::path(flags.directory) / config_script_name(task);
    MR_TRY(write_file(path, config_script(cluster, task)));
    std::cout << path.lexically_normal().string() << "\n";
  }
  return {};
}

}  // namespace

void add_config(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<ConfigFlags>();
  CLI::App* verb = app.add_subcommand("config", "Write one script per task that sets TF_CONFIG");
  verb->footer(kConfigFooter);
  CLI::Option* jobs =
      verb->add_option("--job", flags->jobs, "A job and how many tasks it has; may be repeated")
          ->type_name("NAME=COUNT")
          ->allow_extra_args(false);
  CLI::Option* file =
      verb->add_option(kClusterFlags, flags->cluster_file, "JSON: a cluster, or a whole TF_CONFIG")
          ->type_name("FILE")
          ->excludes(jobs);
  verb->add_option("--out", flags->directory, "Where to write")
      ->type_name("DIR")
      ->capture_default_str();
  verb->add_option("--host", flags->host, "Host of all tasks of --job")
      ->type_name("HOST")
      ->excludes(file)
      ->capture_default_str();
  verb->add_option("--ports", flags->first_port, "First port; the tasks get this and the following")
      ->type_name("PORT")
      ->check(whole_number(1, 65535))
      ->excludes(file)
      ->capture_default_str();
  verb->callback([flags, jobs, file, &invocation] {
    if (jobs->empty() && file->empty()) throw CLI::RequiredError("--job or --cluster");
    invocation.run = [flags] {
      Status written = write_scripts(*flags);
      return written.ok() ? kDone : complain("config", written);
    };
  });
}

}  // namespace millrace
