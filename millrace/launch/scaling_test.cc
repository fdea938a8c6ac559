// Other numbers of tasks for a job that runs: what may be, and what is said if it may not.
#include "millrace/launch/scaling.h"

#include <doctest/doctest.h>

#include "millrace/launch/job_file.h"

namespace millrace {
namespace {

JobSpec elastic_words() {
  return parse_job_file(R"(
name: words
command: count
roles:
  files: 1
  map: {count: 2, max: 4}
  reduce: {count: 3, min: 2}
until: map
)",
                        "words.yaml")
      .value();
}

std::string refusal_of(const std::vector<RoleCount>& counts) {
  return check_scaling(elastic_words(), counts).message();
}

TEST_CASE("a role may have what its job file allows, and no more and no fewer") {
  CHECK(refusal_of({{"map", 1}}).empty());
  CHECK(refusal_of({{"map", 4}, {"reduce", 2}}).empty());
  CHECK(refusal_of({{"map", 5}}) ==
        "role map may have 1 to 4 tasks, as its job file says, and not 5; for others, stop the job "
        "and submit it with another max");
  CHECK(refusal_of({{"reduce", 1}}) ==
        "role reduce may have 2 to 3 tasks, as its job file says, and not 1; for others, stop the "
        "job and submit it with another min");
}

TEST_CASE("who can't be scaled is told why and what to do") {
  CHECK(refusal_of({{"files", 2}}) ==
        "role files has 1 task from end to end: its job file says neither min nor max. Stop the "
        "job and submit it with  files: {count: 1, max: 2}");
  CHECK(refusal_of({{"mab", 2}}) ==
        "the job has no role 'mab'; did you mean 'map'?; there are: files, map, reduce");
  CHECK(refusal_of({{"map", 2}, {"map", 3}}) == "role map is given twice");
  CHECK(refusal_of({}).starts_with("nothing to scale"));
}

TEST_CASE("what is no number of tasks is none") {
  CHECK(parse_role_count("map=4").value() == RoleCount("map", 4));
  for (const char* text : {"map", "map=", "=4", "map=four", "map=4x", "map=99999999999", ""})
    CHECK_MESSAGE(parse_role_count(text).status().code() == Code::invalid_argument, text);
  CHECK(parse_role_count("map=0").status().message().find("millrace stop") != std::string::npos);
  CHECK(parse_role_count("map=-1").status().code() == Code::invalid_argument);
}

TEST_CASE("a wish is read as it was written, and other lines are none") {
  const std::string line =
      to_line(ScaleWish{.id = "5f", .by = "process 7 of \"anna\"", .counts = {{"map", 4}}});
  CHECK(line == "{\"wish\":\"5f\",\"by\":\"process 7 of \\\"anna\\\"\",\"counts\":{\"map\":4}}\n");
  const auto wish = parse_scale_wish(line);
  REQUIRE(wish.has_value());
  CHECK(wish->by == "process 7 of \"anna\"");
  CHECK(wish->counts == std::vector<RoleCount>{{"map", 4}});
  for (const char* other :
       {"", "4", "{}", "{\"wish\":5,\"counts\":{}}", "{\"wish\":\"5\",\"counts\":{\"map\":-1}}",
        "{\"wish\":\"5\",\"counts\":{\"map\":1e99}}", "{\"wish\":\"5\",\"counts\":[4]}"})
    CHECK_MESSAGE(!parse_scale_wish(other).has_value(), other);
}

TEST_CASE("the launcher's answer stands in its journal") {
  Journal journal;
  CHECK(!answer_to("5f", journal).has_value());
  journal.entries.push_back(
      {.what = SupervisionEvent(RoleScaled{.role = 1, .count = 4, .by = "anna", .wish = "5f"})});
  journal.entries.push_back({.what = WishRefused{.wish = "60", .why = "the job is ending"}});
  CHECK(answer_to("5f", journal)->ok());
  CHECK(answer_to("60", journal)->message() == "its launcher refuses: the job is ending");
  CHECK(!answer_to("61", journal).has_value());
}

TEST_CASE(
    "bounds that can't be are refused with the file, and a job without any is of fixed size") {
  const auto refused = [](const std::string& role) {
    return parse_job_file("command: x\nroles: {map: " + role + "}\n", "f").status().message();
  };
  CHECK(refused("{count: 5, max: 4}").find("may have 1 to 4; min, count and max") !=
        std::string::npos);
  CHECK(refused("{count: 1, min: 2}").find("may have 2 to 1") != std::string::npos);
  CHECK(refused("{count: 1, max: 5000}").find("4096") != std::string::npos);
  const JobSpec fixed = of_fixed_size(elastic_words());
  CHECK(check_scaling(fixed, {{"map", 3}}).message().find("neither min nor max") !=
        std::string::npos);
  CHECK(parse_job_file(to_job_file(elastic_words()), "again").value().roles ==
        elastic_words().roles);
}

}  // namespace
}  // namespace millrace
