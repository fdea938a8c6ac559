#include "millrace/launch/slurm/batch.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job_file.h"
#include "millrace/launch/plan.h"
#include "millrace/launch/slurm/srun.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

JobSpec counting_words() {
  return {.name = "words",
          .roles = {{"files", 1}, {"map", 2}},
          .until = {"map"},
          .command = {"python3", "count.py"},
          .time_limit = 90s,
          .queue = "short"};
}

TEST_CASE("roles that ask for the same share one allocation, and the script holds the job") {
  const std::string script = slurm_batch_script(counting_words()).value();
  const std::string head = script.substr(0, script.find("\nexec"));
  CHECK(head ==
        "#!/bin/bash\n"
        "#SBATCH --job-name=words\n"
        "#SBATCH --output=words-%j.log\n"
        "#SBATCH --time=3\n"
        "#SBATCH --signal=B:TERM@10\n"
        "#SBATCH --no-requeue\n"
        "#SBATCH --no-kill\n"
        "#SBATCH --partition=short\n"
        "#SBATCH --ntasks=3\n"
        "#SBATCH --cpus-per-task=1\n");
  const size_t begin = script.find("'END_OF_JOB'\n") + 13;
  const std::string held = script.substr(begin, script.find("END_OF_JOB\n", begin) - begin);
  CHECK(to_job_file(parse_job_file(held, "held").value()) == to_job_file(counting_words()));
}

TEST_CASE("what is asked of Slurm alone stands in the script, for each component") {
  JobSpec job = counting_words();
  job.roles[1].resources = {.cpus = 2};
  job.slurm = {.account = "physics",
               .qos = "long",
               .reservation = "tuesday",
               .constraint = "a100|h100",
               .exclusive = true};
  const std::string wishes =
      "#SBATCH --account=physics\n#SBATCH --qos=long\n#SBATCH --reservation=tuesday\n"
      "#SBATCH --exclusive\n";
  std::string script = slurm_batch_script(job).value();
  const size_t first = script.find(wishes + "#SBATCH --ntasks=1\n");
  CHECK(first != std::string::npos);
  CHECK(script.find(wishes + "#SBATCH --ntasks=2\n", first) != std::string::npos);
  CHECK(script.find("#SBATCH --constraint=a100|h100\n") != std::string::npos);
  job.roles[1].nodes = {{"disk", "ssd"}};
  script = slurm_batch_script(job).value();
  CHECK(script.find("#SBATCH --constraint=(a100|h100)&ssd\n") != std::string::npos);
}

TEST_CASE("a job that Slurm may begin again is ended as a whole, unless it may lose tasks") {
  JobSpec job = counting_words();
  job.slurm.requeue = true;
  std::string script = slurm_batch_script(job).value();
  CHECK(script.find("#SBATCH --open-mode=append\n") != std::string::npos);
  CHECK(script.find("#SBATCH --requeue\n#SBATCH --partition=short\n") != std::string::npos);
  CHECK(script.find("\nslurm:\n  requeue: true\n") != std::string::npos);
  job.roles[1].may_lose = {.amount = 1};
  script = slurm_batch_script(job).value();
  CHECK(script.find("#SBATCH --requeue\n#SBATCH --no-kill\n") != std::string::npos);
}

TEST_CASE("a job that runs several times is an array of which one element runs at a time") {
  JobSpec job = counting_words();
  job.slurm.runs = 10;
  std::string script = slurm_batch_script(job, "/home/a/words").value();
  CHECK(script.substr(0, script.find("\nexec")) ==
        "#!/bin/bash\n"
        "#SBATCH --job-name=words\n"
        "#SBATCH --output=/home/a/words/launcher.log\n"
        "#SBATCH --comment=/home/a/words\n"
        "#SBATCH --array=1-10%1\n"
        "#SBATCH --open-mode=append\n"
        "#SBATCH --time=3\n"
        "#SBATCH --signal=B:TERM@10\n"
        "#SBATCH --no-requeue\n"
        "#SBATCH --no-kill\n"
        "#SBATCH --partition=short\n"
        "#SBATCH --ntasks=3\n"
        "#SBATCH --cpus-per-task=1\n");
  CHECK(script.find("\nslurm:\n  runs: 10\n") != std::string::npos);
  // The log of one that nobody keeps is that of all its runs as well.
  CHECK(slurm_batch_script(job).value().find("--output=words-%A.log\n") != std::string::npos);
  job.slurm.requeue = true;
  script = slurm_batch_script(job).value();
  CHECK(script.find("#SBATCH --array=1-10%1\n") != std::string::npos);
  CHECK(script.find("#SBATCH --requeue\n#SBATCH --partition") != std::string::npos);
}

