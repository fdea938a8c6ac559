#include "millrace/launch/slurm/array_runs.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/launch/journal_sight.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

JobSpec training() {
  JobSpec job{.name = "train", .roles = {{"worker", 1}}, .command = {"train"}};
  job.slurm.runs = 3;
  return job;
}

// Of run 2 of 3, in which these events were seen.
Journal journal_of(const std::string& events, const JobSpec& job = training()) {
  return parse_journal(
      str_cat(R"({"millrace_journal":1,"at":1,"begun":1,"seed":5,"run":2,"runs":3,"life":2,)",
              R"("why":"time limit of 3.0 s","attempts":[1],"time_limit":3000000000})", "\n",
              R"({"at":2,"started":0})", "\n", events),
      job.roles.size());
}

constexpr const char* kFailed = R"({"at":9,"ended":[{"task":0,"code":3}]})"
                                "\n"
                                R"({"at":10,"over":true})"
                                "\n";
constexpr const char* kInterrupted = R"({"at":9,"interrupted":"SIGTERM"})"
                                     "\n"
                                     R"({"at":9,"ended":[{"task":0,"signal":15}]})"
                                     "\n"
                                     R"({"at":10,"over":true})"
                                     "\n";
constexpr const char* kPreempted =
    "slurmstepd: error: *** JOB 4 ON n1 CANCELLED AT 2026-11-30T08:00:00 DUE TO PREEMPTION ***\n";

TEST_CASE("a launcher learns from Slurm which run it is in") {
  CHECK(array_run_of(training(), "12", "3").number == 3);
  CHECK(array_run_of(training(), "12", "3").array == "12");
  CHECK(array_run_of(training(), "", "").number == 0);
  CHECK(array_run_of(training(), "12", "x").number == 0);
  // Somebody else's array.
  JobSpec once = training();
  once.slurm.runs = 1;
  CHECK(array_run_of(once, "12", "3").number == 0);
}

TEST_CASE("which run it is stands in the journal and in the job's sentence") {
  const Journal journal = journal_of("");
  REQUIRE(journal.start);
  CHECK(to_line(*journal.start).find(R"("run":2,"runs":3)") != std::string::npos);
  CHECK(begun_again_text(*journal.start) == "run 2 of 3; before it: time limit of 3.0 s");
  CHECK(begun_again_text({.run = 1, .runs = 3}) == "run 1 of 3");
}

TEST_CASE("how a run ended is told by its journal, and by Slurm what Slurm has ended") {
  CHECK(end_of_run(training(), journal_of(kFailed), "") == "worker:0: exit code 3");
  CHECK(end_of_run(training(), journal_of(kFailed), kPreempted) == "worker:0: exit code 3");
  CHECK(end_of_run(training(), journal_of(kInterrupted), kPreempted) == "it was preempted");
  CHECK(end_of_run(training(), journal_of(kInterrupted), "") == "interrupted by SIGTERM");
  CHECK(end_of_run(training(), journal_of(""), kPreempted) == "it was preempted");
  CHECK(end_of_run(training(), journal_of(""),
                   str_cat(kPreempted,
                           "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-11-30T08:00:00 "
                           "***\n")) == "it was cancelled, as scancel does");
  CHECK(end_of_run(training(), {}, "") == "its launcher ended without a word");
}

TEST_CASE("a run is to begin when nothing of any other is there") {
  const auto other = [](const char* rows) {
    return run_that_still_ends({.array = "8", .number = 2}, parse_queue(rows));
  };
  CHECK(other("8_1|COMPLETING|None|n1|x\n8_3|PENDING|None||x\n8_2|RUNNING|None|n2|x\n") == 1);
  CHECK(other("8_1|FAILED|None|n1|x\n8_[3-9%1]|PENDING|None||x\n8_2|RUNNING|None|n2|x\n") == 0);
}

TEST_CASE("between two runs a job says how the one ended and that the next is to come") {
  const auto word = [](const std::string& rows) {
    return word_of_next_run(training(), parse_queue(rows), journal_of(kFailed), "");
  };
  CHECK(word("4_[3%1]|PENDING|Resources||x\n4_2|COMPLETING|None|n1|x\n") ==
        "run 2 of 3 has ended: worker:0: exit code 3; the next is queued");
  CHECK(word("4_3|RUNNING|None|n1|x\n4_2|FAILED|None|n1|x\n") ==
        "run 2 of 3 has ended: worker:0: exit code 3; the next is being started");
  CHECK(word("4_2|COMPLETING|None|n1|x\n").empty());
  CHECK(word("4_3|CANCELLED|None||x\n4_2|FAILED|None|n1|x\n").empty());
  CHECK(word_of_next_run(training(), parse_queue("4_[1-3%1]|PENDING|None||x\n"), {}, "").empty());
}

}  // namespace
}  // namespace millrace
