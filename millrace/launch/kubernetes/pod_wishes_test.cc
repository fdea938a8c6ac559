#include "millrace/launch/kubernetes/pod_wishes.h"

#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/launch/job_file.h"
#include "millrace/launch/kubernetes/manifests.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

JobSpec wishing(std::string_view wishes, std::string_view role = "") {
  return parse_job_file(str_cat("{name: digits, image: digits:1, command: x, kubernetes: {", wishes,
                                "}, roles: {ps: 1, worker: {count: 2, kubernetes: {", role, "}}}}"),
                        "job.yaml")
      .value();
}

TEST_CASE("what is asked of Kubernetes alone is in the pods of the job's testdata") {
  // manifests_test.cc reads testdata/placed.job.yaml; here is what must not be there.
  const auto manifests = kubernetes_manifests(wishing(""), {.token = "t"}).value();
  const Json& spec = manifests.back()["spec"]["template"]["spec"];
  for (const char* key : {"tolerations", "priorityClassName", "schedulerName", "imagePullSecrets",
                          "serviceAccountName", "topologySpreadConstraints", "affinity"})
    CHECK_FALSE(spec.contains(key));
  CHECK(spec["automountServiceAccountToken"] == false);
  CHECK_FALSE(manifests.back()["spec"]["template"]["metadata"].contains("annotations"));
}

TEST_CASE(
    "where Volcano finds machines, its group holds the job back, and its queue is the job's") {
  JobSpec job = wishing("scheduler: volcano, priority: high");
  job.queue = "team";
  CHECK_FALSE(is_gang(job));
  const auto manifests =
      kubernetes_manifests(job, {.token = "t", .admission = "waiting 1 0 0"}).value();
  const Json& group = manifests[3];
  CHECK(group["apiVersion"] == "scheduling.volcano.sh/v1beta1");
  CHECK(group["kind"] == "PodGroup");
  CHECK(group["metadata"]["name"] == "digits");
  CHECK(group["spec"] == Json{{"minMember", 3}, {"queue", "team"}, {"priorityClassName", "high"}});
  const Json& head = manifests[4];
  CHECK_FALSE(head["spec"].contains("suspend"));
  CHECK_FALSE(head["metadata"]["labels"].contains(kQueueLabel));
  CHECK(head["spec"]["template"]["metadata"]["annotations"]["scheduling.k8s.io/group-name"] ==
        "digits");
  CHECK(head["spec"]["template"]["spec"]["schedulerName"] == "volcano");
}

TEST_CASE("another scheduler has no group, and the job is let in as any other") {
  const JobSpec job = wishing("scheduler: packing");
  CHECK(is_gang(job));
  CHECK(kubernetes_manifests(job, {.token = "t"}).value().size() == 5);
}

TEST_CASE("labels of the job and of the role never take the place of those that it is found by") {
  JobSpec job = wishing("labels: {team: vision}", "labels: {tier: two}");
  const auto manifests = kubernetes_manifests(job, {.token = "t"}).value();
  CHECK(manifests[0]["metadata"]["labels"]["team"] == "vision");
  CHECK(manifests[0]["spec"]["selector"] == Json{{kInstanceLabel, "digits"}});
  CHECK_FALSE(manifests[3]["metadata"]["labels"].contains("tier"));
  CHECK(manifests[4]["spec"]["template"]["metadata"]["labels"]["tier"] == "two");
}

TEST_CASE("wishes that can't go together are refused") {
  CHECK(check_pod_wishes(wishing("", "scheduler: volcano")).message().find("the whole job") !=
        std::string::npos);
  JobSpec job = wishing("shm: 1Gi");
  job.volumes = {{"/dev/shm", "claim"}};
  CHECK(check_pod_wishes(job).message().find("one of the volumes already") != std::string::npos);
}

TEST_CASE("two thousand tasks with all that may be wished for stay below the store's limits") {
  JobSpec job = wishing(
      "tolerations: [a, b, c], spread: zone, apart: machine, near: zone, shm: 1Gi, "
      "labels: {team: vision}, pull_secrets: [a, b], scheduler: volcano");
  job.roles[1].count = 2000;
  size_t bytes = 0;
  for (const Json& manifest : kubernetes_manifests(job, {.token = "t"}).value())
    bytes += manifest.dump().size();
  CHECK(bytes < 256'000);
}

}  // namespace
}  // namespace millrace
