#include "millrace/launch/foreign/import_job.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// The job of one file.
ImportedJob import_one(std::string text, std::string name = "x.yaml") {
  Result<ImportedJob> job =
      import_job({{.name = std::move(name), .text = std::move(text)}}, {"run"});
  REQUIRE_MESSAGE(job.ok(), job.status().message());
  return *std::move(job);
}

bool tells(const ImportedJob& job, std::string_view line) {
  return std::ranges::any_of(job.account,
                             [&](const std::string& told) { return told.starts_with(line); });
}

// The error of importing one file; "" if there is none.
std::string import_fault(std::string text, std::string name = "x.yaml") {
  const Result<ImportedJob> job =
      import_job({{.name = std::move(name), .text = std::move(text)}}, {"run"});
  return job.ok() ? "" : job.status().message();
}

constexpr std::string_view kTfJob =
    "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: x}\nspec:\n  tfReplicaSpecs:\n";

TEST_CASE("a value of the wrong kind is refused with its file, line and path") {
  CHECK(import_fault(str_cat(kTfJob, "    PS:\n      replicas: many\n")) ==
        "x.yaml:7: spec.tfReplicaSpecs.PS.replicas: 'many' is no whole number from 1 to 4096");
  CHECK(import_fault(str_cat(kTfJob, "    PS: [1]\n"))
            .starts_with("x.yaml:6: spec.tfReplicaSpecs.PS: found a list; 'key: value'"));
  CHECK(import_fault(
            str_cat(kTfJob, "    PS: {template: {spec: {containers: [{env: [{value: 1}]}]}}}"))
            .starts_with("x.yaml:6: spec.tfReplicaSpecs.PS.template.spec.containers[0].env[0]: a "
                         "variable without a name"));
  CHECK(import_fault(str_cat(kTfJob, "    PS: {}\n    ps: {}\n")) ==
        "x.yaml:7: spec.tfReplicaSpecs.ps: there is a role 'ps' already");
  CHECK(import_fault("services: {a: {mem_limit: lots}}")
            .starts_with("x.yaml:1: services.a.mem_limit: 'lots' is no amount of memory"));
  CHECK(import_fault("{\"components\": [{\"name\": \"a\", \"number_of_containers\": -1}]}")
            .starts_with("x.yaml:1: components[0].number_of_containers: '-1' is no whole number"));
  CHECK(import_fault("#!/bin/sh\n#SBATCH --ntasks=0\nsrun a\n", "x.sh") ==
        "x.sh:2: --ntasks: '0' is no number from 1 to 4096");
  CHECK(import_fault("#!/bin/sh\n#SBATCH -t never\nsrun a\n", "x.sh")
            .starts_with("x.sh:2: --time: 'never' is no time"));
  CHECK(import_fault("export TF_CONFIG='{\"cluster\": 1}'\n", "x.sh")
            .starts_with("x.sh:1: TF_CONFIG: $.cluster"));
}

TEST_CASE("what is no job that is known is told what there is") {
  CHECK(import_fault("").starts_with("x.yaml: it holds nothing; there are TFJob"));
  CHECK(import_fault("a: b").starts_with("x.yaml:1: it is no description of a job that is known"));
  CHECK(import_fault("[1, 2]").starts_with("x.yaml:1: it is no description of a job"));
  CHECK(import_fault("roles: {a: 1}").find("this is a job file already") != std::string::npos);
  CHECK(import_fault("{apiVersion: v1, kind: Service}").starts_with("no role of a job came"));
  CHECK(import_fault("#!/bin/sh\necho hello\n").find("no line of it begins with srun") !=
        std::string::npos);
  CHECK(!import_job({}, {}).ok());
}

TEST_CASE("a role without a command is told how to say it") {
  const auto job = import_job({{.name = "c.json", .text = R"({"cluster": {"ps": ["a:1"]}})"}}, {});
  CHECK(job.status().message() ==
        "nothing says what role 'ps' runs; write it behind the files: -- python3 train.py");
}

TEST_CASE("TF_CONFIGs have to be of one cluster, each of another task") {
  const auto config = [](const char* name, const char* cluster, int index) {
    return SourceFile{.name = name,
                      .text = str_cat(R"({"cluster": {"map": )", cluster,
                                      R"(}, "task": {"type": "map", "index": )", index, "}}")};
  };
  const auto fault = [](const std::vector<SourceFile>& files) {
    return import_job(files, {"run"}).status().message();
  };
  constexpr const char* kTwo = R"(["a:1", "b:1"])";
  CHECK(fault({config("a", kTwo, 0), config("b", kTwo, 1)}).empty());
  CHECK(fault({config("a", kTwo, 0), config("b", R"(["a:1", "c:1"])", 1)}) ==
        "b: its cluster is another than that of a; import one cluster at a time");
  CHECK(fault({config("a", kTwo, 0), config("b", kTwo, 0)}) ==
        "b: there is a file for map:0 already");
  CHECK(fault({config("a", kTwo, 7)}) == "a: its task, map:7, is not in the cluster");
  CHECK(fault({config("a", R"({"1": "a:1"})", 1)}).find("tasks 0, 1 ... of each role") !=
        std::string::npos);
}

