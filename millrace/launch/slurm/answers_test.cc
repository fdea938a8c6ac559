// What Slurm 22.05 was heard to say, and what is made of it.
#include "millrace/launch/slurm/answers.h"

#include <doctest/doctest.h>

#include "millrace/launch/job_place.h"
#include "millrace/launch/slurm/faults.h"
#include "millrace/launch/slurm/srun.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using Stage = LauncherSight::Stage;

LauncherSight seen(const std::string& queue, const std::string& accounted = "",
                   const std::string& log = "") {
  return launcher_sight(parse_queue(queue), accounted, [&] { return log; });
}

TEST_CASE("a line of squeue is a job, or a part of one; what is none is passed over") {
  const auto rows = parse_queue(
      "12+1|PENDING|Resources|n/a|/home/a/words\n"
      "13|RUNNING|None|n1|with | in it\n"
      "slurm_load_jobs: warning\n"
      "x|RUNNING|None|n1|(null)\n"
      "14_3|RUNNING|None|n1|(null)\n");
  REQUIRE(rows.size() == 3);
  CHECK(rows[2].element == 3);
  CHECK(rows[0].number == 12);
  CHECK(rows[0].component == 1);
  CHECK(rows[0].machine.empty());
  CHECK(rows[0].comment == "/home/a/words");
  CHECK(rows[1].comment == "with | in it");
  CHECK(rows[1].reason.empty());
}

TEST_CASE("a job that waits says what for, each part of it, and whether waiting helps") {
  const LauncherSight both = seen(
      "12+1|PENDING|Priority|n/a|(null)\n"
      "12+0|PENDING|Resources|n/a|x\n");
  CHECK(both.stage == Stage::pending);
  CHECK(both.waits == std::vector<std::string>{"no machine is free for it (Resources)",
                                               "others come before it in the queue (Priority)"});
  CHECK(!both.is_stuck);
  CHECK(seen("6|PENDING|PartitionConfig|n/a|x\n").is_stuck);
  CHECK(seen("7|PENDING|JobHeldUser|n/a|x\n").is_stuck);
  CHECK(seen("8|PENDING|QOSMaxCpuPerUserLimit|n/a|x\n").waits[0] ==
        "its user or account has as much as it may (QOSMaxCpuPerUserLimit)");
  CHECK(seen("8|PENDING|None|n/a|x\n").waits[0] == "Slurm has not looked at it yet");
  CHECK(seen("8|PENDING|SomethingNew|n/a|x\n").waits[0] == "SomethingNew");
}

TEST_CASE("a launcher that ended without a word has its manager's reason") {
  CHECK(seen("1|RUNNING|None|n1|x\n").stage == Stage::running);
  CHECK(seen("1|COMPLETING|None|n1|x\n").stage == Stage::running);
  const LauncherSight cancelled = seen("2|CANCELLED|None|n/a|(null)\n");
  CHECK(cancelled.stage == Stage::gone);
  CHECK(cancelled.cancelled);
  CHECK(cancelled.why == "scancel");
  CHECK(seen("3|NODE_FAIL|NodeDown|n1|x\n").why == "n1, where its launcher ran, is lost");
  CHECK(seen("3|TIMEOUT|TimeLimit|n1|x\n").why == "Slurm's time limit");
  CHECK(seen("3|PREEMPTED|None|n1|x\n").why.starts_with("preempted"));
  CHECK(seen("3|OUT_OF_MEMORY|OutOfMemory|n1|x\n").why.starts_with("out of memory"));
  CHECK(seen("3|FAILED|NonZeroExitCode|n1|x\n").why ==
        "its launcher was killed, or could not begin (FAILED)");
}

