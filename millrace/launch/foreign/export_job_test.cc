#include "millrace/launch/foreign/export_job.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace millrace {
namespace {

JobSpec training() {
  return {.name = "digits",
          .roles = {{"ps", 1}, {"worker", 2}},
          .command = {"python3", "train.py"},
          .image = "digits:1"};
}

std::string export_fault(const Result<ExportedJob>& exported) {
  return exported.ok() ? "" : exported.status().message();
}

TEST_CASE("what a format has no word for is refused, and the one that has is named") {
  JobSpec words = training();
  words.roles[0].name = "files";
  CHECK(export_fault(export_tfjob(words)) ==
        "role 'files': a TFJob has chief, master, worker, ps and evaluator; --to jobset takes any "
        "role");
  JobSpec two_chiefs = training();
  two_chiefs.roles = {{"chief"}, {"master"}};
  CHECK(export_fault(export_tfjob(two_chiefs)).find("both") != std::string::npos);
  JobSpec bare = training();
  bare.image = "";
  CHECK(export_fault(export_job_set(bare)).starts_with("role 'ps' has no image"));
  CHECK(export_fault(export_compose(bare)).starts_with("role 'ps' has no image"));
  CHECK(export_yarn_service(bare).ok());
  JobSpec nameless = training();
  nameless.name = "";
  CHECK(export_fault(export_compose(nameless)).find("give the job one") != std::string::npos);
  JobSpec stored_elsewhere = training();
  stored_elsewhere.volumes = {{"/data", "claim"}};
  CHECK(export_fault(export_yarn_service(stored_elsewhere)).starts_with("volumes: "));
}

TEST_CASE("roles whose names become one there are refused") {
  JobSpec job = training();
  job.roles = {{"a_b"}, {"A_B"}};
  CHECK(!export_job_set(job).ok());
  CHECK(!export_yarn_service(job).ok());
  CHECK(!export_compose(job).ok());
}

TEST_CASE("many tasks are written once for each role, or refused where that can't be") {
  JobSpec job = training();
  job.roles[1].count = 2000;
  const auto set = export_job_set(job);
  REQUIRE(set.ok());
  CHECK(set->text.size() < 512'000);
  CHECK(export_fault(export_compose(job)).find("at most 256") != std::string::npos);
  job.roles[1].count = 4000;
  CHECK(export_fault(export_job_set(job)).find("--to kubernetes") != std::string::npos);
}

TEST_CASE("what is said in vain is told") {
  JobSpec job = training();
  job.until = {"ps"};
  job.roles[1].may_lose = {.amount = 1};
  job.roles[1].most = job.roles[1].count + 1;
  const auto exported = export_tfjob(job);
  REQUIRE(exported.ok());
  const auto tells = [&](std::string_view begin) {
    return std::ranges::any_of(exported->notes,
                               [&](const std::string& note) { return note.starts_with(begin); });
  };
  CHECK(tells("until: a TFJob has succeeded when its worker has"));
  CHECK(tells("roles.worker.may_lose: "));
  CHECK(tells("roles.worker.max: its number of tasks stays as it begins"));
}

}  // namespace
}  // namespace millrace
