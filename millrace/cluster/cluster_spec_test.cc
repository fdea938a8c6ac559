#include "millrace/cluster/cluster_spec.h"

#include <doctest/doctest.h>

#include "millrace/cluster/host_port.h"

namespace millrace {
namespace {

bool mentions(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

ClusterSpec word_count() {
  ClusterSpec cluster;
  CHECK(cluster.add_job("reduce", {"localhost:2223"}).ok());
  CHECK(cluster.add_job("files", {"localhost:2222"}).ok());
  CHECK(cluster.add_job("map", {"localhost:2224", "localhost:2225"}).ok());
  return cluster;
}

TEST_CASE("addresses are names, IPv4 addresses and bracketed IPv6 addresses with a port") {
  struct Row {
    const char* text;
    const char* host;
    int port;
  };
  for (const Row& row :
       {Row{"localhost:2222", "localhost", 2222}, Row{"10.0.0.7:80", "10.0.0.7", 80},
        Row{"worker-1.example.org:0", "worker-1.example.org", 0},
        Row{"my_service:65535", "my_service", 65535}, Row{"[::1]:2222", "::1", 2222},
        Row{"[fe80::1%eth0]:1", "fe80::1%eth0", 1}}) {
    CAPTURE(row.text);
    auto address = HostPort::parse(row.text);
    REQUIRE(address.ok());
    CHECK(address->host == row.host);
    CHECK(address->port == row.port);
    CHECK(address->to_string() == row.text);
  }
}

TEST_CASE("a bad address is told what is wrong with it and how to write it") {
  struct Row {
    std::string text;
    const char* why;
  };
  for (const Row& row :
       {Row{"", "it is empty; write for example localhost:2222"},
        Row{"localhost", "the port is missing; write localhost:2222"},
        Row{":2222", "the host is missing; write localhost:2222"},
        Row{"localhost:", "the port is ''"}, Row{"localhost:http", "the port is 'http'"},
        Row{"localhost:65536", "from 0 to 65535"}, Row{"localhost:-1", "from 0 to 65535"},
        Row{"localhost:99999999999999999999", "from 0 to 65535"},
        Row{"localhost: 22", "the port is ' 22'"}, Row{"::1:2222", "needs brackets"},
        Row{"[::1:2222", "not closed"}, Row{"[::1]", "write [::1]:2222"},
        Row{"[localhost]:1", "not an IPv6 address"}, Row{"two words:1", "the character ' '"},
        Row{"grpc://localhost:1", "leave out 'grpc://'"},
        Row{std::string(300, 'a') + ":1", "at most 253"}}) {
    CAPTURE(row.text);
    Status status = HostPort::parse(row.text).status();
    CHECK(status.code() == Code::invalid_argument);
    CAPTURE(status.message());
    CHECK(mentions(status, row.why));
    CHECK(status.message().size() < 400);
  }
}

TEST_CASE("a cluster lists its tasks by job name, then by index") {
  ClusterSpec cluster = word_count();
  CHECK(cluster.to_string() ==
        "{files -> {0 -> localhost:2222}, map -> {0 -> localhost:2224, 1 -> localhost:2225}, "
        "reduce -> {0 -> localhost:2223}}");
  CHECK(cluster.num_tasks() == 4);
  CHECK(cluster.num_tasks("map") == 2);
  CHECK(cluster.num_tasks("ps") == 0);
  CHECK(cluster.has_job("files"));
  CHECK(!cluster.has_task("files", 1));
  std::vector<TaskName> tasks = {{"files", 0, 0}, {"map", 0, 0}, {"map", 0, 1}, {"reduce", 0, 0}};
  CHECK(cluster.tasks() == tasks);
  CHECK(cluster.address({"map", 0, 1}).value() == "localhost:2225");
  CHECK(cluster.shared_addresses().empty());
}

TEST_CASE("a cluster may list only the tasks that concern a task") {
  ClusterSpec cluster;
  CHECK(cluster.add_task("worker", 7, "b:1").ok());
  CHECK(cluster.add_task("worker", 3, "[::1]:2222").ok());
  CHECK(cluster.to_string() == "{worker -> {3 -> [::1]:2222, 7 -> b:1}}");
  Status status = cluster.address({"worker", 0, 0}).status();
  CHECK(status.code() == Code::not_found);
  CHECK(status.message() == "no task worker:0; tasks of job 'worker': 3, 7");
  CHECK(mentions(cluster.address({"ps", 0, 0}).status(), "its jobs are worker"));
}

TEST_CASE("addresses in one entry are the replicas of that task") {
  ClusterSpec cluster;
  CHECK(cluster.add_task("worker", 0, "a:1,b:2").ok());
  CHECK(cluster.num_tasks() == 1);
  std::vector<TaskName> tasks = {{"worker", 0, 0}, {"worker", 1, 0}};
  CHECK(cluster.tasks() == tasks);
  CHECK(cluster.address({"worker", 1, 0}).value() == "b:2");
  CHECK(mentions(cluster.address({"worker", 2, 0}).status(), "it has 2 replica(s)"));
  CHECK(mentions(cluster.move_task({"worker", 1, 0}, "c"), "task worker:0 (replica 1)"));
  CHECK(cluster.move_task({"worker", 1, 0}, "c:3").ok());
  CHECK(cluster.jobs().at("worker").at(0) == "a:1,c:3");
}

TEST_CASE("a job may have no tasks") {
  ClusterSpec cluster;
  CHECK(cluster.add_job("ps", {}).ok());
  CHECK(!cluster.empty());
  CHECK(cluster.num_tasks() == 0);
  CHECK(mentions(cluster.address({"ps", 0, 0}).status(), "tasks of job 'ps': none"));
}

TEST_CASE("what is refused leaves the cluster as it was") {
  ClusterSpec cluster = word_count();
  CHECK(cluster.add_task("map", 1, "localhost:9").code() == Code::already_exists);
  CHECK(cluster.add_job("map", {}).code() == Code::already_exists);
  CHECK(cluster.add_job("ps", {"a:1", "b"}).code() == Code::invalid_argument);
  CHECK(cluster.add_task("ps", -1, "a:1").code() == Code::invalid_argument);
  CHECK(cluster.add_task("ps", 0, "a:1,").code() == Code::invalid_argument);
  for (const char* name : {"", "1st", "_x", "a-b", "a b", "wörker", "a/b"}) {
    CAPTURE(name);
    CHECK(cluster.add_task(name, 0, "a:1").code() == Code::invalid_argument);
  }
  CHECK(cluster.move_task({"map", 0, 9}, "a:1").code() == Code::not_found);
  CHECK(cluster.move_task({"map", 0, 0}, "a").code() == Code::invalid_argument);
  CHECK(cluster == word_count());
}

TEST_CASE("tasks at one address are reported, unless the port is to be chosen") {
  ClusterSpec cluster;
  CHECK(cluster.add_job("worker", {"a:1", "a:0", "a:0"}).ok());
  CHECK(cluster.add_job("ps", {"a:1"}).ok());
  std::vector<std::string> lines = {"ps:0 and worker:0 are both at a:1"};
  CHECK(cluster.shared_addresses() == lines);
}

}  // namespace
}  // namespace millrace
