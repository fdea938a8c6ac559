#include "millrace/launch/ssh.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace millrace {
namespace {

JobSpec two_kinds() {
  return {.roles = {{"ps", 1}, {"worker", 2}}, .command = {"python3", "train it.py"}};
}

TEST_CASE("tasks go to the machines in turn, and no token is among their words") {
  const JobSpec job = two_kinds();
  const Reach reach = ssh_reach(job, {"n1", "me@n2"}, "front").value();
  const LaunchPlan plan = plan_elsewhere(job, reach, "front:7000", "secret");
  REQUIRE(plan.tasks.size() == 3);
  auto host = [&](size_t task) { return plan.tasks[task].argv[plan.tasks[task].argv.size() - 2]; };
  CHECK(host(0) == "n1");
  CHECK(host(1) == "me@n2");
  CHECK(host(2) == "n1");
  CHECK(plan.tasks[2].argv.back() ==
        "exec millrace join --at front:7000 --job worker --index 1 --leash --grace 5000ms -- "
        "python3 'train it.py'");
  CHECK(plan.tasks[2].input == "secret\n");
  CHECK(plan.tasks[2].environment.empty());
}

TEST_CASE("a machine has the command where it was brought to") {
  const JobSpec job = two_kinds();
  const Reach reach = ssh_reach(job, {"n1", "n2"}, "front", {{"n2", "/tmp/a b"}}).value();
  const LaunchPlan plan = plan_elsewhere(job, reach, "front:7000", "secret");
  CHECK(plan.tasks[0].argv.back().starts_with("exec millrace join "));
  CHECK(plan.tasks[1].argv.back().starts_with(
      "exec env 'PATH=/tmp/a b':\"$PATH\" millrace join --at front:7000 "));
}

TEST_CASE("what joins is told where its files are, before its command") {
  const JobSpec job = two_kinds();
  Reach reach = own_reach(job, "/bin/millrace");
  reach.join_words = {"--files", "127.0.0.1:7001/2cf2"};
  const LaunchPlan plan = plan_elsewhere(job, reach, "127.0.0.1:7000", "secret");
  const std::vector<std::string>& words = plan.tasks[0].argv;
  CHECK(words[0] == "/bin/millrace");
  const auto files = std::ranges::find(words, "--files");
  REQUIRE(files != words.end());
  CHECK(*(files + 1) == "127.0.0.1:7001/2cf2");
  CHECK(*(files + 2) == "--");
}

TEST_CASE("a directory is entered there") {
  JobSpec job = two_kinds();
  job.directory = "/data/my job";
  const Reach reach = ssh_reach(job, {"n1"}, "front").value();
  CHECK(reach.command_at(job.roles[0], 0, {"true"}).back() == "cd '/data/my job' && exec true");
}

TEST_CASE("what ssh would take for a flag, or a shell for more than a word, is no machine") {
  const JobSpec job = two_kinds();
  for (const char* host : {"", "-oProxyCommand=x", "a b", "a;b", "$(x)"})
    CHECK(ssh_reach(job, {"n1", host}, "f").status().code() == Code::invalid_argument);
  CHECK(ssh_reach(job, {}, "f").status().code() == Code::invalid_argument);
}

TEST_CASE("ssh says itself why it could not begin, or what became of the machine") {
  auto heard = [](const char* line) {
    ExitFacts facts;
    CHECK(hear_ssh(line, facts));
    return facts;
  };
  CHECK(heard("ssh: connect to host n1 port 22: Connection refused").start_error ==
        "ssh: connect to host n1 port 22: Connection refused");
  CHECK(heard("ssh: Could not resolve hostname n9: Name or service not known\r").start_error ==
        "ssh: Could not resolve hostname n9: Name or service not known");
  CHECK(!heard("me@n1: Permission denied (publickey).").start_error.empty());
  CHECK(!heard("Host key verification failed.").start_error.empty());
  CHECK(heard("Connection to n1 closed by remote host.").taken_away ==
        "its machine is lost: Connection to n1 closed by remote host.");
  CHECK(!heard("Timeout, server n1 not responding.").taken_away.empty());
  ExitFacts facts;
  CHECK(!hear_ssh("UnavailableError: Connection refused", facts));
  CHECK(facts.start_error.empty());
  CHECK(facts.taken_away.empty());
}

}  // namespace
}  // namespace millrace
