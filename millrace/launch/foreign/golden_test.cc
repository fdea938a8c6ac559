// Files of other programs and the jobs that come of them, and the other way round, as files beside
// each other. tools/golden --write writes what is expected anew.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/launch/foreign/export_job.h"
#include "millrace/launch/foreign/import_job.h"
#include "millrace/launch/job_file.h"

namespace millrace {
namespace {

std::string stored(const std::string& name) {
  std::ifstream file("testdata/" + name, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void check_stored(const std::string& text, const std::string& name) {
  if (const char* asked = std::getenv("MILLRACE_GOLDEN");
      asked != nullptr && std::string_view(asked) == "write")
    std::ofstream("testdata/" + name, std::ios::binary) << text;
  CHECK(text == stored(name));
}

ImportedJob imported_of(const std::vector<std::string>& names,
                        const std::vector<std::string>& command) {
  std::vector<SourceFile> files;
  for (const std::string& name : names) files.push_back({.name = name, .text = stored(name)});
  Result<ImportedJob> job = import_job(files, command);
  REQUIRE_MESSAGE(job.ok(), job.status().message());
  return *std::move(job);
}

TEST_CASE("others' files become the job files of testdata, with an account of every value") {
  struct Row {
    const char* expected;
    std::vector<std::string> files;
    std::vector<std::string> command = {};
  };
  const std::vector<std::string> count = {"python3", "count.py"};
  const Row rows[] = {
      {"tfjob", {"tfjob.yaml"}},
      {"mpijob", {"mpijob.yaml"}, {"sleep", "infinity"}},
      {"jobset", {"jobset.yaml"}},
      {"objects", {"objects.yaml"}},
      {"slider", {"appConfig.json", "resources.json", "metainfo.json"}},
      {"yarnfile", {"yarnfile.json"}},
      {"training", {"training.sbatch"}},
      {"tasks", {"tasks.sbatch"}},
      {"compose", {"compose.yaml"}},
      {"configs",
       {"config_map_1.sh", "config_files_0.sh", "config_reduce_0.sh", "config_map_0.sh"},
       count},
      {"tf_config", {"tf_config.json"}, count},
  };
  for (const Row& row : rows) {
    CAPTURE(row.expected);
    const ImportedJob job = imported_of(row.files, row.command);
    std::string account;
    for (const std::string& line : job.account) str_append(&account, line, "\n");
    const std::string file = to_job_file(job.job);
    check_stored(file, str_cat("imported_", row.expected, ".yaml"));
    check_stored(account, str_cat("imported_", row.expected, ".account"));
    // What was printed is a job file.
    CHECK(to_job_file(parse_job_file(file, "again").value()) == file);
  }
}

TEST_CASE("the jobs of testdata become others' files, and come back from them") {
  struct Row {
    const char* job;
    const char* format;
    Result<ExportedJob> (*write)(const JobSpec& job);
    const char* file;
    bool says_until = true;
  };
  const Row rows[] = {
      {"digits", "tfjob", export_tfjob, "digits.tfjob.yaml"},
      {"digits", "jobset", export_job_set, "digits.jobset.yaml"},
      {"digits", "yarnfile", export_yarn_service, "digits.yarnfile.json"},
      {"digits", "compose", export_compose, "digits.compose.yaml"},
      {"words", "jobset", export_job_set, "words.jobset.yaml"},
      {"words", "compose", export_compose, "words.compose.yaml", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.file);
    const std::string name = str_cat(row.job, ".job.yaml");
    const JobSpec job = parse_job_file(stored(name), name).value();
    const Result<ExportedJob> exported = row.write(job);
    REQUIRE_MESSAGE(exported.ok(), exported.status().message());
    check_stored(exported->text, row.file);
    std::string notes;
    for (const std::string& note : exported->notes) str_append(&notes, note, "\n");
    check_stored(notes, str_cat(row.file, ".notes"));

    const JobSpec again = imported_of({row.file}, {}).job;
    CHECK(again.name == job.name);
    CHECK(again.command == job.command);
    if (row.says_until) CHECK(deciding_roles(again) == deciding_roles(job));
    CHECK(again.once == job.once);
    CHECK(again.volumes == job.volumes);
    REQUIRE(again.roles.size() == job.roles.size());
    for (size_t i = 0; i < job.roles.size(); ++i) {
      CHECK(again.roles[i].name == job.roles[i].name);
      CHECK(again.roles[i].count == job.roles[i].count);
      CHECK(again.roles[i].resources.gpus == job.roles[i].resources.gpus);
      CHECK(again.roles[i].environment == job.roles[i].environment);
      const bool restarts = job.roles[i].restart.when != RestartPolicy::When::never;
      CHECK((again.roles[i].restart.when != RestartPolicy::When::never) == restarts);
    }
  }
}

}  // namespace
}  // namespace millrace
