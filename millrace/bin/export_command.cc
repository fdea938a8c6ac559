// Part of verbs.h: `millrace export`.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/job_flags.h"
#include "millrace/bin/job_texts.h"
#include "millrace/bin/verbs.h"
#include "millrace/launch/foreign/export_job.h"
#include "millrace/launch/slurm/batch.h"

namespace millrace {
namespace {

constexpr const char* kExportFooter =
    R"(Prints a job as others take it, for those who run it there without Millrace: its tasks find each other by
TF_CONFIG. What the job says and they have no word for is told on standard error. sbatch and kubernetes are what
`millrace explain` prints: there the `millrace` command has to be on the machines, or in the image, and does the rest.

Examples:
  millrace export --to tfjob job.yaml | kubectl apply -f -
  millrace export --to jobset --image registry.example/digits:3 job.yaml
  millrace export --to compose job.yaml > compose.yaml
  millrace export --to yarnfile job.yaml
  millrace export --to sbatch job.yaml | sbatch

Exit codes: 0 printed, 1 the file could not be read, 2 the command line or the job makes no sense, or
the job can't be said that way.)";

struct ExportFlags {
  JobFlags job;
  std::string format;
  std::string name;
  std::string image;
};

Result<ExportedJob> text_alone(Result<std::string> text) {
  if (!text.ok()) return text.status();
  return ExportedJob{.text = *std::move(text)};
}

struct Format {
  std::string_view name;
  Result<ExportedJob> (*write)(const JobSpec& job);
};
constexpr Format kFormats[] = {
    {"tfjob", export_tfjob},
    {"jobset", export_job_set},
    {"sbatch", [](const JobSpec& job) { return text_alone(slurm_batch_script(job)); }},
    {"yarnfile", export_yarn_service},
    {"compose", export_compose},
    {"kubernetes", [](const JobSpec& job) { return text_alone(kubernetes_text(job)); }},
};

// What the launcher of a job does has no word in files for others, but where that runs there.
Result<ExportedJob> with_note_of_files(Result<ExportedJob> exported, const JobSpec& job,
                                       std::string_view format) {
  if (exported.ok() && has_task_folders(job) && format != "sbatch")
    exported->notes.push_back(
        "files, outputs: nobody ships them there; put what tasks need into the image, and let them "
        "write to a volume");
  return exported;
}

Result<ExportedJob> exported(const ExportFlags& flags, const std::vector<std::string>& extras,
                             const std::vector<std::string>& command) {
  MR_ASSIGN(JobSpec job, job_of(flags.job, extras, command));
  if (!flags.name.empty()) job.name = flags.name;
  if (!flags.image.empty()) job.image = flags.image;
  for (const Format& format : kFormats)
    if (format.name == flags.format) return with_note_of_files(format.write(job), job, format.name);
  std::string names;
  for (const Format& format : kFormats) str_append(&names, names.empty() ? "" : ", ", format.name);
  return invalid("--to ", flags.format.substr(0, 80), ": there are ", names);
}

}  // namespace

void add_export(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* verb = app.add_subcommand("export", "Print a job as other programs take it");
  verb->footer(kExportFooter);
  add_job_flags(*verb, flags->job);
  verb->add_option("--to", flags->format, "tfjob, jobset, sbatch, yarnfile, compose or kubernetes")
      ->type_name("FORMAT")
      ->required();
  verb->add_option("--name", flags->name, "What the job is called (the file's name)")
      ->type_name("NAME");
  verb->add_option("--image", flags->image, "The container's image")->type_name("IMAGE");
  verb->callback([flags, verb, &invocation] {
    invocation.run = [flags, verb, &invocation] {
      const Result<ExportedJob> job = exported(*flags, verb->remaining(), invocation.command);
      if (!job.ok()) return complain("export", job.status());
      for (const std::string& note : job->notes) std::cerr << "millrace export: " << note << "\n";
      std::cout << job->text;
      return kDone;
    };
  });
}

}  // namespace millrace
