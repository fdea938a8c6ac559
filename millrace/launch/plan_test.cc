#include "millrace/launch/plan.h"

#include <numeric>

#include <doctest/doctest.h>

#include "millrace/launch/config_script.h"

namespace millrace {
namespace {

JobSpec counting_words() {
  return {.roles = {{"files", 1}, {"map", 2}},
          .until = {"map"},
          .command = {"python3", "count.py", "two words"},
          .environment = {{"A", "it's"}}};
}

std::string variable(const TaskPlan& task, std::string_view name) {
  std::string found = "(not set)";
  for (const auto& [key, value] : task.environment)
    if (key == name) found = value;
  return found;
}

TEST_CASE("every task gets the whole cluster, its identity and its port") {
  LaunchPlan plan = plan_launch(counting_words(), {4000, 4001, 4002});
  REQUIRE(plan.tasks.size() == 3);
  CHECK(plan.cluster.to_string() ==
        "{files -> {0 -> 127.0.0.1:4000}, map -> {0 -> 127.0.0.1:4001, 1 -> 127.0.0.1:4002}}");
  const TaskPlan& task = plan.tasks[2];
  CHECK(task.name == "map:1");
  CHECK(task.file_stem == "map_1");
  CHECK(task.address == "127.0.0.1:4002");
  CHECK(task.decides);
  CHECK(!plan.tasks[0].decides);
  CHECK(task.argv == counting_words().command);
  CHECK(variable(task, "TF_CONFIG") ==
        R"({"cluster":{"files":["127.0.0.1:4000"],"map":["127.0.0.1:4001","127.0.0.1:4002"]},)"
        R"("task":{"type":"map","index":1}})");
  CHECK(variable(task, "PYTHONUNBUFFERED") == "1");
  CHECK(variable(task, "MILLRACE_LISTEN_FD") == "3");
  CHECK(variable(task, "MILLRACE_LISTEN_ADDRESS") == "127.0.0.1:4002");
  CHECK(variable(task, "MILLRACE_REPORT_FD") == "4");
  CHECK(variable(task, "A") == "it's");
}

TEST_CASE("a role may have a command and an environment of its own, and may ask where it is") {
  JobSpec job = counting_words();
  job.roles[1].command = {"map", "--at={map_hosts}", "{job_name}/{task_index}", "{other_hosts}{",
                          "{}"};
  job.roles[1].environment = {{"A", "of the role"}};
  const LaunchPlan plan = plan_launch(job, {1, 2, 3});
  CHECK(plan.tasks[0].argv == job.command);
  CHECK(plan.tasks[2].argv == std::vector<std::string>{"map", "--at=127.0.0.1:2,127.0.0.1:3",
                                                       "map/1", "{other_hosts}{", "{}"});
  CHECK(plan.tasks[2].environment.back() == EnvironmentEntry{"A", "of the role"});
}

TEST_CASE("a released port comes without a socket") {
  JobSpec job = counting_words();
  job.ports = PortHandling::released;
  job.host = "::1";
  LaunchPlan plan = plan_launch(job, {1, 2, 3});
  CHECK(variable(plan.tasks[0], "MILLRACE_LISTEN_FD") == "(not set)");
  CHECK(plan.tasks[0].address == "[::1]:1");
}

TEST_CASE("a plan reads as what a shell would start") {
  JobSpec job = counting_words();
  job.roles = {{.name = "map", .restart = parse_restart("10 in 5m").value()}};
  job.directory = "/some where";
  CHECK(describe(plan_launch(job, {4000}), job) ==
        "# map:0 at 127.0.0.1:4000; its success decides; restart: on_failure, 10 in 300s\n"
        "cd '/some where'\n"
        R"(TF_CONFIG='{"cluster":{"map":["127.0.0.1:4000"]},"task":{"type":"map","index":0}}' \)"
        "\n"
        "PYTHONUNBUFFERED=1 \\\n"
        "MILLRACE_REPORT_FD=4 \\\n"
        "MILLRACE_LISTEN_ADDRESS=127.0.0.1:4000 \\\n"
        "MILLRACE_LISTEN_FD=3 \\\n"
        "A='it'\\''s' \\\n"
        "python3 count.py 'two words'\n\n");
}

TEST_CASE("a config script exports the task's TF_CONFIG") {
  ClusterSpec cluster;
  REQUIRE(cluster.add_job("files", {"localhost:2222"}).ok());
  CHECK(config_script_name({"files", 0, 0}) == "config_files_0.sh");
  CHECK(config_script(cluster, {"files", 0, 0}) == R"(export TF_CONFIG='{
  "cluster": {
    "files": [
      "localhost:2222"
    ]
  },
  "task": {
    "type": "files",
    "index": 0
  }
}'
export CUDA_VISIBLE_DEVICES=-1
)");
}

TEST_CASE("shell words are quoted when they need it") {
  CHECK(shell_quoted("a/b-c_d.e:1,2=3") == "a/b-c_d.e:1,2=3");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("$HOME *") == "'$HOME *'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
}

TEST_CASE("a long cluster stands once before what many tasks start with") {
  JobSpec job = counting_words();
  job.roles = {{.name = "ps", .count = 1}, {.name = "worker", .count = 2000}};
  std::vector<int> ports(2001);
  std::iota(ports.begin(), ports.end(), 4000);
  const LaunchPlan plan = plan_launch(job, ports);
  const std::string text = describe(plan, job);
  CHECK(text.starts_with(
      R"(# What all tasks know
CLUSTER='{"ps":["127.0.0.1:4000"],"worker":["127.0.0.1:4001",)"));
  CHECK(text.find(
            R"(TF_CONFIG='{"cluster":'"$CLUSTER"',"task":{"type":"worker","index":1999}}' \)") !=
        std::string::npos);
  CHECK(text.size() < 1'000'000);
  CHECK(variable(plan.tasks[2000], "TF_CONFIG").size() > 30'000);
}

}  // namespace
}  // namespace millrace
