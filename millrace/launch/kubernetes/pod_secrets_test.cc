#include "millrace/launch/kubernetes/pod_secrets.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/launch/job_file.h"
#include "millrace/launch/kubernetes/manifests.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

JobSpec keeping_secrets() {
  return parse_job_file(R"({name: digits, image: digits:1, command: x, secrets: {
    DB_PASSWORD: {env: PGPASSWORD}, API_KEY: {kubernetes: team-keys/api}},
    roles: {ps: 1, worker: {count: 2, secrets: {API_KEY: {file: key}}}}})",
                        "job.yaml")
      .value();
}

Json reference(const char* variable, const char* name, const char* key) {
  return {{"name", variable}, {"valueFrom", {{"secretKeyRef", {{"name", name}, {"key", key}}}}}};
}

bool has_entry(const Json& list, const Json& element) {
  return std::ranges::find(list, element) != list.end();
}

TEST_CASE("pods say where their secrets are, and only the job's own Secret holds values") {
  const SecretValues values = {{"DB_PASSWORD", "hunter2"}, {"worker.API_KEY", "hunter3"}};
  const auto manifests =
      kubernetes_manifests(keeping_secrets(), {.token = "t", .secrets = values}).value();
  REQUIRE(manifests.size() == 6);
  CHECK(manifests[3]["kind"] == "Secret");
  CHECK(manifests[3]["metadata"]["name"] == "digits-secrets");
  CHECK(manifests[3]["metadata"]["labels"] == manifests[0]["metadata"]["labels"]);
  CHECK(manifests[3]["stringData"] == Json(values));
  const auto variables = [&](size_t job) {
    return manifests[job]["spec"]["template"]["spec"]["containers"][0]["env"];
  };
  CHECK(has_entry(variables(4), reference("DB_PASSWORD", "digits-secrets", "DB_PASSWORD")));
  CHECK(has_entry(variables(4), reference("API_KEY", "team-keys", "api")));
  CHECK(has_entry(variables(5), reference("API_KEY", "digits-secrets", "worker.API_KEY")));
  for (size_t i = 0; i < manifests.size(); ++i)
    CHECK((manifests[i].dump().find("hunter") != std::string::npos) == (i == 3));
}

TEST_CASE("objects without values can be shown, with a word about what is left out") {
  const auto manifests = kubernetes_manifests(keeping_secrets(), {.token = "t"}).value();
  CHECK(manifests[3]["stringData"] == Json::object());
  CHECK(
      secret_notes(keeping_secrets()) ==
      std::vector<std::string>{"DB_PASSWORD, of the environment variable PGPASSWORD, is not shown: "
                               "submit puts it into Secret digits-secrets, which is empty below",
                               "worker.API_KEY, of the file key, is not shown: submit puts it "
                               "into Secret digits-secrets, which is empty below"});
}

TEST_CASE("a job whose secrets are all the cluster's has no Secret for them") {
  JobSpec job = keeping_secrets();
  job.secrets.erase("DB_PASSWORD");
  job.roles[1].secrets.clear();
  CHECK_FALSE(has_own_secret(job));
  CHECK(kubernetes_manifests(job, {.token = "t"}).value().size() == 5);
  CHECK(secret_notes(job).empty());
}

TEST_CASE("a Secret that the cluster has not, or not with that key, is named with what to do") {
  const JobSpec job = keeping_secrets();
  CHECK(cluster_secrets_of(job) == std::vector<std::string>{"team-keys"});
  CHECK(check_cluster_secrets(job, {}).message() ==
        "secrets.API_KEY: the namespace has no Secret 'team-keys'; kubectl create secret generic "
        "team-keys --from-file=api=FILE  makes one");
  Json there = {{"metadata", {{"name", "team-keys"}}}, {"data", {{"b", "aHVudGVyMg=="}}}};
  CHECK(check_cluster_secrets(job, {there}).message() ==
        "secrets.API_KEY: Secret 'team-keys' has no key 'api'; it has: b");
  there["data"]["api"] = "aHVudGVyMg==";
  CHECK(check_cluster_secrets(job, {there}).ok());
}

}  // namespace
}  // namespace millrace
