#include "millrace/cluster/tf_config.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/cluster/cluster_flags.h"

namespace millrace {
namespace {

bool says(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

constexpr std::string_view kWordCount = R"({
  "cluster": {
    "files": ["localhost:2222"],
    "map": ["localhost:2224", "localhost:2225"],
    "reduce": ["localhost:2223"]
  },
  "task": {"type": "map", "index": 1}
})";

TEST_CASE("TF_CONFIG names the cluster and the task") {
  auto config = TfConfig::parse(kWordCount);
  REQUIRE(config.ok());
  CHECK(config->cluster.to_string() ==
        "{files -> {0 -> localhost:2222}, map -> {0 -> localhost:2224, 1 -> localhost:2225}, "
        "reduce -> {0 -> localhost:2223}}");
  CHECK(config->task_type == "map");
  CHECK(config->task_index == 1);
  CHECK(config->environment == "local");
  CHECK(config->notes.empty());
}

TEST_CASE("no TF_CONFIG and a blank one tell nothing") {
  for (const char* value : {static_cast<const char*>(nullptr), "", " \n"}) {
    auto config = TfConfig::from_environment(value);
    REQUIRE(config.ok());
    CHECK(config->cluster.empty());
    CHECK(config->task_type.empty());
    CHECK(!config->task_index);
  }
}

TEST_CASE("what cluster managers write is understood") {
  struct Row {
    const char* text;
    const char* cluster;
    const char* task;
  };
  for (const Row& row : {
           Row{R"({"cluster": {"worker": {"7": "b:1", "3": "a:1"}}, "task": {"index": 3}})",
               "{worker -> {3 -> a:1, 7 -> b:1}}", ":3"},
           Row{R"({"sparseCluster": {"worker": {"1": "a:1"}, "ps": ["p:1"]},
                   "task": {"type": "worker", "index": "1"}})",
               "{ps -> {0 -> p:1}, worker -> {1 -> a:1}}", "worker:1"},
           Row{R"({"cluster": {"ps": [], "worker": ["[::1]:2222,b:2"]}, "task": null})",
               "{ps -> {}, worker -> {0 -> [::1]:2222,b:2}}", ":-"},
           Row{R"({"task": {"type": "evaluator", "index": 0}})", "{}", "evaluator:0"},
           Row{"{}", "{}", ":-"},
       }) {
    CAPTURE(row.text);
    auto config = TfConfig::parse(row.text);
    REQUIRE(config.ok());
    CHECK(config->cluster.to_string() == row.cluster);
    std::string index = config->task_index ? std::to_string(*config->task_index) : "-";
    CHECK(config->task_type + ":" + index == row.task);
  }
}

TEST_CASE("the other keys are read, and unknown ones noted") {
  auto config = TfConfig::parse(
      R"({"environment": "cloud", "master": "grpc://a:1", "model_dir": "/m", "job": {}, "Task": 1,
          "task": {"type": "worker", "trial": "1"}, "cluster": {"worker": ["a:1", "a:1"]}})");
  REQUIRE(config.ok());
  CHECK(config->environment == "cloud");
  CHECK(config->master == "grpc://a:1");
  CHECK(config->model_dir == "/m");
  std::vector<std::string> notes = {
      "$.job is not read; known here: cluster, task, environment, master, model_dir",
      "$.Task is not read; known here: cluster, task, environment, master, model_dir",
      "$.task.trial is not read; known here: type, index",
      "$.cluster: worker:0 and worker:1 are both at a:1"};
  CHECK(config->notes == notes);
}

