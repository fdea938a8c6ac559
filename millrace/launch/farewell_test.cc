#include "millrace/launch/farewell.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

ClusterSpec two_maps_and_a_queue() {
  ClusterSpec cluster;
  REQUIRE(cluster.add_job("files", {"f:1"}).ok());
  REQUIRE(cluster.add_job("map", {"a:1", "b:1"}).ok());
  return cluster;
}

Farewells farewells_of(const std::string& role, int index) {
  return {two_maps_and_a_queue(), {role, 0, index}, {.until = {"map"}}, "secret"};
}

// Of a job whose tasks are restarted, and of whose map tasks one may be lost.
Farewells patient_farewells_of(const std::string& role, int index) {
  return {two_maps_and_a_queue(),
          {role, 0, index},
          {.until = {"map"}, .may_lose = {{"map", 1}}, .are_restarted = true},
          "secret"};
}

std::string said_by(const std::string& task, FarewellEnd end, const std::string& token = "secret") {
  return to_line(Farewell{token, task, end});
}

TEST_CASE("a helper ends when the last of those that decide has succeeded") {
  Farewells files = farewells_of("files", 0);
  CHECK(!files.heard(said_by("map:1", FarewellEnd::succeeded)));
  CHECK(!files.heard(said_by("map:1", FarewellEnd::succeeded)));
  CHECK(files.heard(said_by("map:0", FarewellEnd::succeeded)) == "job finished");
}

TEST_CASE("one that decides goes on when another has succeeded, and ends when one has failed") {
  Farewells map = farewells_of("map", 0);
  CHECK(!map.heard(said_by("map:1", FarewellEnd::succeeded)));
  CHECK(map.heard(said_by("files:0", FarewellEnd::failed)) == "files:0 failed");
}

TEST_CASE("those that are absent are not waited for, and are when they come") {
  Farewells files = farewells_of("files", 0);
  files.set_absent({"map:1"});
  CHECK(!files.seems_finished());
  CHECK(!files.heard(said_by("map:0", FarewellEnd::succeeded)));
  CHECK(files.seems_finished());
  files.set_absent({});
  CHECK(!files.seems_finished());
  CHECK(files.heard(said_by("map:1", FarewellEnd::succeeded)) == "job finished");
  CHECK(!farewells_of("map", 0).seems_finished());
}

TEST_CASE("strangers, tasks that the job has not, and noise end nothing") {
  Farewells files = farewells_of("files", 0);
  CHECK(!files.heard(said_by("map:0", FarewellEnd::failed, "guess")));
  CHECK(!files.heard(said_by("map:9", FarewellEnd::failed)));
  CHECK(!files.heard(said_by("files:0", FarewellEnd::failed)));
  CHECK(!files.heard("GET / HTTP/1.1"));
  CHECK(!files.heard(std::string(1'000'000, '[')));
  CHECK(!files.heard(R"({"millrace_farewell": 1, "token": 3, "task": [], "end": {}})"));
}

TEST_CASE("those who have to hear of an end are told, and nobody else") {
  auto count = [](const Farewells& of, FarewellEnd end) { return of.to_tell(end).size(); };
  CHECK(count(farewells_of("map", 0), FarewellEnd::succeeded) == 1);
  CHECK(count(farewells_of("files", 0), FarewellEnd::succeeded) == 0);
  CHECK(count(farewells_of("map", 0), FarewellEnd::failed) == 2);
}

TEST_CASE("a helper that comes back learns from another task who has ended before") {
  Farewells map = patient_farewells_of("map", 1);
  CHECK(map.answer(said_by("files:0", FarewellEnd::asks)) == "");
  CHECK(!map.heard(said_by("map:0", FarewellEnd::succeeded)));
  const auto answer = map.answer(said_by("files:0", FarewellEnd::asks));
  CHECK(answer == said_by("map:0", FarewellEnd::succeeded));
  CHECK(!map.answer(said_by("files:0", FarewellEnd::asks, "guess")));
  CHECK(!map.answer(said_by("files:0", FarewellEnd::succeeded)));
  Farewells files = patient_farewells_of("files", 0);
  CHECK(!files.heard(*answer));
  CHECK(files.heard(said_by("map:1", FarewellEnd::succeeded)) == "job finished");
  // To ask is no end.
  CHECK(!files.heard(said_by("map:1", FarewellEnd::asks)));
}

TEST_CASE("where tasks are restarted, others hear of a success for them; those that ended do not") {
  Farewells map = patient_farewells_of("map", 1);
  CHECK(map.to_tell(FarewellEnd::succeeded).size() == 2);
  CHECK(!map.heard(said_by("map:0", FarewellEnd::succeeded)));
  CHECK(map.to_tell(FarewellEnd::succeeded).size() == 1);
  CHECK(patient_farewells_of("files", 0).to_tell(FarewellEnd::succeeded).size() == 2);
}

TEST_CASE("a task that may be lost is not waited for, and one too many ends the others") {
  Farewells files = patient_farewells_of("files", 0);
  CHECK(patient_farewells_of("map", 0).own_failure() == FarewellEnd::lost);
  CHECK(files.own_failure() == FarewellEnd::failed);
  CHECK(!files.heard(said_by("map:0", FarewellEnd::lost)));
  CHECK(!files.heard(said_by("map:0", FarewellEnd::lost)));
  CHECK(files.heard(said_by("map:1", FarewellEnd::lost)) == "map:1 failed");
  Farewells other = patient_farewells_of("files", 0);
  CHECK(!other.heard(said_by("map:0", FarewellEnd::lost)));
  CHECK(other.heard(said_by("map:1", FarewellEnd::succeeded)) == "job finished");
}

TEST_CASE("why a task was ended stands in its record's file") {
  CHECK(parse_stop_line(stop_line("map:1 failed")) == "map:1 failed");
  CHECK(!parse_stop_line(R"({"millrace_task":1,"event":"started"})"));
}

}  // namespace
}  // namespace millrace
