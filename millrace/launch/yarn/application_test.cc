#include "millrace/launch/yarn/application.h"

#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "millrace/launch/yarn/staged_job.h"

namespace millrace {
namespace {

JobSpec counting_words() {
  return {.name = "words",
          .roles = {{"files", 1}, {"map", 2}},
          .until = {"map"},
          .command = {"python3", "count.py"},
          .queue = "short"};
}

YarnLaunch known_launch() {
  return {.application = "application_1_0001",
          .folder = "/home/me/jobs/yarn/words",
          .directory = "/home/me/my texts",
          .schedulers = {"rm1:8030", "rm2:8030"},
          .environment = {{"PATH", "/opt/bin:/bin"}}};
}

TEST_CASE("an application is one container that runs the launcher on the job's folder") {
  CHECK(yarn_application(counting_words(), known_launch()).value().dump(2) == R"({
  "application-id": "application_1_0001",
  "application-name": "words",
  "application-type": "MILLRACE",
  "queue": "short",
  "max-app-attempts": 1,
  "am-container-spec": {
    "commands": {
      "command": "exec 1>'/home/me/jobs/yarn/words/launcher.log' 2>&1 && cd '/home/me/my texts' && exec millrace run --on yarn-am --folder '/home/me/jobs/yarn/words' '/home/me/jobs/yarn/words/job.yaml'"
    },
    "environment": {
      "entry": [
        {
          "key": "PATH",
          "value": "/opt/bin:/bin"
        },
        {
          "key": "MILLRACE_YARN_SCHEDULERS",
          "value": "rm1:8030,rm2:8030"
        }
      ]
    }
  },
  "resource": {
    "memory": 352,
    "vCores": 1
  }
})");
}

TEST_CASE("what is asked of YARN alone is in the application, and of a secret where it is") {
  JobSpec job = counting_words();
  job.yarn = {.priority = 7, .tags = {"nightly", "team-a"}};
  job.secrets = {{"PASSWORD", {SecretSource::Kind::file, "key"}}};
  const auto application = yarn_application(job, known_launch()).value();
  CHECK(application["priority"] == 7);
  CHECK(application["application-tags"]["tag"] ==
        nlohmann::ordered_json::array({"nightly", "team-a"}));
  CHECK(describe_yarn_application(job).value().find(
            "#   secrets, not shown: PASSWORD (file key)\n") != std::string::npos);
  job.secrets["PASSWORD"].kind = SecretSource::Kind::kubernetes;
  job.secrets["PASSWORD"].from = "db/password";
  CHECK(
      yarn_application(job, known_launch()).status().message().find("is had on Kubernetes alone") !=
      std::string::npos);
}

TEST_CASE("a token of HDFS is among the credentials, and nowhere else") {
  YarnLaunch launch = known_launch();
  launch.token =
      HadoopToken{.identifier = "id", .password = "pw", .kind = "K", .service = "10.0.0.7:8020"};
  nlohmann::ordered_json application = yarn_application(counting_words(), launch).value();
  nlohmann::ordered_json& container = application["am-container-spec"];
  CHECK(
      container["credentials"].dump() ==
      R"({"tokens":{"entry":[{"key":"10.0.0.7:8020","value":"AmlkAnB3AUsNMTAuMC4wLjc6ODAyMA"}]}})");
  container.erase("credentials");
  CHECK(application == yarn_application(counting_words(), known_launch()).value());
}

TEST_CASE("where no folder is shared, YARN brings the launcher its folder, and the programs") {
  JobSpec job = counting_words();
  job.files = {"count.py", "env.tar.gz"};
  job.staging = "hdfs://nn:8020/user/me";
  YarnLaunch launch = known_launch();
  launch.environment = {};
  launch.resources = {{"programs", "hdfs://nn:8020/a/programs.tar", 7, 1'700'000'000'001, true},
                      {"job/job.yaml", "hdfs://nn:8020/a/job.yaml", 5, 2}};
  const nlohmann::ordered_json application = yarn_application(job, launch).value();
  CHECK(application["am-container-spec"].dump(2) == R"({
  "commands": {
    "command": "export PATH='$PWD/programs:$PWD:$PATH' && exec 1>'<LOG_DIR>/launcher.log' 2>&1 && ln -s '<LOG_DIR>/launcher.log' '<LOG_DIR>/journal' job && ln -s '<LOG_DIR>' job/logs && exec millrace run --on yarn-am --folder job job/job.yaml"
  },
  "local-resources": {
    "entry": [
      {
        "key": "programs",
        "value": {
          "resource": "hdfs://nn:8020/a/programs.tar",
          "type": "ARCHIVE",
          "visibility": "APPLICATION",
          "size": 7,
          "timestamp": 1700000000001
        }
      },
      {
        "key": "job/job.yaml",
        "value": {
          "resource": "hdfs://nn:8020/a/job.yaml",
          "type": "FILE",
          "visibility": "APPLICATION",
          "size": 5,
          "timestamp": 2
        }
      }
    ]
  },
  "environment": {
    "entry": [
      {
        "key": "MILLRACE_YARN_SCHEDULERS",
        "value": "rm1:8030,rm2:8030"
      }
    ]
  }
})");
  const std::string text = describe_yarn_application(job).value();
  CHECK(text.find("#   env/  of env.tar.gz, through "
                  "hdfs://nn:8020/user/me/.millrace/APPLICATION/files/env.tar.gz, unpacked\n") !=
        std::string::npos);
  CHECK(text.find("\"resource\": "
                  "\"hdfs://nn:8020/user/me/.millrace/APPLICATION/job.yaml\"") !=
        std::string::npos);
}

