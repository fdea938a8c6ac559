// Part of verbs.h: `millrace explain`.
#include <functional>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/by_ssh.h"
#include "millrace/bin/job_flags.h"
#include "millrace/bin/job_texts.h"
#include "millrace/bin/shipping_here.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/job_file.h"
#include "millrace/launch/slurm/batch.h"
#include "millrace/launch/yarn/application.h"

namespace millrace {
namespace {

constexpr const char* kExplainFooter =
    R"(Prints what would be started, and starts nothing. On this machine: every task with its environment
and command, as a shell would take them. By ssh: its command for every task. For Kubernetes: the objects, as kubectl apply -f - takes
them; the image has to have the `millrace` command. For Slurm: the script, as sbatch takes it. For YARN:
the application, as its ResourceManager takes it; what is known when it is submitted stands there in capitals.

Examples:
  millrace explain word_count.yaml
  millrace explain word_count.yaml --on k8s | kubectl apply --dry-run=server -f -
  millrace explain word_count.yaml --on slurm | sbatch
  millrace explain word_count.yaml --on yarn
  millrace explain word_count.yaml --on ssh --hosts n1,n2,n3
  millrace explain --job ps=1 --job worker=4 -- python3 train.py --job_name={job_name}
  millrace explain --keys                                  what may stand in a job file
  millrace explain --schema > job.schema.json              for editors

Exit codes: 0 explained, 1 the file could not be read, 2 the command line or the job makes no sense.)";

struct ExplainFlags {
  JobFlags job;
  std::string where = "local";
  std::string name;
  std::string image;
  std::vector<std::string> hosts;
  bool keys = false;
  bool schema = false;
};

// Where jobs can run, with what is shown of a job there.
struct Place {
  std::string_view name;
  Result<std::string> (*describe)(const JobSpec& job);
};
constexpr Place kPlaces[] = {
    {"local", describe_here},
    {"k8s", kubernetes_text},
    {"slurm", slurm_batch_script},
    {"yarn", describe_yarn_application},
};

Result<std::string> explained(const ExplainFlags& flags, const std::vector<std::string>& extras,
                              const std::vector<std::string>& command) {
  if (flags.schema) return job_file_schema();
  if (flags.keys) return job_file_reference();
  MR_ASSIGN(JobSpec job, job_of(flags.job, extras, command));
  if (!flags.name.empty()) job.name = flags.name;
  if (!flags.image.empty()) job.image = flags.image;
  if (flags.where == "ssh") return describe_by_ssh(job, flags.hosts);
  if (!flags.hosts.empty()) return invalid("--hosts ", flags.hosts[0], ": it goes with --on ssh");
  for (const Place& place : kPlaces)
    if (place.name == flags.where) return place.describe(job);
  return invalid("--on ", flags.where, ": there are local, ssh, k8s, slurm and yarn");
}

}  // namespace

void add_explain(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* verb = app.add_subcommand("explain", "Show what a job would start, and start nothing");
  verb->footer(kExplainFooter);
  add_job_flags(*verb, flags->job);
  verb->add_option("--on", flags->where, "Where: local, ssh, k8s, slurm or yarn")
      ->type_name("PLACE")
      ->capture_default_str();
  verb->add_option("--name", flags->name, "What the job is called (the file's name)")
      ->type_name("NAME");
  verb->add_option("--image", flags->image, "The container's image")->type_name("IMAGE");
  verb->add_option("--hosts", flags->hosts, "With --on ssh: the machines")
      ->type_name("HOST,...")
      ->delimiter(',');
  verb->add_flag("--keys", flags->keys, "Show what may stand in a job file");
  verb->add_flag("--schema", flags->schema, "Show the JSON Schema of job files");
  verb->callback([flags, verb, &invocation] {
    invocation.run = [flags, verb, &invocation] {
      Result<std::string> text = explained(*flags, verb->remaining(), invocation.command);
      if (!text.ok()) return complain("explain", text.status());
      std::cout << *text;
      return kDone;
    };
  });
}

}  // namespace millrace