TEST_CASE("of a launcher that has failed and no more, Slurm may have written why it killed it") {
  const std::string log =
      "millrace: map:0 runs\n"
      "slurmstepd: error: *** JOB 3 ON n1 CANCELLED AT 2026-11-30T08:00:00 DUE TO NODE FAILURE, "
      "SEE "
      "SLURMCTLD LOG FOR DETAILS ***\n";
  CHECK(seen("3|FAILED|NonZeroExitCode|n1|x\n", "", log).why ==
        "its launcher was killed: a machine of it was lost");
  CHECK(seen("", "FAILED", log).why == "its launcher was killed: a machine of it was lost");
  CHECK(seen("3|TIMEOUT|TimeLimit|n1|x\n", "", log).why == "Slurm's time limit");
}

TEST_CASE("a job that the manager has forgotten is looked up in its accounts, if it keeps any") {
  CHECK(seen("", "CANCELLED by 1000").why == "scancel, by 1000");
  CHECK(seen("", "RUNNING").stage == Stage::running);
  CHECK(seen("").why == "its launcher has ended without a word, and Slurm no longer knows of it");
  CHECK(parse_accounting("4+0|NODE_FAIL\n4+1|COMPLETED\n") == "NODE_FAIL");
  CHECK(parse_accounting("4_1|FAILED\n4_2|CANCELLED by 1000\n") == "CANCELLED by 1000");
  CHECK(parse_accounting("4_1|FAILED\n4_[2-3%1]|PENDING\n") == "PENDING");
  CHECK(parse_accounting("").empty());
}

TEST_CASE("of an array, the run counts that is there, else the next, else the last") {
  const std::string first = "4_1|TIMEOUT|TimeLimit|n1|x\n";
  const std::string rest = "4_[3-10%1]|PENDING|JobArrayTaskLimit||x\n";
  CHECK(seen(rest + "4_2|RUNNING|None|n2|x\n" + first).stage == Stage::running);
  const LauncherSight next = seen(rest + "4_2|FAILED|NonZeroExitCode|n2|x\n" + first);
  CHECK(next.stage == Stage::pending);
  CHECK(next.waits ==
        std::vector<std::string>{"Slurm has not looked at it since its run before ended "
                                 "(JobArrayTaskLimit)"});
  const LauncherSight none = seen("4_2|CANCELLED|None||x\n" + first);
  CHECK(none.stage == Stage::gone);
  CHECK(none.cancelled);
  CHECK(seen("4|CANCELLED|None||x\n" + first).cancelled);
  CHECK(seen("4_2|FAILED|NonZeroExitCode|n2|x\n" + first).why ==
        "its launcher was killed, or could not begin (FAILED)");
  CHECK(parse_queue("4_[3,7-10%1]|PENDING|None||x\n").at(0).element == 3);
  CHECK(parse_queue("4_[]|PENDING|None||x\n4_|PENDING|None||x\n").empty());
}

TEST_CASE("why a job is begun again stands in what its script and Slurm have written last") {
  const std::string requeued =
      "slurmstepd: error: *** JOB 4 ON n1 CANCELLED AT 2026-11-30T08:00:00 DUE TO JOB REQUEUE "
      "***\n";
  const std::string preempted =
      "slurmstepd: error: *** JOB 4 ON n1 CANCELLED AT 2026-11-30T08:00:00 DUE TO PREEMPTION ***\n";
  CHECK(requeue_reason(requeued) == "it was requeued, as scontrol does");
  CHECK(requeue_reason(requeued + "millrace: map:0 runs\n" + preempted) == "it was preempted");
  CHECK(requeue_reason(preempted + requeued) == "it was requeued, as scontrol does");
  CHECK(requeue_reason("") == "Slurm has ended it, and did not say why");
}

TEST_CASE("the time that is left is told in four ways") {
  CHECK(parse_time_left("50\n") == 50s);
  CHECK(parse_time_left(" 1:24\n") == 84s);
  CHECK(parse_time_left("2:03:04") == 2h + 3min + 4s);
  CHECK(parse_time_left("1-02:03:04") == 26h + 3min + 4s);
  for (const char* none : {"UNLIMITED", "INVALID", "", "1-", "1-2:3", "-5", "1:2:3:4", "x:1",
                           "99999999999999999999", "999999999999:00:00"})
    CHECK(!parse_time_left(none));
}

