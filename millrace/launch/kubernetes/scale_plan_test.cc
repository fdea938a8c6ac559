#include "millrace/launch/kubernetes/scale_plan.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/role_sizes.h"
#include "millrace/launch/scaling.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

JobSpec elastic_words() {
  JobSpec job{.name = "words", .command = {"true"}, .image = "words:1"};
  job.roles = {{.name = "files"}, {.name = "map", .count = 2, .least = 1, .most = 4}};
  job.until = {"map"};
  return job;
}

// What the cluster has of it.
ClusterObjects objects() {
  ClusterObjects made = kubernetes_manifests(elastic_words(), {.token = "t", .run = "r"}).value();
  made[1]["metadata"]["resourceVersion"] = "77";
  return made;
}

TEST_CASE("the roles of a job are found in its objects, with what they may have") {
  const JobSpec job = scaled_job("words", objects()).value();
  REQUIRE(job.roles.size() == 2);
  CHECK(!scales(job.roles[0]));
  CHECK(job.roles[1].count == 2);
  CHECK(check_scaling(job, {{"map", 4}}).ok());
  CHECK(check_scaling(job, {{"map", 5}}).message().find("1 to 4") != std::string::npos);
  CHECK(!check_scaling(job, {{"files", 2}}).ok());
}

TEST_CASE("a job whose room a queue holds is not scaled") {
  ClusterObjects made = objects();
  for (Json& object : made)
    if (object["kind"] == "Job") object["metadata"]["labels"][kQueueLabel] = "research";
  CHECK(scaled_job("words", made).status().code() == Code::failed_precondition);
}

TEST_CASE("sizes are changed by whoever has seen the last ones") {
  const ClusterObjects made = objects();
  CHECK(
      sizes_patch(*job_of_role(made, "map"), 4, 1'769'860'805) ==
      R"([{"op":"test","path":"/metadata/annotations/millrace~1sizes","value":"2"},)"
      R"({"op":"replace","path":"/metadata/annotations/millrace~1sizes","value":"2 4@1769860805"}])");
  CHECK(pods_patch(*job_of_role(made, "map"), 4) ==
        R"([{"op":"test","path":"/metadata/annotations/millrace~1sizes","value":"2"},)"
        R"({"op":"replace","path":"/spec/completions","value":4},)"
        R"({"op":"replace","path":"/spec/parallelism","value":4}])");
}

TEST_CASE("the roster has the tasks that are absent, with their addresses") {
  JobSpec job = elastic_words();
  CHECK(objects()[1]["data"][kRosterKey] ==
        "map:2 words-map-2.words:2222\nmap:3 words-map-3.words:2222\n");
  job.roles[1].count = 3;
  CHECK(
      roster_patch(*cluster_map_in(objects()), job) ==
      R"({"metadata":{"resourceVersion":"77"},"data":{"roster":"map:3 words-map-3.words:2222\n"}})");
}

TEST_CASE("pods that are to go are waited for until the cluster has seen their end") {
  ClusterObjects made = objects();
  for (Json& object : made)
    if (object["metadata"]["name"] == "words-map")
      object["metadata"]["annotations"][kSizesAnnotation] = "2 1@5";
  const auto pod = [](int index, const char* phase) {
    return Json{
        {"kind", "Pod"},
        {"metadata",
         {{"labels", {{"job-name", "words-map"}}},
          {"annotations", {{"batch.kubernetes.io/job-completion-index", std::to_string(index)}}}}},
        {"status", {{"phase", phase}}}};
  };
  made.push_back(pod(0, "Running"));
  made.push_back(pod(1, "Succeeded"));
  CHECK(!some_leave(made));
  made.push_back(pod(1, "Running"));
  CHECK(some_leave(made));
}

TEST_CASE("a Job is settled when it counts none that went as done") {
  Json job = *job_of_role(objects(), "map");
  CHECK(is_settled(job));
  job["status"] = {{"completedIndexes", "0,2-3"}};
  CHECK(!is_settled(job));
  job["status"]["conditions"] = {{{"type", "Complete"}, {"status", "True"}}};
  CHECK(is_settled(job));
  job["status"] = Json::object();
  job["metadata"]["annotations"][kSizesAnnotation] = "2 4@5";
  CHECK(!is_settled(job));
}

}  // namespace
}  // namespace millrace