TEST_CASE("of a heterogeneous job there is no array") {
  JobSpec job = counting_words();
  job.slurm.runs = 2;
  job.roles[1].resources = {.cpus = 2};
  CHECK(slurm_batch_script(job).status().message().starts_with(
      "slurm.runs: roles 'files' and 'map' ask for different machines"));
  job.roles[0].resources = {.cpus = 2};
  CHECK(slurm_batch_script(job).ok());
}

TEST_CASE("tasks are not warned before they begin") {
  JobSpec job = counting_words();
  job.slurm.warn = 89s;
  CHECK(slurm_batch_script(job).value().find("  warn: \"89s\"\n") != std::string::npos);
  job.slurm.warn = 2min;
  CHECK(slurm_batch_script(job).status().message() ==
        "slurm.warn: 2m before a time limit of 90s is before the job begins; say less");
}

TEST_CASE("a secret of a cluster is none of Slurm's, and others are in no script") {
  JobSpec job = counting_words();
  job.secrets = {{"PASSWORD", {SecretSource::Kind::environment, "OWN_PASSWORD"}}};
  const std::string script = slurm_batch_script(job).value();
  CHECK(script.find("PASSWORD:\n    env: OWN_PASSWORD\n") != std::string::npos);
  job.secrets["PASSWORD"] = {SecretSource::Kind::kubernetes, "db/password"};
  CHECK(slurm_batch_script(job).status().message().find("is had on Kubernetes alone") !=
        std::string::npos);
}

