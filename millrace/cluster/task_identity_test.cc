#include "millrace/cluster/task_identity.h"

#include <doctest/doctest.h>

#include "millrace/cluster/inherited_socket.h"

namespace millrace {
namespace {

constexpr const char* kConfig =
    R"({"cluster": {"ps": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}})";

Result<TaskIdentity> identify(const char* tf_config, std::optional<std::string> file,
                              std::vector<std::string> flags) {
  TaskSources sources{.tf_config = tf_config, .flags = flags, .other_flags = "--bind"};
  if (file) sources.file = ClusterFile{"c.json", *file};
  return identify_task(sources);
}

TEST_CASE("a task is who flags, file or TF_CONFIG say, in this order") {
  struct Row {
    const char* tf_config;
    std::optional<std::string> file;
    std::vector<std::string> flags;
    TaskName task;
    const char* address;
  };
  const std::string cluster = R"({"ps": ["f:1"], "worker": {"3": "g:1"}})";
  for (const Row& row : std::vector<Row>{
           {kConfig, {}, {}, {"worker", 0, 1}, "c:1"},
           {kConfig, {}, {"--job_name=ps"}, {"ps", 0, 0}, "a:1"},
           {kConfig, {}, {"--task_index=0"}, {"worker", 0, 0}, "b:1"},
           {kConfig, cluster, {"--job_name=worker", "--task_index=3"}, {"worker", 0, 3}, "g:1"},
           {nullptr, kConfig, {}, {"worker", 0, 1}, "c:1"},
           {kConfig,
            {},
            {"--ps_hosts=x:1,y:1", "--job_name=ps", "--task_index=1"},
            {"ps", 0, 1},
            "y:1"},
           {nullptr, R"({"solo": {"7": "z:1"}})", {}, {"solo", 0, 7}, "z:1"},
       }) {
    auto identity = identify(row.tf_config, row.file, row.flags);
    REQUIRE(identity.ok());
    CHECK(identity->task == row.task);
    CHECK(identity->cluster.address(identity->task).value() == row.address);
  }
}

TEST_CASE("a process that can't know who it is is told what is missing") {
  struct Row {
    const char* tf_config;
    std::optional<std::string> file;
    std::vector<std::string> flags;
    const char* told;
  };
  for (const Row& row : std::vector<Row>{
           {nullptr, {}, {}, "set TF_CONFIG, name a cluster file"},
           {" ", {}, {"--job_name=ps"}, "nothing says which cluster"},
           {"{}", {}, {"--job_name=ps"}, "TF_CONFIG: $.cluster: found no task;"},
           {R"({"Cluster": {"ps": ["a:1"]}})", {}, {}, "found no task ($.Cluster is not read;"},
           {nullptr, R"({"ps": []})", {}, "c.json: $.cluster: found no task"},
           {nullptr, {}, {"--ps_hosts="}, "--ps_hosts names no host"},
           {R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "sp"}})",
            {},
            {},
            R"(TF_CONFIG: $.task.type: found "sp")"},
           {nullptr,
            R"({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 1}})",
            {},
            "c.json: $.task.index: found 1; allowed: 0"},
           {nullptr, R"({"ps": ["a:1", "b:1"]})", {}, "nothing says which task this is"},
           {nullptr, R"({"ps": ["a:1"]})", {"--ps_hosts=a:1"}, "given twice"},
           {kConfig, {}, {"--job_name=wroker"}, "its jobs are ps, worker"},
           {kConfig, {}, {"--task_index=2"}, "tasks of job 'worker': 0-1"},
           {kConfig, {}, {"--bogus"}, "unknown flag --bogus; allowed: --<job>_hosts"},
           {kConfig, {}, {"--bogus"}, "--task_index, --bind"},
           {"{", {}, {}, "TF_CONFIG: not JSON"},
       }) {
    Status status = identify(row.tf_config, row.file, row.flags).status();
    CHECK(status.code() == Code::invalid_argument);
    CAPTURE(status.message());
    CHECK_MESSAGE(status.message().find(row.told) != std::string::npos, row.told);
  }
}

TEST_CASE("a process is the task that it says, else the only choice, else what TF_CONFIG says") {
  ClusterSpec solo;
  CHECK(solo.add_task("solo", 7, "z:1").ok());
  ClusterSpec two;
  CHECK(two.add_job("ps", {"a:1"}).ok());
  CHECK(two.add_job("worker", {"b:1", "c:1"}).ok());
  const TaskClaim nothing;
  const TaskClaim worker1{"worker", 1};
  CHECK(which_task(solo, nothing).value() == TaskName{"solo", 0, 7});
  CHECK(which_task(solo, nothing, worker1).value() == TaskName{"solo", 0, 7});
  CHECK(which_task(two, nothing, worker1).value() == TaskName{"worker", 0, 1});
  CHECK(which_task(two, {"worker", {}}, worker1).value() == TaskName{"worker", 0, 1});
  CHECK(which_task(two, {"ps", {}}, worker1).value() == TaskName{"ps", 0, 0});
  CHECK(which_task(two, {"worker", 0}, worker1).value() == TaskName{"worker", 0, 0});
  const auto missing = [&](const TaskClaim& told) {
    return which_task(two, told).status().message();
  };
  CHECK(missing(nothing).find("explicit `job_name`") != std::string::npos);
  CHECK(missing({"worker", {}}).find("explicit `task_index`; job 'worker' has the tasks 0-1") !=
        std::string::npos);
  CHECK(missing({"chief", {}}).find("its jobs are ps, worker") != std::string::npos);
}

TEST_CASE("a socket that was handed over is for the server at its address only") {
  CHECK(inherited_socket("3", "a:1", "a:1").value() == 3);
  CHECK(!inherited_socket("3", "a:1", "a:2").value());
  CHECK(!inherited_socket(nullptr, "a:1", "a:1").value());
  CHECK(!inherited_socket("3", nullptr, "a:1").value());
  for (const char* text : {"", "x", "-1", "3x", "99999999999"})
    CHECK(!inherited_socket(text, "a:1", "a:1").ok());
}

}  // namespace
}  // namespace millrace