TEST_CASE("tasks that a file describes one by one have to be alike to be a role") {
  const auto services = [](const char* second) {
    return str_cat("services:\n  a: {image: i, command: x --job_name=map --task_index=0}\n  b: ",
                   second, "\n");
  };
  CHECK(import_fault(services("{image: i, command: x --job_name=map --task_index=1}")).empty());
  CHECK(import_fault(services("{image: j, command: x --job_name=map --task_index=1}")) ==
        "x.yaml:3: services.b: its image is another than that of x.yaml:2: services.a, and the "
        "tasks of a role are alike; give it a role of its own");
  CHECK(import_fault(services("{image: i, command: x --job_name=map --task_index=0}")) ==
        "x.yaml:3: services.b: there is a task map:0 already");
  CHECK(import_fault(services("{image: i, command: x --job_name=map --task_index=2}")) ==
        "x.yaml:2: services.a: role map has a task 2 and 2 tasks in all; a job file has tasks 0, "
        "1 ... of each role");
}

TEST_CASE("TF_CONFIG in a list of variables makes no script of a compose file") {
  const ImportedJob job = import_one(
      "services:\n  a:\n    command: x\n    environment:\n"
      "      - "
      "TF_CONFIG={\"cluster\":{\"map\":[\"a:1\"]},\"task\":{\"type\":\"map\",\"index\":0}}\n");
  REQUIRE(job.job.roles.size() == 1);
  CHECK(job.job.roles[0].name == "map");
  CHECK(
      import_one("# of map:0\n\n  export TF_CONFIG='{\"cluster\": {\"map\": [\"a:1\"]}}'\n", "x.sh")
          .job.roles[0]
          .name == "map");
}

TEST_CASE("what compose takes from whoever calls is left, and told") {
  const ImportedJob job = import_one(
      "services: {a: {command: x, environment: {A: '$B', C: , D: $$E}}, b: {command: x, "
      "environment: [C, 'D=']}}");
  CHECK(job.job.roles[0].environment == std::vector<EnvironmentEntry>{{"A", "$B"}, {"D", "$E"}});
  CHECK(job.job.roles[1].environment == std::vector<EnvironmentEntry>{{"D", ""}});
  CHECK(tells(job, "left  x.yaml:1: services.a.environment.A: what compose puts in for '$B'"));
  CHECK(tells(job, "left  x.yaml:1: services.a.environment.C: C: its text stands in nobody's"));
  CHECK(tells(job, "left  x.yaml:1: services.b.environment[0]: C: its text stands in nobody's"));
}

TEST_CASE("a script asks for the same in whichever order it says so, and before it begins") {
  const ImportedJob job = import_one(
      "#!/bin/sh\n#SBATCH --mem-per-cpu=2G --gpus-per-node 2 --begin 12:00\n"
      "#SBATCH --cpus-per-task=4 -L matlab\nsrun -n 2 x\n#SBATCH --partition=late\n",
      "x.sh");
  CHECK(job.job.roles[0].resources.memory == int64_t{8} << 30);
  CHECK(job.job.queue.empty());
  CHECK(tells(job, "left  x.sh:5: sbatch reads no such line below the first command"));
}

TEST_CASE("a script that is requeued and warned says so in the job file") {
  const ImportedJob job = import_one(
      "#!/bin/sh\n#SBATCH --requeue --signal=USR2@300 --open-mode=append\nsrun -n 2 x\n", "x.sh");
  CHECK(job.job.slurm.requeue);
  CHECK(job.job.slurm.warn == std::chrono::minutes(5));
  CHECK(job.job.slurm.warn_signal == "USR2");
  CHECK(tells(job, "took  x.sh:2: --requeue: slurm.requeue"));
  const ImportedJob other =
      import_one("#!/bin/sh\n#SBATCH --signal=B:USR1@300 --no-requeue\nsrun -n 2 x\n", "x.sh");
  CHECK(!other.job.slurm.requeue);
  CHECK(other.job.slurm.warn.count() == 0);
  CHECK(tells(other, "left  x.sh:2: --signal: slurm.warn takes a signal by its name"));
}

TEST_CASE("an array whose elements come one after the other is one job with several runs") {
  const auto with = [](const std::string& array) {
    return import_one(str_cat("#!/bin/sh\n#SBATCH --array=", array, "\nsrun -n 2 x\n"), "x.sh");
  };
  CHECK(with("1-10%1").job.slurm.runs == 10);
  CHECK(tells(with("1-10%1"), "took  x.sh:2: --array: slurm.runs: one after the other"));
  for (const char* many : {"1-10", "0-9", "1,2,3", "0-9%1", "1-10%2", "5"}) {
    CHECK(with(many).job.slurm.runs == 1);
    CHECK(tells(with(many), "left  x.sh:2: --array: its elements are jobs of their own"));
  }
  for (const char* other : {"1-10:2%1", "1-4,7%1", "1-5000%1", "1-%1"}) {
    CHECK(with(other).job.slurm.runs == 1);
    CHECK(tells(with(other), "left  x.sh:2: --array: slurm.runs counts from 1, by ones, to"));
  }
}

