// Looks at jobs whose tasks become more and fewer, come back, or may be lost.
#include <doctest/doctest.h>

#include "millrace/launch/kubernetes/role_sizes.h"
#include "millrace/launch/kubernetes/testing/cluster_objects.h"

namespace millrace {
namespace {

using namespace cluster_objects;

// The Job of a role that may have one to four tasks, with its sizes so far.
Json elastic(const std::string& sizes) {
  Json made = job("map", 4, true);
  made["metadata"]["annotations"][kBoundsAnnotation] = "1-4";
  made["metadata"]["annotations"][kSizesAnnotation] = sizes;
  return made;
}

std::string second(const std::string& at) {
  return std::to_string(seconds_of("2026-01-31T12:00:" + at + "Z"));
}

constexpr const char* kGoes = "{\"millrace_stop\":1,\"why\":\"scaled down\"}\n";

TEST_CASE("tasks that a role may have and does not are absent, and nobody waits for them") {
  const JobSight sight =
      seen({elastic("2"), pod("map", 0, running()), pod("map", 1, ended(0, "09"))});
  CHECK(sight.stage == JobStage::running);
  CHECK(sentence(sight) == "words: 1 of 2 tasks run");
  CHECK(sight.tasks[3].stage == TaskStage::absent);
}

TEST_CASE("tasks that come are waited for, and count for the end") {
  const std::vector<Json> objects = {elastic("2 4@" + second("05")), pod("map", 0, ended(0, "09")),
                                     pod("map", 1, ended(0, "09")), pod("map", 2, running())};
  const JobSight sight = seen(objects);
  CHECK(sentence(sight) == "words: 1 of 4 tasks run; map:3 waits: its pod is being made");
}

TEST_CASE("tasks that went are neither failure nor success, whatever their end was") {
  const JobSight sight =
      seen({elastic("4 2@" + second("05")), pod("map", 0, ended(0, "09")),
            pod("map", 1, ended(0, "11")), pod("map", 2, ended(0, "06", kGoes))});
  CHECK(sight.stage == JobStage::ended);
  CHECK(render(sight) ==
        "task   where  attempt  state\n"
        "map:0  n1     1        completed\n"
        "map:1  n1     1        completed\n"
        "map:2  n1     1        scaled down\n"
        "words: succeeded in 11 s\n");
  CHECK(exit_code(sight) == 0);
}

TEST_CASE("the job is done when those that are left have succeeded before others went") {
  const JobSight sight = seen({elastic("2 1@" + second("15")), pod("map", 0, ended(0, "09")),
                               pod("map", 1, ended(0, "16", kGoes))});
  CHECK(sentence(sight) == "words: succeeded in 16 s");
}

TEST_CASE("a task that comes back after it went is another attempt") {
  const JobSight sight = seen({elastic("2 1@" + second("05") + " 2@" + second("20")),
                               pod("map", 0, running()), pod("map", 1, ended(0, "06", kGoes)),
                               pod("map", 1, running(), "2026-01-31T12:00:21Z")});
  CHECK(sight.stage == JobStage::running);
  CHECK(sight.tasks[1].attempt == 2);
  CHECK(sight.report.tasks[1].earlier.at(0).text == "scaled down");
  CHECK(sight.report.num_restarts == 0);
}

TEST_CASE("clocks that differ take away nobody's end") {
  // By the clock of who scaled it, it went before it came.
  const JobSight sight = seen({elastic("2 1@" + second("00")), pod("map", 0, running()),
                               pod("map", 1, ended(0, "06", kGoes))});
  CHECK(sight.tasks[1].stage == TaskStage::absent);
  CHECK(sight.stage == JobStage::running);
}

// The Job of a role whose tasks are started again twice at most.
Json patient(int count, const Json& status = Json::object()) {
  Json made = job("map", count, true, status);
  made["spec"]["backoffLimitPerIndex"] = 2;
  return made;
}

Json after_failures(Json made, int failures) {
  made["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] =
      std::to_string(failures);
  return made;
}

TEST_CASE("a task that is started again has not failed, and says what it comes back after") {
  const JobSight sight = seen(
      {patient(2), pod("map", 0, running()), after_failures(pod("map", 1, ended(3, "05")), 0)});
  CHECK(sight.stage == JobStage::pending);
  CHECK(sentence(sight) == "words: 1 of 2 tasks run; map:1 waits: starts again after: exit code 3");
  CHECK(sight.tasks[1].attempt == 2);
  CHECK(sight.earlier.at(0).handle == "words-map-1-2026-01-31T12:00:00Z");
}

TEST_CASE("a job succeeds whose tasks came back, and tells of their attempts") {
  const JobSight sight =
      seen({patient(1), after_failures(pod("map", 0, ended(137, "05", "", "OOMKilled")), 0),
            after_failures(pod("map", 0, ended(0, "30"), "2026-01-31T12:00:16Z"), 1)});
  CHECK(sentence(sight) == "words: succeeded in 30 s");
  CHECK(sight.report.num_restarts == 1);
  REQUIRE(sight.report.tasks[0].earlier.size() == 1);
  CHECK(sight.report.tasks[0].earlier[0].text == "out of memory (exit code 137)");
  CHECK(sight.report.tasks[0].earlier[0].time == std::chrono::seconds(4));
}

TEST_CASE("a helper that is always started again has not ended when it ended well") {
  Json files = job("files", 1, false);
  files["spec"]["backoffLimitPerIndex"] = 2;
  const JobSight sight = seen({job("map", 1, true), files, pod("map", 0, running()),
                               after_failures(pod("files", 0, ended(251, "05")), 0)});
  CHECK(sight.tasks[0].text == "starts again after: completed");
  CHECK(sight.stage == JobStage::pending);
}

TEST_CASE("attempts whose pods were taken away count, though nothing of them is left") {
  const JobSight sight = seen({patient(1), after_failures(pod("map", 0, ended(0, "30")), 2)});
  CHECK(sight.tasks[0].attempt == 3);
  CHECK(sight.report.num_restarts == 2);
  CHECK(sight.earlier.empty());
}

TEST_CASE("a task that has failed too often, or in a way that is not followed, has failed") {
  const Json last = after_failures(pod("map", 0, ended(3, "50"), "2026-01-31T12:00:40Z"), 2);
  CHECK(seen({patient(1), last}).report.cause == "map:0: exit code 3");
  CHECK(seen({patient(1, {{"failedIndexes", "0"}}),
              after_failures(pod("map", 0, ended(127, "05")), 0)})
            .report.cause == "map:0: exit code 127");
}

TEST_CASE("tasks that were ended because another failed come no more, whatever their code") {
  const char* why = "{\"millrace_stop\":1,\"why\":\"map:1 failed\"}\n";
  const JobSight sight = seen({patient(2), after_failures(pod("map", 0, ended(250, "06", why)), 0),
                               after_failures(pod("map", 1, ended(3, "05")), 2)});
  CHECK(sight.stage == JobStage::ended);
  CHECK(sight.tasks[0].text == "stopped: map:1 failed");
  // A machine that goes down asks its pods to end as well: they come again elsewhere.
  const char* asked = "{\"millrace_stop\":1,\"why\":\"asked to end\"}\n";
  CHECK(seen({patient(1), after_failures(pod("map", 0, ended(143, "06", asked)), 0)}).stage ==
        JobStage::pending);
}

TEST_CASE("a role that may lose tasks goes on without them") {
  Json lossy = job("map", 3, true);
  lossy["metadata"]["annotations"][kMayLoseAnnotation] = "1";
  const JobSight sight = seen({lossy, pod("map", 0, ended(3, "04")), pod("map", 1, ended(0, "09")),
                               pod("map", 2, ended(0, "10"))});
  CHECK(sight.report.end == JobEnd::succeeded);
  CHECK(sight.report.lost == std::vector<std::string>{"map:0"});
  CHECK(seen({lossy, pod("map", 0, ended(3, "04")), pod("map", 1, ended(4, "09"))}).report.cause ==
        "map:1: exit code 4");
}

TEST_CASE("a Job that was ended by a deadline for what others did did not take too long") {
  Json rest = patient(1, {{"conditions",
                           {{{"type", "Failed"},
                             {"status", "True"},
                             {"reason", "DeadlineExceeded"},
                             {"lastTransitionTime", "2026-01-31T12:00:30Z"}}}}});
  rest["spec"]["activeDeadlineSeconds"] = 1;
  rest["metadata"]["annotations"][kRestEndedAnnotation] = "true";
  CHECK(seen({rest}).report.cause == "map:0: its pod was removed");
}

TEST_CASE("sizes and bounds of any shape do no harm") {
  Json odd = elastic("4 4 4 4 x");
  CHECK(seen({odd}).tasks.size() == 4);
  odd["metadata"]["annotations"][kBoundsAnnotation] = "9-1";
  CHECK(seen({odd}).tasks.size() == 4);
}

}  // namespace
}  // namespace millrace