TEST_CASE("roles that ask for different machines get a component each, and reach it") {
  JobSpec job = counting_words();
  job.roles[1].resources = {.cpus = 1.5, .memory = 3'000'000'000, .gpus = 1};
  job.roles[1].nodes = {{"disk", "ssd"}, {"fast", ""}};
  const std::string script = slurm_batch_script(job).value();
  CHECK(script.find("#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=1\n#SBATCH hetjob\n"
                    "#SBATCH --no-requeue\n#SBATCH --no-kill\n#SBATCH --partition=short\n#SBATCH "
                    "--ntasks=2\n#SBATCH --cpus-per-task=2\n"
                    "#SBATCH --mem-per-cpu=1431M\n#SBATCH --gpus-per-task=1\n"
                    "#SBATCH --constraint=ssd&fast\n") != std::string::npos);
  const LaunchPlan plan = plan_elsewhere(job, srun_reach(job, "n1"), "n1:7000", "secret");
  REQUIRE(plan.tasks.size() == 3);
  CHECK(plan.tasks[2].argv == std::vector<std::string>{"srun",
                                                       "--nodes=1",
                                                       "--ntasks=1",
                                                       "--exact",
                                                       "--unbuffered",
                                                       "--job-name=map",
                                                       "--het-group=1",
                                                       "--cpus-per-task=2",
                                                       "--mem-per-cpu=1431M",
                                                       "--gpus-per-task=1",
                                                       "millrace",
                                                       "join",
                                                       "--at",
                                                       "n1:7000",
                                                       "--job",
                                                       "map",
                                                       "--index",
                                                       "1",
                                                       "--leash",
                                                       "--grace",
                                                       "5000ms",
                                                       "--machine-from",
                                                       "SLURMD_NODENAME",
                                                       "--",
                                                       "python3",
                                                       "count.py"});
  // Nobody sees the token in a list of processes, or hands it on with an environment.
  CHECK(plan.tasks[2].environment.empty());
  CHECK(plan.tasks[2].input == "secret\n");
  CHECK(plan.tasks[2].decides);
}

TEST_CASE("room is asked for all tasks that a role may have, and what that costs is said") {
  JobSpec job = counting_words();
  job.roles[1].most = 5;
  job.roles[1].resources.cpus = 2;
  job.roles[0].resources.cpus = 2;
  std::string script = slurm_batch_script(job).value();
  CHECK(script.find("\n# map begins with 2 of 5 tasks. All are asked for here: 6 cores and their "
                    "memory are held idle until `millrace scale` uses them.\n") !=
        std::string::npos);
  CHECK(script.find("#SBATCH --ntasks=6\n") != std::string::npos);
  CHECK(plan_elsewhere(job, srun_reach(job, "n1"), "n1:7000", "t").tasks.size() == 6);
  job.roles[1].resources.gpus = 1;
  script = slurm_batch_script(job).value();
  CHECK(script.find("6 cores, 3 GPUs and their memory") != std::string::npos);
  CHECK(script.find("#SBATCH --ntasks=1\n") != std::string::npos);
  CHECK(script.find("#SBATCH --ntasks=5\n") != std::string::npos);
  CHECK(slurm_batch_script(counting_words()).value().find("\n# ") == std::string::npos);
}

TEST_CASE("a task that is started again is a step on the machine that it was on") {
  JobSpec job = counting_words();
  job.roles[1].restart.when = RestartPolicy::When::on_failure;
  job.roles[1].may_lose = {.amount = 1};
  CHECK(slurm_batch_script(job).ok());
  const Reach reach = srun_reach(job, "n1");
  REQUIRE(reach.comes_back);
  std::vector<std::string> words = plan_elsewhere(job, reach, "n1:7000", "t").tasks[2].argv;
  const std::vector<std::string> again = reach.back_at(words, "n3");
  words.insert(words.begin() + 1, "--nodelist=n3");
  CHECK(again == words);
}

TEST_CASE("a job that is kept names its folder, in which its launcher works") {
  const std::string script = slurm_batch_script(counting_words(), "/home/a/jobs/words").value();
  for (const char* line :
       {"\n#SBATCH --output=/home/a/jobs/words/launcher.log\n",
        "\n#SBATCH --comment=/home/a/jobs/words\n",
        "\nexec millrace run --on srun --folder /home/a/jobs/words /dev/stdin <<"})
    CHECK(script.find(line) != std::string::npos);
  CHECK(slurm_batch_script(counting_words(), "/R&D/$a").value().find(" --folder '/R&D/$a' ") !=
        std::string::npos);
  for (const char* folder : {"/home/a b", "/home/%j", "/home/a\n#SBATCH --uid=0", "/home/'a"})
    CHECK(slurm_batch_script(counting_words(), folder).status().code() == Code::invalid_argument);
}

TEST_CASE("what Slurm can't give is refused") {
  for (void (*spoil)(JobSpec&) :
       {+[](JobSpec& job) { job.image = "a"; }, +[](JobSpec& job) { job.roles[0].image = "a"; },
        +[](JobSpec& job) {
          job.volumes = {{"/a", "b"}};
        },
        +[](JobSpec& job) { job.name = ""; },
        +[](JobSpec& job) {
          job.files = {"a"};
          job.directory = "/home/a";
        },
        +[](JobSpec& job) {
          job.files = {"env.zip", "env.tar"};
        },
        +[](JobSpec& job) { job.queue = "a\n#SBATCH --uid=0"; },
        +[](JobSpec& job) { job.queue = "a\r--uid=0"; },
        +[](JobSpec& job) {
          job.roles[0].nodes = {{"a", "b c"}};
        }}) {
    JobSpec job = counting_words();
    spoil(job);
    CHECK(slurm_batch_script(job).status().code() == Code::invalid_argument);
  }
}

TEST_CASE("a step beside a task knows what the task knows, once all have told where they are") {
  JobSpec job = counting_words();
  job.environment = {{"A", "b c"}};
  job.directory = "/home/a";
  const TaskSight task{.name = str_cat(job.roles[0].name, ":0"), .where = "n2"};
  const std::vector<std::string> before =
      guest_step(job, "7", {}, task, {"ps", "-ef"}, Terminal::yes);
  CHECK(before == std::vector<std::string>{
                      "srun", "--jobid=7", "--overlap", "--nodes=1", "--ntasks=1", "--unbuffered",
                      "--nodelist=n2", "--chdir=/home/a", "--pty", "env", "A=b c", "ps", "-ef"});
  Journal journal;
  for (size_t i = 0; i < count_tasks(job); ++i)
    journal.entries.push_back({.what = TaskCame{i, str_cat("n", i, ":22")}});
  const std::vector<std::string> after = guest_step(job, "7", journal, task, {"ps"}, Terminal::no);
  REQUIRE(after.size() == 12);
  CHECK(after[9].starts_with("TF_CONFIG={\"cluster\":{"));
  CHECK(after[9].find("n0:22") != std::string::npos);
  CHECK(
      after[9].ends_with(str_cat("\"task\":{\"type\":\"", job.roles[0].name, "\",\"index\":0}}")));
}

}  // namespace
}  // namespace millrace
