// What members know, and who is told, as transcripts:
//
//   at worker:1 h:1    it listens there from now on
//   lost worker:1 why  | ends worker:1
//   where worker:1     | list
#include "millrace/cluster/late_members.h"

#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/testing/script.h"

namespace millrace {
namespace {

TaskName named_task(const std::string& name) {
  const size_t colon = name.find(':');
  return {name.substr(0, colon), 0, std::stoi(name.substr(colon + 1))};
}

std::string told(const std::string& script) {
  auto members = LateMembers::create({{"ps", 1}, {"worker", 2}}).value();
  std::string out;
  uint64_t generation = members->generation();
  const TaskWatch watch = members->watch([&](const TaskName& task) {
    // Whoever hears of it asks what there is now.
    CHECK(members->generation() != generation);
    const bool is_known = members->address(task).ok();
    str_append(&out, "told of ", task.job, ":", task.task, is_known ? "" : ", which is nowhere",
               members->has_ended(task) ? " and has ended\n" : "\n");
  });
  testing::each_line(script, [&](const std::string& verb, std::istringstream& words) {
    generation = members->generation();
    if (verb == "list") {
      for (const Member& member : members->list())
        str_append(&out, member.task.job, ":", member.task.task, "=", member.address, " ");
      out += '\n';
      return;
    }
    std::string name, rest;
    words >> name;
    std::getline(words >> std::ws, rest);
    const TaskName task = named_task(name);
    Status status;
    if (verb == "at") {
      status = members->set_address(task, rest);
    } else if (verb == "lost") {
      status = members->lose_address(task, rest);
    } else if (verb == "ends") {
      status = members->end(task);
    } else {
      const auto where = members->address(task);
      str_append(&out, where.ok() ? *where : where.status().to_string(), "\n");
    }
    if (!status.ok()) str_append(&out, status.to_string(), "\n");
  });
  return out;
}

TEST_CASE("members are there from the start, and where they are becomes known") {
  CHECK(told(R"(
    list
    where worker:1
    at worker:1 h:1
    where worker:1
    list
    )") ==
        "ps:0= worker:0= worker:1= \n"
        "UNAVAILABLE: the address of /job:worker/replica:0/task:1 is not known yet\n"
        "told of worker:1\n"
        "h:1\n"
        "ps:0= worker:0= worker:1=h:1 \n");
}

TEST_CASE("what changes is told, and what was known already is not") {
  CHECK(told(R"(
    at ps:0 h:1
    at ps:0 h:1
    at ps:0 h:2
    where ps:0
    lost ps:0 its machine is drained
    where ps:0
    at ps:0 h:2
    )") ==
        "told of ps:0\n"
        "told of ps:0\n"
        "h:2\n"
        "told of ps:0, which is nowhere\n"
        "UNAVAILABLE: the address of /job:ps/replica:0/task:0 is no longer known: its machine is "
        "drained\n"
        "told of ps:0\n");
}

TEST_CASE("a task that has ended is nowhere until it has an address again") {
  CHECK(told(R"(
    at worker:0 h:1
    ends worker:0
    where worker:0
    at worker:0 h:1
    where worker:0
    )") ==
        "told of worker:0\n"
        "told of worker:0, which is nowhere and has ended\n"
        "UNAVAILABLE: the address of /job:worker/replica:0/task:0 is gone: the task has ended\n"
        "told of worker:0\n"
        "h:1\n");
}

TEST_CASE("other tasks, and what can't be an address, are refused by name") {
  const std::string unknown =
      "NOT_FOUND: /job:map/replica:0/task:0 is not in the cluster, which has ps with 1 task, "
      "worker with 2 tasks\n";
  CHECK(told("at map:0 h:1\nlost map:0 x\nends map:0\nwhere map:0") ==
        unknown + unknown + unknown + unknown);
  CHECK(told("at ps:0 h:0") ==
        "INVALID_ARGUMENT: /job:ps/replica:0/task:0 is said to be at h:0, but nobody listens on "
        "port 0\n");
  CHECK(told("at ps:0 nowhere").starts_with("INVALID_ARGUMENT: /job:ps/replica:0/task:0: "));
  CHECK(told("at ps:0 nowhere\nlist") != told("at ps:0 h:1\nlist"));
}

TEST_CASE("a plan that makes no sense is refused") {
  const auto refused = [](const std::vector<std::pair<std::string, int>>& jobs) {
    return LateMembers::create(jobs).status().code();
  };
  CHECK(refused({}) == Code::invalid_argument);
  CHECK(refused({{"1st", 1}}) == Code::invalid_argument);
  CHECK(refused({{"ps", 0}}) == Code::invalid_argument);
  CHECK(refused({{"ps", 1}, {"ps", 2}}) == Code::already_exists);
  CHECK(refused({{"ps", 1}}) == Code::ok);
}

TEST_CASE("the members of a cluster whose addresses stay are as it says") {
  ClusterSpec cluster;
  REQUIRE(cluster.add_task("ps", 3, "h:1,h:2").ok());
  const auto members = constant_members(cluster);
  REQUIRE(members->list().size() == 2);
  CHECK(members->list()[1].task == TaskName{"ps", 1, 3});
  CHECK(members->list()[1].address == "h:2");
  CHECK(members->address({"ps", 1, 3}).value() == "h:2");
  CHECK(members->address({"ps", 0, 0}).status().code() == Code::not_found);
  CHECK(members->watch([](const TaskName&) {}) == nullptr);
  CHECK(members->serves({"ps", 0, 3}, "h:1").ok());
  CHECK(members->serves({"ps", 0, 3}, "h:9").code() == Code::failed_precondition);
}

}  // namespace
}  // namespace millrace
