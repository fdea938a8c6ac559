#include "millrace/master/membership.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::vector<Member> word_count() {
  ClusterSpec cluster;
  CHECK(cluster.add_job("files", {"h0:2222"}).ok());
  CHECK(cluster.add_job("map", {"h2:2222", "h3:2222"}).ok());
  CHECK(cluster.add_job("reduce", {"h1:2222"}).ok());
  return constant_members(cluster)->list();
}

const TaskName kMap1{"map", 0, 1};

std::string members(const Membership& membership) {
  std::string text;
  for (const Member& member : membership.members)
    str_append(&text, member.task.to_string(), " ", member.address, "\n");
  return text;
}

TEST_CASE("without filters every task takes part") {
  const auto made = resolve_membership(word_count(), kMap1, {}, "grpc://h3:2222");
  CHECK(members(made.value()) ==
        "/job:files/replica:0/task:0 h0:2222\n"
        "/job:map/replica:0/task:0 h2:2222\n"
        "/job:map/replica:0/task:1 h3:2222\n"
        "/job:reduce/replica:0/task:0 h1:2222\n");
}

TEST_CASE("with filters only the tasks that pass one take part, and always the master's own") {
  const auto made = resolve_membership(word_count(), kMap1,
                                       {.device_filters = {"/job:reduce", "/job:map/task:7"}}, "");
  CHECK(members(made.value()) ==
        "/job:map/replica:0/task:1 h3:2222\n"
        "/job:reduce/replica:0/task:0 h1:2222\n");
}

TEST_CASE("a filter that is no device name is refused by name") {
  const auto made = resolve_membership(word_count(), kMap1, {.device_filters = {"/jobs:ps"}}, "");
  CHECK(made.status().code() == Code::invalid_argument);
  CHECK(made.status().message().find("device filter '/jobs:ps'") != std::string::npos);
}

TEST_CASE("a sent cluster tells the master by the address that the client dialled") {
  ClusterSpec sent;
  CHECK(sent.add_job("trainer", {"h3:2222", "h2:2222"}).ok());
  const auto made = resolve_membership(word_count(), kMap1, {.cluster = sent}, "grpc://h3:2222");
  CHECK(made.value().is_sent);
  CHECK(made.value().self == TaskName{"trainer", 0, 0});
  // The session's members are those of the sent cluster, not the server's own.
  REQUIRE(made.value().members.size() == 2);
  CHECK(made.value().members[1].task == TaskName{"trainer", 0, 1});
  CHECK(made.value().members[1].address == "h2:2222");
}

TEST_CASE("a sent cluster without the master is refused") {
  ClusterSpec sent;
  CHECK(sent.add_job("trainer", {"h2:2222"}).ok());
  const Status status =
      resolve_membership(word_count(), kMap1, {.cluster = sent}, "grpc://h3:2222").status();
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().starts_with(
      "The master (current machine) is not included in the provided cluster_def."));
}

TEST_CASE("a sent cluster may not call the master what it calls itself") {
  ClusterSpec sent;
  CHECK(sent.add_task("map", 1, "h3:2222").ok());
  const Status status =
      resolve_membership(word_count(), kMap1, {.cluster = sent}, "grpc://h3:2222").status();
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().find("the same names that were provided when the server booted") !=
        std::string::npos);
}

TEST_CASE("the wrong task at an address is named, and so is the right one") {
  const Member expected{{"ps", 0, 0}, "h9:2222"};
  const std::vector<DeviceAttributes> devices = {
      {.name = "/job:worker/replica:0/task:2/device:CPU:0", .type = "CPU"}};
  const Status status = check_identity(expected, devices);
  CHECK(status.code() == Code::failed_precondition);
  CHECK(
      status.message().starts_with("expected /job:ps/replica:0/task:0 at h9:2222, but "
                                   "/job:worker/replica:0/task:2 answers there"));
  CHECK(check_identity({{"worker", 0, 2}, "h9:2222"}, devices).ok());
  CHECK(!check_identity(expected, {}).ok());
}

TEST_CASE("a task without devices, or with one that has no full name, is nobody's") {
  const Member expected{{"ps", 0, 0}, "h9:2222"};
  CHECK(check_identity(expected, {}).message().find("reports no devices") != std::string::npos);
  const std::vector<DeviceAttributes> nameless = {{.name = "/job:ps/device:CPU:0", .type = "CPU"}};
  CHECK(check_identity(expected, nameless)
            .message()
            .find("'/job:ps/device:CPU:0', which is no full device name") != std::string::npos);
}

TEST_CASE("devices are called as their task is in the session") {
  const auto devices = renamed({{.name = "/job:a/replica:1/task:2/device:CPU:3"}}, {"b", 4, 5});
  REQUIRE(devices.ok());
  CHECK(devices->at(0).name == "/job:b/replica:4/task:5/device:CPU:3");
  CHECK(renamed({{.name = "/job:a/what:1"}}, {"b", 4, 5}).status().code() ==
        Code::invalid_argument);
}

TEST_CASE("options that belong to a server are refused from a client") {
  CHECK(check_options({}).ok());
  CHECK(check_options({.use_per_session_threads = true}).code() == Code::invalid_argument);
  CHECK(check_options({.names_thread_pools = true}).code() == Code::invalid_argument);
  const std::chrono::milliseconds forever(-1);
  CHECK(check_options({.operation_timeout = forever}).code() == Code::invalid_argument);
}

TEST_CASE("a server's filters and the client's are joined, and a server's timeout wins") {
  SessionOptions server, client;
  server.device_filters = {"/job:ps"};
  server.operation_timeout = std::chrono::milliseconds(5);
  client.device_filters = {"/job:worker"};
  client.operation_timeout = std::chrono::milliseconds(9);
  client.allow_soft_placement = true;
  const SessionOptions merged = merge_options(server, client);
  CHECK(merged.device_filters == std::vector<std::string>{"/job:ps", "/job:worker"});
  CHECK(merged.operation_timeout.count() == 5);
  CHECK(merged.allow_soft_placement);
  CHECK_FALSE(merged.log_device_placement);
  CHECK(merge_options({}, client).operation_timeout.count() == 9);
}

TEST_CASE("what a server asks for holds for all its sessions") {
  const SessionOptions merged = merge_options({.allow_soft_placement = true,
                                               .log_device_placement = true,
                                               .isolate_session_state = true,
                                               .disable_optimizer = true},
                                              {});
  CHECK(merged.allow_soft_placement);
  CHECK(merged.log_device_placement);
  CHECK(merged.isolate_session_state);
  CHECK(merged.disable_optimizer);
}

}  // namespace
}  // namespace millrace
