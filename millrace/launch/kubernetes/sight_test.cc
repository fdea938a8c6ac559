#include "millrace/launch/kubernetes/sight.h"

#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/launch/kubernetes/testing/cluster_objects.h"

namespace millrace {
namespace {

using namespace cluster_objects;

constexpr const char* kFinished = "{\"millrace_stop\":1,\"why\":\"job finished\"}\n";

TEST_CASE("a job has succeeded when those that decide have, and helpers were stopped for it") {
  const JobSight sight = seen({job("map", 2, true), job("files", 1, false),
                               pod("files", 0, ended(0, "09", kFinished, "Completed")),
                               pod("map", 0, ended(0, "10", "", "Completed")),
                               pod("map", 1, ended(0, "11", "", "Completed"))});
  CHECK(sight.stage == JobStage::ended);
  CHECK(render(sight) ==
        "task     where  attempt  state\n"
        "files:0  n1     1        stopped: job finished\n"
        "map:0    n1     1        completed\n"
        "map:1    n1     1        completed\n"
        "words: succeeded in 11 s\n");
}

TEST_CASE("the first that failed is the cause, and the error is its last words") {
  const JobSight sight =
      seen({job("map", 2, true), job("files", 1, false),
            pod("files", 0, ended(143, "05", "{\"millrace_stop\":1,\"why\":\"map:1 failed\"}\n")),
            pod("map", 0, running()), pod("map", 1, ended(3, "05", "ValueError: bad record\n"))});
  CHECK(sight.stage == JobStage::ending);
  CHECK(sentence(sight) == "words: failed after 5.0 s: map:1: exit code 3; 1 task still runs");
  CHECK(sight.report.tasks[0].text == "stopped: map:1 failed");
  CHECK(sight.report.tasks[2].reason.last_error_line == "ValueError: bad record");
}

TEST_CASE("a task that was killed for its memory is told from one that failed") {
  const JobSight sight =
      seen({job("map", 1, true), pod("map", 0, ended(137, "05", "", "OOMKilled"))});
  CHECK(sight.report.cause == "map:0: out of memory (exit code 137)");
}

TEST_CASE("what a task told of itself counts") {
  const JobSight sight =
      seen({job("map", 1, true),
            pod("map", 0,
                ended(1, "05",
                      "{\"millrace_task\":1,\"event\":\"ended\",\"task\":\"map:0\",\"end\":\"input "
                      "exhausted\",\"error\":\"closed\"}\n"))});
  CHECK(sight.report.end == JobEnd::succeeded);
  CHECK(sight.tasks[0].text == "input exhausted");
}

TEST_CASE("what pending tasks wait for is told, and whether waiting helps") {
  Json unscheduled = pod("map", 0, Json::object());
  unscheduled["status"] = {{"phase", "Pending"},
                           {"conditions",
                            {{{"type", "PodScheduled"},
                              {"status", "False"},
                              {"message", "0/2 nodes are available: 2 Insufficient memory."}}}}};
  const Json no_image =
      pod("map", 1,
          {{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "Back-off pulling image"}}}});
  const Json event = {
      {"involvedObject", {{"name", "words-files"}}},
      {"reason", "FailedCreate"},
      {"message", "Error creating: pods \"words-files-0-x\" is forbidden: exceeded quota: small"}};
  const JobSight sight =
      seen({job("map", 2, true), job("files", 1, false), unscheduled, no_image}, {event});
  CHECK(sight.stage == JobStage::pending);
  CHECK(sight.tasks[0].text.starts_with("the namespace's quota is too small: Error creating"));
  CHECK(sight.tasks[0].is_stuck);
  CHECK(sight.tasks[1].text ==
        "no machine for it: 0/2 nodes are available: 2 Insufficient memory.");
  CHECK(!sight.tasks[1].is_stuck);
  CHECK(sight.tasks[2].text ==
        "image 'words:1' can't be had (ImagePullBackOff): Back-off pulling image");
  CHECK(sight.tasks[2].is_stuck);
}

TEST_CASE("attempts are numbered, and the last one is the task") {
  const JobSight sight =
      seen({job("map", 1, true), pod("map", 0, running(), "2026-01-31T12:00:30Z"),
            pod("map", 0, ended(1, "20"), "2026-01-31T12:00:00Z")});
  CHECK(sight.tasks[0].attempt == 2);
  CHECK(sight.tasks[0].stage == TaskStage::running);
  REQUIRE(sight.earlier.size() == 1);
  CHECK(sight.earlier[0].attempt == 1);
  CHECK(sight.earlier[0].handle == "words-map-0-2026-01-31T12:00:00Z");
}

