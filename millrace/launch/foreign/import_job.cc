#include "millrace/launch/foreign/import_job.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/foreign/batch_script.h"
#include "millrace/launch/foreign/compose.h"
#include "millrace/launch/foreign/operator_jobs.h"
#include "millrace/launch/foreign/slider.h"
#include "millrace/launch/foreign/task_flags.h"
#include "millrace/launch/foreign/tf_configs.h"
#include "millrace/launch/foreign/yarn_service.h"

namespace millrace {
namespace {

constexpr std::string_view kKnownFiles =
    "there are TFJob, PyTorchJob, MPIJob, JobSet, Job, Slider's resources.json, appConfig.json and "
    "metainfo.json, Yarnfiles, scripts with #SBATCH, compose files and TF_CONFIG";

bool has_key(const YamlValue& document, std::string_view key) {
  if (!document.is_map()) return false;
  const auto value = find_field(document, key);
  return value.ok() && *value;
}

class FileImporter {
 public:
  Status read(const SourceFile& file) {
    // Scripts of both kinds may begin with #!; those of a batch job say so.
    if (sets_tf_config(file.text) && file.text.find("#SBATCH") == std::string::npos)
      return read_config_script(file, import_, configs_);
    if (is_batch_script(file.text)) return import_batch_script(file, import_);
    MR_ASSIGN(const std::vector<YamlValue> documents, YamlValue::parse_all(file.text, file.name));
    if (documents.empty()) return invalid(file.name, ": it holds nothing; ", kKnownFiles);
    for (const YamlValue& document : documents) {
      MR_TRY(read_document(document, file));
      MR_TRY(import_.account.check());
    }
    return {};
  }

  Result<ImportedJob> finish(const std::vector<std::string>& command) {
    MR_TRY(import_tf_configs(configs_, import_));
    if (is_slider_) finish_slider(import_);
    JobSpec& job = import_.job;
    if (job.roles.empty()) return invalid("no role of a job came of these files; ", kKnownFiles);
    take_flags(import_);
    for (RoleSpec& role : job.roles) {
      if (!command_of(job, role).empty()) continue;
      if (command.empty())
        return invalid("nothing says what role '", role.name,
                       "' runs; write it behind the files: -- python3 train.py");
      role.command = command;
    }
    share_what_is_alike(job);
    end_deciding_roles();
    MR_TRY(check(job).with("the job that came of these files"));
    return ImportedJob{.job = std::move(job), .account = import_.account.lines()};
  }

 private:
  Status read_document(const YamlValue& document, const SourceFile& file) {
    if (is_kubernetes_object(document)) return import_kubernetes_object(document, import_);
    if (is_yarn_service(document)) return import_one(document, import_yarn_service);
    if (is_slider_file(document)) {
      is_slider_ = true;
      return import_slider_file(document, import_);
    }
    if (is_compose_file(document)) return import_one(document, import_compose_file);
    if (has_key(document, "cluster") || has_key(document, "sparseCluster")) {
      MR_ASSIGN(TfConfig config, TfConfig::parse(file.text).with(file.name));
      configs_.push_back({.where = file.name, .config = std::move(config)});
      return {};
    }
    if (has_key(document, "roles"))
      return document.refuse("this is a job file already; millrace run takes it as it is");
    return document.refuse("it is no description of a job that is known; ", kKnownFiles);
  }

  Status import_one(const YamlValue& document,
                    Status (*import_document)(const YamlValue&, Import&)) {
    if (!import_.job.roles.empty()) return document.refuse("a second job; import one at a time");
    return import_document(document, import_);
  }

  // A role whose success is the job's ends when it has succeeded.
  void end_deciding_roles() {
    JobSpec& job = import_.job;
    using When = RestartPolicy::When;
    const bool all_go_on = std::ranges::all_of(
        job.roles, [](const RoleSpec& role) { return role.restart.when == When::always; });
    if (job.until.empty() && !all_go_on) {
      const std::vector<std::string> deciding = deciding_roles(job);
      for (const RoleSpec& role : job.roles)
        if (std::ranges::find(deciding, role.name) != deciding.end() &&
            role.restart.when != When::always)
          job.until.push_back(role.name);
      // What holds unless it is said need not be said.
      if (job.until == deciding) job.until.clear();
    }
    for (const std::string& name : deciding_roles(job)) {
      const auto role = std::ranges::find(job.roles, name, &RoleSpec::name);
      if (role == job.roles.end() || role->restart.when != When::always) continue;
      role->restart.when = When::on_failure;
      import_.account.left(
          str_cat("role ", name),
          "it is started again after a normal end, too, and the job would never end; here it is "
          "after a failure");
    }
  }

  Import import_;
  std::vector<NamedConfig> configs_;
  bool is_slider_ = false;
};

}  // namespace

Result<ImportedJob> import_job(const std::vector<SourceFile>& files,
                               const std::vector<std::string>& command) {
  if (files.empty()) return invalid("there is no file to import; ", kKnownFiles);
  FileImporter importer;
  for (const SourceFile& file : files) MR_TRY(importer.read(file));
  return importer.finish(command);
}

}  // namespace millrace