TEST_CASE("a bad TF_CONFIG is told where, what was found, what is allowed, and how it is right") {
  struct Row {
    std::string text;
    std::vector<const char*> told;
  };
  std::vector<Row> rows = {
      {"[]", {"$: found an empty list", "allowed: an object with \"cluster\"", R"({"cluster": {)"}},
      {R"({"cluster": ["a:1"]})", {"$.cluster: found a list of 1", "{job: [addresses]}"}},
      {R"({"cluster": {"worker": "a:1, b:2"}})",
       {"$.cluster.worker: found the string \"a:1, b:2\"", R"("worker": ["a:1", "b:2"])"}},
      {R"({"cluster": {"worker": ["a:1", 5]}})",
       {"$.cluster.worker[1]: found the number 5", "a string \"host:port\""}},
      {R"({"cluster": {"worker": ["a:1", ""]}})",
       {"$.cluster.worker[1]: found the string \"\"", "it is empty", "\"localhost:2222\""}},
      {R"({"cluster": {"worker": ["a"]}})", {"$.cluster.worker[0]", "write a:2222"}},
      {R"({"cluster": {"worker": {"one": "a:1"}}})",
       {R"($.cluster.worker["one"]: found the task index "one")", R"({"3": "localhost:2222"})"}},
      {R"({"cluster": {"worker": {"0": "a:1", "00": "b:1"}}})",
       {R"($.cluster.worker["00"])", "two addresses: 'a:1' and 'b:1'"}},
      {R"({"cluster": {"my job": ["a:1"]}})",
       {R"($.cluster["my job"]: found the job name "my job")", "letters, digits and underscores"}},
      {R"({"cluster": {"ps": ["a:1"]}, "sparseCluster": {"ps": ["a:1"]}})", {"given twice"}},
      {R"({"task": "worker"})",
       {"$.task: found the string \"worker\"", R"("task": {"type": "worker", "index": 0})"}},
      {R"({"task": {"type": 3}})", {"$.task.type: found the number 3", "allowed: a string"}},
      {R"({"task": {"type": "worker", "index": "one"}})",
       {"$.task.index: found the string \"one\"", "allowed: a number from 0", "\"index\": 0"}},
      {R"({"task": {"index": -1}})", {"$.task.index: found the number -1"}},
      {R"({"task": {"index": 1.5}})", {"$.task.index: found the number 1.5"}},
      {R"({"task": {"index": 99999999999}})", {"$.task.index: found the number 99999999999"}},
      {R"({"task": {"index": true}})", {"$.task.index: found true"}},
      {R"({"environment": {}})", {"$.environment: found an empty object"}},
      {R"({"cluster": {"ps": ["a:1"], "ps": ["b:1"]}})", {"the key \"ps\" is given twice"}},
      {"{'cluster': {}}", {"not JSON: line 1, column 2", "double quotes", "json.dumps()"}},
      {"{\"cluster\":\n {\"ps\": [\"a:1\",]}}", {"line 2, column 16", "remove the comma"}},
      {R"({"task": None})", {"not JSON", "true, false and null"}},
      {R"({"cluster": {"ps": ["a:1"])", {"not JSON", "not closed"}},
      {"TF_CONFIG", {"not JSON: line 1, column 1"}},
      {"{\"\xff\": 1}", {"not JSON"}},
      {R"({"task": {"index": 1e999}})", {"not JSON"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    Status status = TfConfig::parse(row.text).status();
    CHECK(status.code() == Code::invalid_argument);
    CAPTURE(status.message());
    CHECK(status.message().starts_with("TF_CONFIG: "));
    for (const char* told : row.told) CHECK_MESSAGE(says(status, told), told);
  }
}

TEST_CASE("a hostile TF_CONFIG neither crashes nor floods the message") {
  std::string deep(100'000, '[');
  CHECK(!TfConfig::parse(deep).ok());
  std::string closed = "{\"x\": " + deep + std::string(100'000, ']') + "}";
  CHECK(TfConfig::parse(closed).ok());
  std::string name(1'000'000, 'x');
  for (const std::string& text :
       {"{\"cluster\": {\"w\": [\"" + name + "\"]}}", "{\"cluster\": {\"w\": \"" + name + "\"}}",
        "{\"cluster\": {\"1" + name + "\": []}}", "{\"task\": \"" + name + "\"}",
        "{\"cluster\": {\"w\": {\"" + name + "\": 1}}}"})
    CHECK(TfConfig::parse(text).status().message().size() < 1500);
}

TEST_CASE("what is written reads back as the same") {
  auto config = TfConfig::parse(kWordCount);
  REQUIRE(config.ok());
  CHECK(to_json(*config, JsonLayout::one_line) ==
        R"({"cluster":{"files":["localhost:2222"],"map":["localhost:2224","localhost:2225"],)"
        R"("reduce":["localhost:2223"]},"task":{"type":"map","index":1}})");
  CHECK(to_json(*config, JsonLayout::indented)
            .starts_with("{\n  \"cluster\": {\n    \"files\": [\n"));

  auto sparse = TfConfig::parse(
      R"({"cluster":{"w":{"3":"a:1"}},"environment":"cloud","master":"m","model_dir":"d"})");
  REQUIRE(sparse.ok());
  std::string text = to_json(*sparse, JsonLayout::one_line);
  CHECK(text ==
        R"({"cluster":{"w":{"3":"a:1"}},"environment":"cloud","master":"m","model_dir":"d"})");
}

TEST_CASE("the texts of all tasks of a cluster are those of one after the other") {
  auto config = TfConfig::parse(R"({"cluster": {"ps": ["a:1"], "worker": {"1": "b:1"}}})");
  REQUIRE(config.ok());
  const TfConfigTexts texts(config->cluster);
  for (const TaskName& task : config->cluster.tasks()) {
    config->task_type = task.job;
    config->task_index = task.task;
    CHECK(texts.of(task) == to_json(*config, JsonLayout::one_line));
    CHECK(texts.of(task).find(texts.cluster()) != std::string::npos);
  }
}

TEST_CASE("a cluster file holds the cluster alone or a whole TF_CONFIG") {
  auto whole = TfConfig::parse_cluster_file(kWordCount, "c.json");
  REQUIRE(whole.ok());
  CHECK(whole->task_type == "map");
  auto alone = TfConfig::parse_cluster_file(R"({"ps": ["a:1"], "worker": {"1": "b:1"}})", "c.json");
  REQUIRE(alone.ok());
  CHECK(alone->cluster.num_tasks() == 2);
  auto jobs =
      TfConfig::parse_cluster_file(R"({"cluster": ["a:1"], "task": {"0": "b:1"}})", "c.json");
  REQUIRE(jobs.ok());
  CHECK(jobs->cluster.to_string() == "{cluster -> {0 -> a:1}, task -> {0 -> b:1}}");

  Status status = TfConfig::parse_cluster_file(R"({"ps": "a:1"})", "c.json").status();
  CHECK(status.message().starts_with("c.json: $.ps: found the string \"a:1\""));
}

TEST_CASE("flags name hosts per job") {
  std::vector<std::string> flags = {"--ps_hosts=a:1,b:1", "--map-hosts",  "[::1]:2",
                                    "--job_name=map",     "--task_index", "0"};
  auto config = read_cluster_flags(flags);
  REQUIRE(config.ok());
  CHECK(config->cluster.to_string() == "{map -> {0 -> [::1]:2}, ps -> {0 -> a:1, 1 -> b:1}}");
  CHECK(config->task_type == "map");
  CHECK(config->task_index == 0);
}

TEST_CASE("bad flags are told what is allowed") {
  struct Row {
    std::vector<std::string> flags;
    const char* told;
  };
  for (const Row& row :
       {Row{{"ps_hosts=a:1"}, "is no flag"}, Row{{"--ps_hosts"}, "has no value"},
        Row{{"--ps_hosts", "--task_index=0"}, "has no value"},
        Row{{"--ps_hosts=a:1,"}, "--ps_hosts: task ps:1"}, Row{{"--ps_hosts=a"}, "write a:2222"},
        Row{{"--ps_hosts=a:1", "--ps_hosts=b:1"}, "given twice"},
        Row{{"--job_name=a/b"}, "not a job name"}, Row{{"--task_index=x"}, "a number from 0"},
        Row{{"--task_index=0", "--task-index=0"}, "given twice"},
        Row{{"--hosts=a:1"}, "unknown flag --hosts"}, Row{{"--bogus"}, "unknown flag --bogus;"},
        Row{{"--task_index=99999999999"}, "0 to 2147483647"}, Row{{"--_hosts=a:1"}, "unknown flag"},
        Row{{"--"}, "is no flag"}}) {
    Status status = read_cluster_flags(row.flags).status();
    CAPTURE(status.message());
    CHECK(status.code() == Code::invalid_argument);
    CHECK_MESSAGE(says(status, row.told), row.told);
  }
}

}  // namespace
}  // namespace millrace