TEST_CASE("a pod that was evicted is told with the cluster's words") {
  Json evicted = pod("map", 0, ended(137, "05"));
  evicted["status"]["reason"] = "Evicted";
  evicted["status"]["message"] = "The node was low on resource: memory.";
  CHECK(seen({job("map", 1, true), evicted}).report.cause ==
        "map:0: evicted: The node was low on resource: memory.");
}

TEST_CASE("a task whose machine does not answer any more is told, before anybody sees its end") {
  Json lost = pod("map", 0, running());
  lost["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:40Z";
  lost["status"]["conditions"] = {{{"type", "DisruptionTarget"},
                                   {"status", "True"},
                                   {"reason", "DeletionByTaintManager"},
                                   {"message", "Taint manager: deleting due to NoExecute taint"},
                                   {"lastTransitionTime", "2026-01-31T12:00:40Z"}}};
  const JobSight sight = seen({job("map", 1, true), lost});
  CHECK(sight.stage == JobStage::ended);
  CHECK(sentence(sight).starts_with("words: failed after 40 s: map:0: its machine is lost: "));
}

TEST_CASE(
    "completed tasks whose pods were removed have completed; others whose pods were have not") {
  const Json end = {{"completedIndexes", "0"},
                    {"conditions",
                     {{{"type", "Failed"},
                       {"status", "True"},
                       {"reason", "FailedIndexes"},
                       {"lastTransitionTime", "2026-01-31T12:00:20Z"}}}}};
  const JobSight sight = seen({job("map", 2, true, end)});
  CHECK(sight.tasks[0].text == "completed");
  CHECK(sight.report.cause == "map:1: its pod was removed");
}

TEST_CASE("a job that took longer than it may says so") {
  Json late = job("map", 1, true,
                  {{"conditions",
                    {{{"type", "Failed"},
                      {"status", "True"},
                      {"reason", "DeadlineExceeded"},
                      {"lastTransitionTime", "2026-01-31T12:00:30Z"}}}}});
  late["spec"]["activeDeadlineSeconds"] = 30;
  const JobSight sight = seen({late});
  CHECK(sight.stage == JobStage::ended);
  CHECK(sight.report.cause == "time limit of 30 s");
}

TEST_CASE("tasks that are being ended for the time limit have not failed") {
  Json late = job("map", 1, true,
                  {{"conditions",
                    {{{"type", "FailureTarget"},
                      {"status", "True"},
                      {"reason", "DeadlineExceeded"},
                      {"lastTransitionTime", "2026-01-31T12:00:06Z"}}}}});
  late["spec"]["activeDeadlineSeconds"] = 6;
  const JobSight sight = seen(
      {late, pod("map", 0, ended(143, "05", "{\"millrace_stop\":1,\"why\":\"asked to end\"}\n"))});
  CHECK(sight.report.cause == "time limit of 6.0 s");
  CHECK(sight.tasks[0].text == "stopped: time limit of 6.0 s");
}

TEST_CASE("objects of any shape are looked at without harm") {
  const std::vector<Json> objects = {Json::array(),
                                     3,
                                     {{"kind", "Job"}, {"status", "?"}},
                                     {{"kind", "Pod"}, {"metadata", {{"labels", 4}}}}};
  CHECK(seen(objects).tasks.empty());
  CHECK(!sight_of("words", {}, {}, 0).ok());
  CHECK(seconds_of("yesterday") == 0);
  CHECK(seconds_of("1970-01-02T00:00:01Z") == 86'401);
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What a follower is told at each of the looks, which were recorded on a real cluster.
std::string followed(const std::string& looks) {
  std::istringstream lines(looks);
  std::string told;
  JobSight before;
  for (std::string line; std::getline(lines, line);) {
    const Json look = Json::parse(line);
    const JobSight now =
        sight_of("words", look["items"].get<std::vector<Json>>(), {}, look["now"].get<int64_t>())
            .value();
    for (const std::string& text : news(before, now)) told += "  " + text + "\n";
    told += sentence(now) + "\n";
    before = now;
  }
  return told + render(before.report);
}

TEST_CASE("recorded looks at a job that failed, and at one that succeeded, tell their stories") {
  for (const std::string story : {"failed", "succeeded"}) {
    const std::string looks = file_text("testdata/" + story + ".looks");
    REQUIRE(!looks.empty());
    CHECK(followed(looks) == file_text("testdata/" + story + ".story"));
  }
}

TEST_CASE("jobs are listed by their names") {
  Json other = job("map", 1, true);
  other["metadata"]["labels"][kInstanceLabel] = "digits";
  const auto sights = sights_of({job("map", 1, true), other}, seconds_of("2026-01-31T12:00:10Z"));
  REQUIRE(sights.size() == 2);
  CHECK(sights[0].name == "digits");
  CHECK(sights[1].age == std::chrono::seconds(10));
}

}  // namespace
}  // namespace millrace
