#include "millrace/launch/yarn/container_end.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// What people read of a container that ended like this: the errand says it, the launcher hears it.
std::string told(int status, std::string_view diagnostics, SentSignal sent = SentSignal::none) {
  const ContainerEnd end = container_end(status, diagnostics, "n1");
  ExitFacts facts;
  if (!end.words.empty()) {
    CHECK(end.code == kErrandFailed);
    CHECK(hear_yarn(str_cat("yarn: ", end.words), facts));
  }
  facts.code = facts.out_of_memory_kill ? 137 : end.code;
  return classify(facts, sent).text;
}

TEST_CASE("a program's own code is the task's") {
  CHECK(told(0, "") == "completed");
  CHECK(told(3, "Exception from container-launch.") == "exit code 3");
  CHECK(told(137, "Killed by external signal") == "exit code 137, as of SIGKILL (signal 9)");
}

// As Hadoop 3.4.2 says it of a container that its container-executor was to start.
std::string by_executor(std::string_view said) {
  return str_cat("[2026-11-30 12:02:11.292]Exception from container-launch.\nExit code: 7\n",
                 "Exception message: Launch container failed\nShell error output: ", said,
                 "\nNonzero exit code=7, error message='Unable to execute container script'\n\n",
                 "Shell output: main : command provided 4\nmain : run as user is nobody\n\n\n",
                 "[2026-11-30 12:02:11.355]Container exited with a non-zero exit code 7. ",
                 "Last 4096 bytes of stderr.txt :\ndocker: of the program\n");
}

TEST_CASE("a container that could not be made of its image says why") {
  CHECK(told(7, by_executor("Unable to find image 'local/x:1' locally\ndocker: Error response from "
                            "daemon: no such host.\nSee 'docker run --help'.")) ==
        "could not start: Unable to find image 'local/x:1' locally; Error response from daemon: no "
        "such host.");
  CHECK(told(7, by_executor("image: a/x:1 is not trusted.\nDisable mount volume for untrusted "
                            "image\ndocker: no access.")) ==
        "could not start: no access.; nor is it of docker.trusted.registries, which may see the "
        "job's folders");
  CHECK(told(29, by_executor("Configuration does not allow mount src='/etc', dest='/mnt'\nError "
                             "constructing docker command, docker error code=51")) ==
        "could not start: YARN's container-executor.cfg does not allow it: Configuration does not "
        "allow mount src='/etc', dest='/mnt'");
  CHECK(told(7, by_executor("words")) == "exit code 7");
}

TEST_CASE("what YARN took away is told with the reason, and is not the program's fault") {
  CHECK(told(-100, "Container released on a *lost* node") == "its machine n1 is lost");
  CHECK(told(-100, "Container released by application") ==
        "YARN gave its container back: Container released by application");
  CHECK(told(-101, "") == "the disks of its machine n1 failed");
  CHECK(told(-102, "Container preempted by scheduler") ==
        "preempted: YARN gave its container to another job");
  CHECK(told(-106, "[2026-01-02 03:04:05.678]Killed by ResourceManager") ==
        "YARN killed its container: Killed by ResourceManager");
}

TEST_CASE("a machine that is lost is one that nothing comes back to") {
  for (const auto& [status, words] : {std::pair(-100, "Container released on a *lost* node"),
                                      std::pair(-102, "Container preempted by scheduler")}) {
    ExitFacts facts;
    hear_yarn(str_cat("yarn: ", container_end(status, words, "n1").words), facts);
    CHECK(facts.place_is_gone == (status == -100));
  }
}

TEST_CASE("too much memory is that, whichever of its kinds YARN counted") {
  for (const int status : {-103, -104})
    CHECK(told(status, "[2026-01-02 03:04:05.678]Container [pid=1] is running 4096B beyond") ==
          "out of memory (exit code 137)");
}

TEST_CASE("what the launcher asked for was stopped, and did not fail") {
  CHECK(classify({.code = container_end(-105, "", "n1").code}, SentSignal::terminate).kind ==
        ExitKind::stopped);
  CHECK(classify({.code = never_began().code}, SentSignal::terminate).kind == ExitKind::stopped);
}

TEST_CASE("what did not begin says why") {
  CHECK(told(-1000, "") == "could not start: YARN says no more");
  CHECK(told(-110, "new") == "could not start: new (YARN's number -110)");
  ExitFacts facts;
  hear_yarn(str_cat("yarn: ", never_started("no such queue").words), facts);
  CHECK(facts.start_error == "no such queue");
}

TEST_CASE("lines of the task are none of the errand's, whatever is in them") {
  ExitFacts facts;
  CHECK_FALSE(hear_yarn("yarn is wool", facts));
  CHECK_FALSE(hear_yarn("it said yarn: taken away: by the cat", facts));
  CHECK(hear_yarn("yarn: runs in container_1_0001_01_000002 on n1", facts));
  CHECK(facts.taken_away.empty());
}

}  // namespace
}  // namespace millrace
