#include "millrace/launch/kubernetes/gang.h"

#include <doctest/doctest.h>

#include "millrace/launch/kubernetes/role_sizes.h"
#include "millrace/launch/kubernetes/testing/cluster_objects.h"

namespace millrace {
namespace {

using namespace cluster_objects;

// The Job of a role whose pods ask for a core each.
Json gang_job(const std::string& role, int count, bool decides) {
  Json made = job(role, count, decides);
  made["spec"]["template"]["spec"]["containers"] = {
      {{"resources", {{"requests", {{"cpu", "1"}}}}}}};
  if (decides)
    made["metadata"]["annotations"][kAdmissionAnnotation] =
        to_text({.stage = AdmissionStage::admitted, .since = seconds_of("2026-01-31T12:00:00Z")});
  return made;
}

Json without_machine(Json pod) {
  pod["spec"].erase("nodeName");
  pod["status"] = {{"phase", "Pending"}};
  return pod;
}

TEST_CASE("what stands on a job's head is read as it was written, and nothing else is") {
  const Admission given{
      .stage = AdmissionStage::tried, .since = 7, .not_before = 9, .given_way = 2};
  CHECK(to_text(given) == "tried 7 9 2");
  const auto read = parse_admission(to_text(given));
  REQUIRE(read);
  CHECK(to_text(*read) == "tried 7 9 2");
  for (const char* none :
       {"", "tried", "tried 7 9", "let 7 9 2", "tried 7 9 2 3", "tried 7 9 -2", "tried x 9 2"})
    CHECK(!parse_admission(none));
}

TEST_CASE("a job that lacks machines for some of its tasks is being assembled") {
  const auto gangs =
      gangs_in({gang_job("map", 2, true), gang_job("files", 1, false), pod("map", 0, running()),
                without_machine(pod("map", 1, Json::object()))});
  REQUIRE(gangs.size() == 1);
  CHECK(gangs[0].name == "words");
  CHECK(gangs[0].head == "words-map");
  CHECK(gangs[0].count == 3);
  CHECK(gangs[0].bound == 1);
  CHECK(gangs[0].lacking[0].count == 1);
  CHECK(gangs[0].lacking[1].count == 1);
  CHECK(gangs[0].lacking[0].asks.at("cpu") == 1000);
  CHECK(gangs[0].is_assembling());
}

TEST_CASE("a job of which a task has ended, or has come again, is not being assembled") {
  const std::vector<Json> jobs = {gang_job("map", 2, true), pod("map", 0, running())};
  auto with = [&](const Json& more) {
    std::vector<Json> objects = jobs;
    objects.push_back(more);
    return gangs_in(objects).at(0);
  };
  CHECK(with(without_machine(pod("map", 1, Json::object()))).is_assembling());
  // It takes the place of one that was lost an hour later.
  CHECK(!with(without_machine(pod("map", 1, Json::object(), "2026-01-31T13:00:00Z")))
             .is_assembling());
  Json done = pod("map", 1, ended(0, "09"));
  done["status"]["phase"] = "Succeeded";
  CHECK(!with(done).is_assembling());
}

TEST_CASE("a job that was scaled has run, and is not being assembled when others come") {
  Json scaled = gang_job("map", 4, true);
  scaled["metadata"]["annotations"][kSizesAnnotation] = "2 4@1769860805";
  CHECK(!gangs_in({scaled, pod("map", 0, running())}).at(0).is_assembling());
}

TEST_CASE("pods that go hold nothing for their job any more") {
  Json going = pod("map", 0, running());
  going["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:40Z";
  CHECK(gangs_in({gang_job("map", 2, true), going}).at(0).bound == 0);
}

TEST_CASE("jobs that have ended, go, or are held by somebody else are none of ours to let in") {
  Json ended_job = gang_job("map", 2, true);
  ended_job["status"]["conditions"] = {{{"type", "Complete"}, {"status", "True"}}};
  CHECK(gangs_in({ended_job}).empty());
  Json going = gang_job("map", 2, true);
  going["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:40Z";
  CHECK(gangs_in({going}).empty());
  CHECK(gangs_in({job("map", 2, true)}).empty());
  CHECK(gangs_in({Json::array(), 3, {{"kind", "Job"}, {"spec", 4}}}).empty());
}

TEST_CASE("the oldest job is the first, and of two of one second the one whose name is") {
  auto named = [](const std::string& name, const std::string& created) {
    Json made = gang_job("map", 2, true);
    made["metadata"]["name"] = name + "-map";
    made["metadata"]["labels"][kInstanceLabel] = name;
    made["metadata"]["creationTimestamp"] = created;
    return made;
  };
  const auto gangs =
      gangs_in({named("c", "2026-01-31T12:00:01Z"), named("b", "2026-01-31T12:00:01Z"),
                named("z", "2026-01-31T12:00:00Z")});
  REQUIRE(gangs.size() == 3);
  CHECK(gangs[0].name == "z");
  CHECK(gangs[1].name == "b");
  CHECK(gangs[2].name == "c");
}

}  // namespace
}  // namespace millrace
