#include "millrace/cluster/run_config.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

Result<RunConfig> run_config(std::string_view json, const RunConfigOptions& options = {}) {
  MR_ASSIGN(TfConfig config, TfConfig::parse(json));
  return RunConfig::create(config, options);
}

TEST_CASE("a task's defaults follow from the cluster") {
  struct Row {
    const char* json;
    const char* type;
    int index;
    const char* master;
    bool chief;
  };
  for (
      const Row& row : {
          Row{"{}", "", 0, "", true},
          Row{R"({"task": {"index": 1}})", "", 1, "", false},
          Row{R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}})", "worker", 0, "",
              true},
          Row{R"({"cluster": {"ps": ["p:1"], "worker": ["a:1", "b:1"]}, "task": {"type": "worker"}})",
              "worker", 0, "grpc://a:1", true},
          Row{R"({"cluster": {"ps": ["p:1"], "worker": ["a:1", "b:1"]},
                   "task": {"type": "worker", "index": 1}})",
              "worker", 1, "grpc://b:1", false},
          Row{R"({"cluster": {"worker": {"4": "[::1]:2", "5": "b:1"}},
                   "task": {"type": "worker", "index": "4"}})",
              "worker", 4, "grpc://[::1]:2", false},
          Row{R"({"cluster": {"files": ["a:1"], "map": ["b:1"]}, "task": {"type": "map"}})", "map",
              0, "grpc://b:1", false},
          Row{R"({"cluster": {"master": ["m:1"], "worker": ["a:1"]}, "task": {"type": "master"},
                   "environment": "cloud"})",
              "master", 0, "grpc://m:1", true},
          Row{R"({"cluster": {"master": ["m:1"], "worker": ["a:1"]}, "task": {"type": "worker"},
                   "environment": "cloud"})",
              "worker", 0, "grpc://a:1", false},
          Row{R"({"cluster": {"chief": ["c:1"], "worker": ["a:1"]}, "task": {"type": "chief"}})",
              "chief", 0, "grpc://c:1", true},
          Row{R"({"cluster": {"chief": ["c:1"], "worker": ["a:1"]}, "task": {"type": "worker"}})",
              "worker", 0, "grpc://a:1", false},
          Row{R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "evaluator"}})",
              "evaluator", 0, "", false},
          Row{R"({"cluster": {"worker": ["a:1"], "evaluator": ["e:1"]}, "task": {"type": "evaluator"}})",
              "evaluator", 0, "grpc://e:1", false},
          Row{R"({"cluster": {"worker": ["a:1", "b:1"]}})", "", 0, "", true},
          Row{R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker"},
                   "master": "grpc://elsewhere:1"})",
              "worker", 0, "grpc://elsewhere:1", true},
      }) {
    CAPTURE(row.json);
    auto run = run_config(row.json);
    REQUIRE(run.ok());
    CHECK(run->task_type == row.type);
    CHECK(run->task_index == row.index);
    CHECK(run->master == row.master);
    CHECK(run->is_chief == row.chief);
  }
}

TEST_CASE("parameter servers and workers are counted, the chief among the workers") {
  auto run = run_config(R"({"cluster": {"ps": ["p:1", "q:1"], "chief": ["c:1"], "worker": ["a:1"],
                                        "evaluator": ["e:1"]}, "task": {"type": "ps"}})");
  REQUIRE(run.ok());
  CHECK(run->num_ps_replicas == 2);
  CHECK(run->num_worker_replicas == 2);
}

TEST_CASE("a task that the cluster does not have is told which there are") {
  struct Row {
    const char* json;
    const char* message;
  };
  for (
      const Row& row : {
          Row{R"({"cluster": {"ps": ["p:1"], "worker": ["a:1"]}, "task": {"type": "wroker"}})",
              R"(TF_CONFIG: $.task.type: found "wroker", which is no job of the cluster; allowed: ps, worker; for example: "task": {"type": "worker", "index": 0})"},
          Row{R"({"cluster": {"map": ["a:1", "b:1"]}, "task": {"type": "map", "index": 2}})",
              R"(TF_CONFIG: $.task.index: found 2; allowed: 0-1; for example: "task": {"type": "map", "index": 0})"},
          Row{R"({"cluster": {"ps": []}, "task": {"type": "ps"}})",
              R"(TF_CONFIG: $.task: found ps:0, but $.cluster.ps has no tasks; allowed: a task of the cluster; for example: "ps": ["localhost:2222"])"},
      }) {
    Status status = run_config(row.json).status();
    CHECK(status.code() == Code::invalid_argument);
    CHECK(status.message() == row.message);
  }
}

TEST_CASE("the program's master wins; its model directory has to agree") {
  const char* json = R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker"},
                         "model_dir": "/m"})";
  CHECK(run_config(json, {.master = ""})->master.empty());
  CHECK(run_config(json)->model_dir == "/m");
  CHECK(run_config(json, {.model_dir = "/m"})->model_dir == "/m");
  CHECK(run_config("{}", {.model_dir = "/n"})->model_dir == "/n");
  Status status = run_config(json, {.model_dir = "/n"}).status();
  CHECK(
      status.message() ==
      R"(TF_CONFIG: $.model_dir: found "/m", but the program says "/n"; allowed: the same in both, or one of them)");
}

}  // namespace
}  // namespace millrace
