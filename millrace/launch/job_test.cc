#include "millrace/launch/job.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;

JobSpec word_count() {
  return {.roles = {{"files", 1}, {"reduce", 1}, {"map", 2}}, .command = {"count"}};
}

TEST_CASE("a role is a name and a count") {
  CHECK(parse_role("map=2").value() == RoleSpec{"map", 2});
  CHECK(parse_role("map").value() == RoleSpec{"map", 1});
  for (const char* text : {"", "=2", "map=", "map=0", "map=-1", "map=two", "map=2x", "1st=1",
                           "a-b=1", "map=99999999999", "map=5000"}) {
    CAPTURE(text);
    CHECK(parse_role(text).status().code() == Code::invalid_argument);
  }
}

TEST_CASE("an environment entry is a name and a value, which may have anything in it") {
  CHECK(parse_environment_entry("A=b=c").value() == EnvironmentEntry{"A", "b=c"});
  CHECK(parse_environment_entry("A=").value() == EnvironmentEntry{"A", ""});
  CHECK(!parse_environment_entry("A").ok());
  CHECK(!parse_environment_entry("=b").ok());
}

TEST_CASE("durations are seconds unless they say otherwise") {
  CHECK(parse_duration("90").value() == 90s);
  CHECK(parse_duration("1.5").value() == 1500ms);
  CHECK(parse_duration("250ms").value() == 250ms);
  CHECK(parse_duration("10m").value() == 10min);
  CHECK(parse_duration("2h").value() == 2h);
  for (const char* text : {"", "s", "-1", "1d", "1 s", "1e9", "inf", "nan", "99999999h"}) {
    CAPTURE(text);
    CHECK(!parse_duration(text).ok());
  }
}

TEST_CASE("without --until, the conventional workers decide, or else everybody") {
  CHECK(deciding_roles(word_count()) == std::vector<std::string>{"files", "reduce", "map"});
  JobSpec training{.roles = {{"ps", 1}, {"worker", 2}, {"chief", 1}, {"evaluator", 1}}};
  CHECK(deciding_roles(training) == std::vector<std::string>{"chief", "worker"});
  training.until = {"evaluator"};
  CHECK(deciding_roles(training) == std::vector<std::string>{"evaluator"});
}

TEST_CASE("a job that can't be run is told why") {
  CHECK(check(word_count()).ok());
  struct Row {
    void (*spoil)(JobSpec&);
    const char* told;
  };
  for (const Row& row : {
           Row{[](JobSpec& job) { job.roles.clear(); }, "no tasks; say for example --job worker=2"},
           Row{[](JobSpec& job) {
                 job.roles.push_back({"map", 1});
               },
               "--job map is given twice"},
           Row{[](JobSpec& job) { job.roles[0].count = 5000; }, "at most 4096"},
           Row{[](JobSpec& job) { job.until = {"mpa"}; }, "there are: files, reduce, map"},
           Row{[](JobSpec& job) { job.command.clear(); }, "write it after '--'"},
           Row{[](JobSpec& job) {
                 job.environment = {{"TF_CONFIG", "{}"}};
               },
               "TF_CONFIG is set for"},
           Row{[](JobSpec& job) { job.host = "a b"; }, "host 'a b'"},
           Row{[](JobSpec& job) { job.first_port = 65533; }, "ports 65533 to 65536 are needed"},
           Row{[](JobSpec& job) { job.first_port = 0; }, "1 to 65535 are allowed"},
           Row{[](JobSpec& job) { job.time_limit = 0ms; }, "the time limit is 0"},
       }) {
    JobSpec job = word_count();
    row.spoil(job);
    Status status = check(job);
    CHECK(status.code() == Code::invalid_argument);
    CAPTURE(status.message());
    CHECK_MESSAGE(status.message().find(row.told) != std::string::npos, row.told);
  }
}

}  // namespace
}  // namespace millrace
