#include "millrace/launch/kubernetes/pod_restarts.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/launch/farewell.h"
#include "millrace/launch/job_file.h"

namespace millrace {
namespace {

// The role `map` of a job file that has this for it.
RoleSpec map_that(const std::string& keys) {
  const std::string text =
      "command: work\nroles:\n  files: 1\n  map: {count: 4, " + keys + "}\nuntil: map\n";
  return parse_job_file(text, "job.yaml").value().roles.at(1);
}

std::string policy_of(const std::string& keys) {
  return pod_failure_policy(pod_restarts(map_that(keys)).value()).dump();
}

TEST_CASE("a task is started again as often as attempts and budget let it, by Kubernetes' count") {
  CHECK(pod_restarts(map_that("cpus: 1"))->restarts == 0);
  CHECK(pod_restarts(map_that("restart: on_failure"))->restarts == 10);
  CHECK(pod_restarts(map_that("restart: 100"))->restarts == 100);
  CHECK(pod_restarts(map_that("restart: {attempts: 3}"))->restarts == 2);
  CHECK(pod_restarts(map_that("restart: {attempts: 30, budget: 5 in 1m}"))->restarts == 5);
}

TEST_CASE("after a failure the task comes again, unless there is no program or it is not needed") {
  CHECK(policy_of("restart: on_failure") ==
        R"({"rules":[{"action":"Count","onPodConditions":[{"type":"DisruptionTarget"}]},)"
        R"({"action":"FailIndex","onExitCodes":{"operator":"In","values":[126,127,128,250]}}]})");
}

TEST_CASE("after some failures only: exit codes, signals by their numbers, machines that go") {
  CHECK(policy_of("restart: {on: [3, SIGKILL]}") ==
        R"({"rules":[{"action":"FailIndex","onPodConditions":[{"type":"DisruptionTarget"}]},)"
        R"({"action":"FailIndex","onExitCodes":{"operator":"NotIn","values":[3,137]}}]})");
  CHECK(policy_of("restart: {on: [lost]}") ==
        R"({"rules":[{"action":"Count","onPodConditions":[{"type":"DisruptionTarget"}]},)"
        R"({"action":"FailIndex","onExitCodes":{"operator":"NotIn","values":[0]}}]})");
  CHECK(policy_of("restart: {on: [out_of_memory]}").find(R"("values":[137])") != std::string::npos);
  const PodRestarts by_signals = pod_restarts(map_that("restart: {on: [signal]}")).value();
  CHECK(by_signals.after_listed);
  CHECK(by_signals.codes.front() == 129);
  CHECK(by_signals.codes.back() == 159);
  const PodRestarts by_exits = pod_restarts(map_that("restart: {on: [exit]}")).value();
  CHECK(!by_exits.after_listed);
  CHECK(by_exits.codes.size() == 4 + 31);
}

TEST_CASE("a task and Kubernetes know the same codes") {
  const PodRestarts some = pod_restarts(map_that("restart: {on: [3, SIGKILL]}")).value();
  CHECK(restart_words(some) ==
        std::vector<std::string>{"--restarts", "10", "--restarts-after", "3,137"});
  const PodRestarts all = pod_restarts(map_that("restart: {attempts: 2}")).value();
  CHECK(restart_words(all) ==
        std::vector<std::string>{"--restarts", "1", "--restarts-but-after", "126,127,128,250"});
  CHECK(restart_words({}) == std::vector<std::string>{"--restarts", "0"});
}

TEST_CASE("a helper that is always started again says so itself, by a code that is followed") {
  RoleSpec role = map_that("cpus: 1");
  role.restart.when = RestartPolicy::When::always;
  const PodRestarts always = pod_restarts(role).value();
  CHECK(always.after_success);
  CHECK(restart_words(always).back() == "--restarts-always");
  CHECK(std::ranges::find(always.codes, kStartsAgain) == always.codes.end());
  CHECK(!always.after_listed);
}

TEST_CASE("what Kubernetes does differently is said") {
  JobSpec job{.roles = {map_that("restart: {on: [out_of_memory], budget: 5 in 1m}")}};
  const std::vector<std::string> notes = restart_notes(job);
  REQUIRE(notes.size() == 3);
  CHECK(notes[0] ==
        "role map: each task is started again at most 5 times, in the job's whole life: Kubernetes "
        "counts the failures of each task, and knows no budget of a role (5 in 60s)");
  CHECK(notes[1].find("1.0 s to 1 min 0 s") != std::string::npos);
  CHECK(notes[2].find("SIGKILL") != std::string::npos);
  CHECK(restart_notes({.roles = {map_that("cpus: 1")}}).empty());
}

}  // namespace
}  // namespace millrace
