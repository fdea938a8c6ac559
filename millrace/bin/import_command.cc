// Part of verbs.h: `millrace import`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/job_flags.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/foreign/import_job.h"
#include "millrace/launch/job_file.h"

namespace millrace {
namespace {

constexpr const char* kImportFooter =
    R"(Reads a job as others write it down, and prints it as a job file. To standard error goes a line for each
value that stood there: what was taken and as which key, or what was left out and why. What the files are, they tell themselves:
  TFJob, PyTorchJob, MPIJob (v1, v1beta1), JobSet and Job of Kubernetes
  resources.json, appConfig.json and metainfo.json of Slider, Yarnfiles
  scripts with #SBATCH lines, compose files
  TF_CONFIG of a task or of all: JSON, or scripts that set it

Examples:
  millrace import tfjob.yaml > job.yaml
  millrace import resources.json appConfig.json metainfo.json
  millrace import config_*.sh -- python3 count.py       the command, where the files have none

Exit codes: 0 imported, 1 a file could not be read, 2 the command line or a file makes no sense.)";

Result<ImportedJob> imported(const std::vector<std::string>& paths,
                             const std::vector<std::string>& command) {
  std::vector<SourceFile> files;
  for (const std::string& path : paths) {
    MR_ASSIGN(std::string text, read_job_text(path));
    files.push_back({.name = path, .text = std::move(text)});
  }
  return import_job(files, command);
}

}  // namespace

void add_import(CLI::App& app, Invocation& invocation) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* verb = app.add_subcommand("import", "Print others' description of a job as a job file");
  verb->footer(kImportFooter);
  verb->add_option("FILE", *files, "The files that describe one job")->required();
  verb->callback([files, &invocation] {
    invocation.run = [files, &invocation] {
      const Result<ImportedJob> job = imported(*files, invocation.command);
      if (!job.ok()) return complain("import", job.status());
      for (const std::string& line : job->account) std::cerr << line << "\n";
      std::cout << to_job_file(job->job);
      return kDone;
    };
  });
}

}  // namespace millrace