TEST_CASE("a container that does not see the folder has its script where that is served") {
  const JobSpec job = counting_words();
  const Reach reach = yarn_reach(
      job,
      {.folder = "/jobs/words", .master = "socket", .known_as = "n1", .served_at = "n1:40123"});
  const std::vector<std::string> words = reach.command_at(job.roles[0], 0, {"true"});
  const auto served = std::ranges::find(words, "--served-at");
  REQUIRE(served != words.end());
  CHECK(served[1] == "n1:40123");
}

TEST_CASE("what is known when it is submitted stands in capitals before") {
  const std::string text = describe_yarn_application(counting_words()).value();
  CHECK(text.find("--folder 'FOLDER'") != std::string::npos);
  CHECK(text.ends_with("}\n"));
}

TEST_CASE(
    "what each role's containers are like is shown, as YARN is told when they are asked for") {
  JobSpec job = counting_words();
  job.image = "example/words:1";
  job.volumes = {{"/texts", "/mnt/texts"}};
  job.roles[1].resources = {.cpus = 2, .memory = int64_t{2} << 30, .gpus = 1};
  job.roles[1].nodes = {{"fast", ""}};
  const std::string text = describe_yarn_application(job).value();
  CHECK(text.starts_with(
      R"(# files: 1 container of 1024 MiB, 1 core
#   YARN_CONTAINER_RUNTIME_TYPE=docker
#   YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=example/words:1
#   YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS=/mnt/texts:/texts:rw,FOLDER:FOLDER:rw,DIRECTORY:DIRECTORY:rw
# map: 2 containers of 2048 MiB, 2 cores, 1 yarn.io/gpu, on a machine labelled fast
#   YARN_CONTAINER_RUNTIME_TYPE=docker
)"));
  const Reach reach = yarn_reach(job, {});
  const std::vector<std::string> words = reach.command_at(job.roles[0], 0, {"true"});
  const auto image = std::ranges::find(words, "--image");
  REQUIRE(words.end() - image > 3);
  CHECK(image[1] == "example/words:1");
  CHECK(image[3] == "/mnt/texts:/texts:rw");
}

TEST_CASE("what YARN can't give, or its shell would take apart, is refused with a reason") {
  auto refused = [](const auto& change) {
    JobSpec job = counting_words();
    YarnLaunch where = known_launch();
    change(job, where);
    const Status status = yarn_application(job, where).status();
    CHECK(status.code() == Code::invalid_argument);
    return status.message().substr(0, status.message().find(':'));
  };
  CHECK(refused([](JobSpec& job, YarnLaunch&) {
          job.volumes = {{"/data", "claim"}};
        }) == "volumes");
  CHECK(refused([](JobSpec& job, YarnLaunch&) {
          job.roles[0].nodes = {{"disk", "ssd"}, {"fast", ""}};
        }) == "nodes");
  CHECK(refused([](JobSpec& job, YarnLaunch&) { job.name = ""; }) == "the job needs a name");
  CHECK(refused([](JobSpec&, YarnLaunch& where) {
          where.folder = "/home/it's";
        }).starts_with("the folder of the job, '/home/it's'"));
  CHECK(refused([](JobSpec&, YarnLaunch& where) {
          where.directory = "/a$b";
        }).starts_with("the directory"));
  CHECK(refused([](JobSpec&, YarnLaunch& where) {
          where.environment[0].second = "{{HOME}}";
        }).starts_with("PATH"));
}

TEST_CASE("a role's tasks ask for whole megabytes and cores, and by a priority of their own") {
  RoleSpec role{.name = "map", .resources = {.cpus = 1.5, .memory = 3'000'000}};
  role.nodes = {{"fast", ""}};
  CHECK(container_wish({}, role, 2) ==
        ContainerWish{.priority = 2, .megabytes = 3, .cores = 2, .label = "fast"});
  role.nodes = {{"kind", "gpu"}};
  CHECK(container_wish({}, role, 2).label == "gpu");
  CHECK(container_wish({}, {.name = "map"}, 1) ==
        ContainerWish{.priority = 1, .megabytes = 1024, .cores = 1});
  CHECK(container_wish({.staging = "hdfs://nn/me"}, {.name = "map"}, 1).megabytes == 1056);
}

TEST_CASE("what no machine has is told by the role that asks for it") {
  JobSpec job = counting_words();
  CHECK(check_fits(job, {.megabytes = 1024, .cores = 1}).ok());
  const Status small = check_fits(job, {.megabytes = 512, .cores = 1});
  CHECK(small.message() ==
        "the cluster has no machines for this job: a task of files asks for 1024 MiB of memory, "
        "and YARN gives 512 at most; ask for less");
  job.roles[1].resources.cpus = 9;
  CHECK(check_fits(job, {.megabytes = 4096, .cores = 8}).code() == Code::invalid_argument);
}

TEST_CASE("GPUs are asked for where YARN was told of some, and refused where it would give none") {
  JobSpec job = counting_words();
  job.roles[1].resources.gpus = 2;
  CHECK(yarn_application(job, known_launch()).ok());
  CHECK(container_wish(job, job.roles[1], 2).gpus == 2);
  const YarnLimits roomy{.megabytes = 4096, .cores = 8, .gpus = 2};
  CHECK(check_fits(job, roomy).ok());
  CHECK(check_fits(job, {.megabytes = 4096, .cores = 8}).message() ==
        "gpus: a task of map asks for 2, and this YARN was never told of any (it knows no resource "
        "yarn.io/gpu); ask whoever runs the cluster, or choose its machines by a label, with "
        "nodes");
  CHECK(check_fits(job, {.megabytes = 4096, .cores = 8, .gpus = 1}).message() ==
        "the cluster has no machines for this job: a task of map asks for 2 GPUs, and YARN gives 1 "
        "at most; ask for less");
  const Reach reach = yarn_reach(job, {});
  const std::vector<std::string> words = reach.command_at(job.roles[1], 0, {"true"});
  const auto gpus = std::ranges::find(words, "--gpus");
  REQUIRE(gpus != words.end());
  CHECK(gpus[1] == "2");
  CHECK(std::ranges::count(reach.command_at(job.roles[0], 0, {}), "--gpus") == 0);
}

TEST_CASE(
    "a launcher of more tasks than any machine has memory for is told before it is submitted") {
  JobSpec job = counting_words();
  for (RoleSpec& role : job.roles) role.count = 100;
  const Status small = check_fits(job, {.megabytes = 1024, .cores = 1});
  CHECK(small.message().starts_with("the cluster has no machines for this job: its launcher asks"));
  CHECK(small.message().ends_with("and YARN gives 1024 at most; ask for fewer tasks"));
}

TEST_CASE("where a folder is shared, files go along and outputs come back by the launcher") {
  JobSpec job = counting_words();
  job.files = {"count.py", "env.tar.gz"};
  job.outputs = {"made/*"};
  job.output_dir = "/home/me/back";
  CHECK(launcher_ships(job).files == job.files);
  CHECK(container_wish(job, job.roles[0], 1).megabytes == 1024 + 32);
  CHECK(describe_yarn_application(job).value().starts_with(
      R"(# files: 1 container of 1056 MiB, 1 core
# map: 2 containers of 1056 MiB, 1 core
# goes along: count.py as count.py
# goes along: env.tar.gz, unpacked as env/
# comes back of files: made/* to /home/me/back/files_INDEX
# comes back of map: made/* to /home/me/back/map_INDEX
{)"));
  job.files = {"a/count.py", "b/count.py"};
  CHECK(yarn_application(job, known_launch()).status().message().find("count.py") !=
        std::string::npos);
}

TEST_CASE("through HDFS YARN brings the files, and the launcher collects outputs alone") {
  JobSpec job = counting_words();
  job.files = {"count.py"};
  job.staging = "hdfs://nn:8020/user/me";
  CHECK(!has_task_folders(launcher_ships(job)));
  CHECK(container_wish(job, job.roles[0], 1).megabytes == 1024 + 32);
  job.roles[1].outputs = {"part-*"};
  CHECK(has_task_folders(launcher_ships(job)));
  CHECK(container_wish(job, job.roles[1], 1).megabytes == 1024 + 64);
  CHECK(describe_yarn_application(job).value().find(
            "# comes back of map: part-* to outputs/map_INDEX, when the job has ended, where it "
            "was submitted\n{") != std::string::npos);
}

TEST_CASE("without HDFS the launcher has all of it from who submits, and passes it on") {
  JobSpec job = counting_words();
  job.files = {"count.py", "env.tar.gz"};
  job.staging = kBySubmitter;
  const std::string text = describe_yarn_application(job).value();
  CHECK(text.find(R"(# No folder is shared: a task works in its container's own, where it finds
#   programs/  millrace and the job's programs, before all others on the PATH
#   count.py  of count.py, through http://SUBMITTER/SECRET/files/0
#   env/  of env.tar.gz, through http://SUBMITTER/SECRET/files/1.tar.gz, unpacked
# The launcher has all of it from where it is submitted, and gives it to the others' machines.
{)") != std::string::npos);
  CHECK(text.find(R"(          "key": "job/sent/files/1.tar.gz",
          "value": {
            "resource": "http://SUBMITTER/SECRET/files/1.tar.gz",
            "type": "FILE",)") != std::string::npos);
  CHECK(text.find(R"(          "key": "programs",
          "value": {
            "resource": "http://SUBMITTER/SECRET/programs.tar",
            "type": "ARCHIVE",)") != std::string::npos);
}

TEST_CASE("a task is reached by an errand that asks for its container") {
  const JobSpec job = counting_words();
  const Reach reach =
      yarn_reach(job, {.folder = "/jobs/words", .master = "socket", .known_as = "n1"});
  const LaunchPlan plan = plan_elsewhere(job, reach, "n1:4000", "7");
  CHECK(plan.tasks[2].argv == std::vector<std::string>{"millrace",   "yarn-task",
                                                       "--master",   "socket",
                                                       "--files",    "/jobs/words/container_2",
                                                       "--priority", "2",
                                                       "--memory",   "1024",
                                                       "--cores",    "1",
                                                       "--",         "millrace",
                                                       "join",       "--at",
                                                       "n1:4000",    "--job",
                                                       "map",        "--index",
                                                       "1",          "--machine-from",
                                                       "NM_HOST",    "--",
                                                       "python3",    "count.py"});
}

TEST_CASE("a task that comes back asks for a container on its machine, by a priority of its own") {
  JobSpec job = counting_words();
  CHECK(set_restart(job, "map=3").ok());
  CHECK(yarn_application(job, known_launch()).ok());
  const Reach reach = yarn_reach(
      job,
      {.folder = "/jobs/words", .master = "socket", .known_as = "n1", .racks = {{"n3", "/r"}}});
  REQUIRE(reach.comes_back);
  CHECK(reach.announces_places);
  const LaunchPlan plan = plan_elsewhere(job, reach, "n1:4000", "7");
  const std::vector<std::string> again = reach.back_at(plan.tasks[2].argv, "n3");
  const std::vector<std::string> begin(again.begin(), again.begin() + 12);
  CHECK(begin == std::vector<std::string>{"millrace", "yarn-task", "--node", "n3", "--rack", "/r",
                                          "--master", "socket", "--files",
                                          "/jobs/words/container_2", "--priority", "5"});
  const std::vector<std::string> other = reach.back_at(plan.tasks[1].argv, "n4");
  CHECK(other[5] == "/default-rack");
  CHECK(other[11] == "4");
}

}  // namespace
}  // namespace millrace