TEST_CASE("a number of cores is one") {
  CHECK(import_fault(str_cat(kTfJob,
                             "    PS: {template: {spec: {containers: [{resources: "
                             "{limits: {cpu: nan}}}]}}}\n"))
            .find("'nan' is no number of cores") != std::string::npos);
}

TEST_CASE("a second job in the files is refused, and not mixed with the first") {
  const std::string one = "services: {a: {command: x}}";
  const auto twice = import_job({{.name = "a", .text = one}, {.name = "b", .text = one}}, {});
  CHECK(twice.status().message() == "b:1: a second job; import one at a time");
}

TEST_CASE("hostile files are refused, and quickly") {
  CHECK(!import_fault(std::string(2 << 20, 'a')).empty());
  CHECK(!import_fault(std::string(10'000, '[')).empty());
  CHECK(!import_fault(std::string(10'000, '{')).empty());
  CHECK(!import_fault(std::string_view("\0\xff\xfe", 3).data()).empty());
  // At which the parser alone would stay for ever.
  CHECK(import_fault("{services: {}}, b") ==
        "x.yaml:1: a bracket or comma that belongs to nothing");
  CHECK(!import_fault("{services: {}}}").empty());
  CHECK(!import_fault("]").empty());
  // Ten lines that stand for ten thousand million values.
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    str_append(&bomb, "a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) str_append(&bomb, j == 0 ? "" : ", ", "*a", i - 1);
    bomb += "]\n";
  }
  CHECK(import_fault(bomb + "services: {a: {command: *a9}}").find("stand for more than") !=
        std::string::npos);
  CHECK(import_fault("services: &s {a: *s}").find("a part of itself") != std::string::npos);
  std::string roles = "services:\n";
  for (int i = 0; i < 4200; ++i) str_append(&roles, "  r", i, ": {command: x}\n");
  CHECK(import_fault(roles).find("at most 4096") != std::string::npos);
  std::string keys = "services:\n  a:\n    command: x\n";
  for (int i = 0; i < 20'500; ++i) str_append(&keys, "    k", i, ": 1\n");
  CHECK(import_fault(keys).find("more than 20000 values") != std::string::npos);
}

TEST_CASE("what grows by being put in, or by being counted, is bounded") {
  // Each variable is ten times the one before it.
  std::string variables = "{name: A0, value: xxxxxxxxxx}";
  for (int i = 1; i < 12; ++i) {
    str_append(&variables, ", {name: A", i, ", value: ");
    for (int j = 0; j < 10; ++j) str_append(&variables, "$(A", i - 1, ")");
    variables += "}";
  }
  CHECK(import_fault(str_cat(kTfJob, "    PS: {template: {spec: {containers: [{env: [", variables,
                             "]}]}}}\n"))
            .find("stand for more than 1048576 letters") != std::string::npos);
  std::string dollars;
  for (int i = 0; i < 200'000; ++i) dollars += "$(";
  CHECK(import_fault(str_cat(kTfJob, "    PS: {template: {spec: {containers: [{command: ['",
                             dollars, "']}]}}}\n"))
            .empty());
  std::string services = "services:\n";
  for (int i = 0; i < 3000; ++i) str_append(&services, "  r", i, ": {command: x, scale: 4096}\n");
  CHECK(import_fault(services) ==
        "x.yaml:3: services.r1: with it there are 8192 tasks; at most 4096");
  std::string script = "#SBATCH";
  for (int i = 0; i < 10'000; ++i) script += " -n 1";
  script += "\n";
  for (int i = 0; i < 4000; ++i) script += "srun a.py\n";
  CHECK(import_fault(script, "x.sh") == "");
  for (int i = 0; i < 10'000; ++i) script.insert(7, " -n 1");
  CHECK(import_fault(script, "x.sh").starts_with("more than 20000 values"));
  CHECK(import_fault("#SBATCH -N 4096\nsrun --ntasks-per-node=2 a\n", "x.sh") ==
        "x.sh:2: srun starts 8192 tasks; at most 4096");
  CHECK(import_fault("#SBATCH -n 1\nsrun --mem-per-cpu=9000T a\n", "x.sh")
            .find("is no amount of memory") != std::string::npos);
}

TEST_CASE("a role that always restarts and decides is said to restart after failures") {
  const ImportedJob job = import_one(
      "services: {worker: {command: x, restart: always}, ps: {command: x, restart: always}}");
  CHECK(job.job.roles[0].restart.when == RestartPolicy::When::on_failure);
  CHECK(job.job.roles[1].restart.when == RestartPolicy::When::always);
  CHECK(tells(job, "left  role worker: it is started again after a normal end"));
}

}  // namespace
}  // namespace millrace