TEST_CASE("srun says itself what became of a task; its exit code does not") {
  auto heard = [](std::initializer_list<const char*> lines) {
    ExitFacts facts{.code = 0};
    for (const char* line : lines) CHECK(hear_srun(line, facts));
    return facts;
  };
  CHECK(heard({"srun: error: Node failure on n2"}).taken_away == "its machine n2 is lost");
  CHECK(heard({"srun: error: Node failure on n2"}).place_is_gone);
  CHECK(heard({"slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-01-31T03:38:17 ***"})
            .by_hand);
  CHECK(heard({"slurmstepd-n2: error: *** STEP 5.1 ON n2 CANCELLED AT 2026-01-31T02:34:06 DUE TO "
               "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"})
            .taken_away == "its machine is lost");
  CHECK(heard({"slurmstepd: error: *** STEP 5.1 ON n2 CANCELLED AT 2026-01-31T02:34:06 DUE TO TIME "
               "LIMIT ***",
               "srun: Job step aborted: Waiting up to 5 seconds for job step to finish."})
            .taken_away == "Slurm's time limit");
  CHECK(
      !heard({"slurmstepd: error: *** STEP 5.1 ON n2 CANCELLED AT 2026-01-31T02:34:06 DUE TO TIME "
              "LIMIT ***"})
           .by_hand);
  CHECK(heard({"srun: error: n1: task 0: Out Of Memory"}).out_of_memory_kill);
  const ExitFacts memory =
      heard({"slurmstepd-n1: error: StepId=1.0 exceeded memory limit (223707136 > 62914560), being "
             "killed",
             "srun: Exceeded job memory limit",
             "slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-01-31T03:38:17 ***"});
  CHECK(memory.out_of_memory_kill);
  CHECK(memory.taken_away.empty());
  CHECK(heard({"srun: error: Unable to create step for job 7: Invalid feature specification"})
            .start_error == "Unable to create step for job 7: Invalid feature specification");
  const ExitFacts plain = heard(
      {"srun: error: n1: task 0: Exited with exit code 3", "srun: Force Terminated StepId=1.0"});
  CHECK(plain.taken_away.empty());
  CHECK(!plain.place_is_gone);
  ExitFacts facts;
  CHECK(!hear_srun("ValueError: srun: error: Node failure on n2", facts));
  CHECK(!hear_srun("slurmstepdx", facts));
  CHECK(facts.taken_away.empty());
}

TEST_CASE("what Slurm's commands say when they fail tells what to do") {
  auto code = [](const char* said) { return slurm_fault("sbatch", said).code(); };
  const Status down = slurm_fault(
      "squeue", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n");
  CHECK(may_pass(down));
  CHECK(down.message().find("Slurm's controller does not answer") != std::string::npos);
  CHECK(code("sbatch: error: Batch job submission failed: Invalid partition name specified") ==
        Code::invalid_argument);
  CHECK(code("sbatch: error: Memory specification can not be satisfied\nsbatch: error: Batch job "
             "submission failed: Requested node configuration is not available") ==
        Code::invalid_argument);
  CHECK(code("sbatch: error: Munge encode failed: Failed to access \"/run/munge/socket\": No such "
             "file or directory") == Code::unauthenticated);
  CHECK(code("sbatch: error: Batch job submission failed: Protocol authentication error") ==
        Code::unauthenticated);
  CHECK(code("scancel: error: Kill job error on job id 4: Access/permission denied") ==
        Code::permission_denied);
  CHECK(code("sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job "
             "submit limit, user's size and/or time limits)") == Code::resource_exhausted);
  CHECK(code("squeue: fatal: Unable to process configuration file") == Code::failed_precondition);
  CHECK(code("scancel: error: Kill job error on job id 9: Invalid job id specified") ==
        Code::not_found);
  CHECK(slurm_fault("sbatch", "").message() == "sbatch: it failed without a word");
}

}  // namespace
}  // namespace millrace
