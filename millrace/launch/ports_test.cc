#include "millrace/launch/ports.h"

#include <doctest/doctest.h>

#include "millrace/launch/job_file.h"
#include "millrace/launch/job_sight.h"

namespace millrace {
namespace {

bool port_is_refused(const NamedPorts& ports, std::string_view words) {
  return check_ports(ports).message().find(words) != std::string::npos;
}

TEST_CASE("a role says what its programs serve, by names") {
  const JobSpec job =
      parse_job_file("{command: x, roles: {a: {ports: {web: 6006, metrics: 9090}}}}", "job.yaml")
          .value();
  CHECK(to_text(job.roles[0].ports) == "metrics 9090, web 6006");
  CHECK(parse_job_file(to_job_file(job), "again").value().roles == job.roles);
}

TEST_CASE("ports that can't be are refused with what is wrong") {
  CHECK(check_ports({{"web", 6006}, {"tb-2", 6007}}).ok());
  CHECK(port_is_refused({{"Web", 6006}}, "'Web' is no name of a port: at most 15 small letters"));
  CHECK(port_is_refused({{"6006", 6006}}, "is no name of a port"));
  CHECK(port_is_refused({{"a--b", 6006}}, "is no name of a port"));
  CHECK(port_is_refused({{"a-name-too-long-", 6006}}, "is no name of a port"));
  CHECK(port_is_refused({{"grpc", 6006}}, "the task's own port is called so"));
  CHECK(port_is_refused({{"web", 70000}}, "70000 is no port"));
  for (const int own : kOwnPorts) CHECK(port_is_refused({{"web", own}}, "one of the task's own"));
  CHECK(port_is_refused({{"b", 80}, {"web", 80}}, "ports.web: 80 is that of b already"));
  const std::string ours =
      "{command: x, first_port: 6000, roles: {a: {count: 9, ports: {web: 6006}}}}";
  CHECK(parse_job_file(ours, "job.yaml").status().message().find("one of the ports 6000 to 6008") !=
        std::string::npos);
}

TEST_CASE("which port is meant, here and there") {
  const NamedPorts ports = {{"web", 6006}};
  struct Row {
    const char* text;
    int local;
    int port;
  };
  for (const Row& row :
       {Row{"6006", 0, 6006}, Row{"web", 0, 6006}, Row{"8080:web", 8080, 6006}, Row{"1:2", 1, 2}}) {
    const PortRequest request = parse_port_request(row.text, ports).value();
    CHECK(request.local == row.local);
    CHECK(request.port == row.port);
  }
  for (const char* text : {"", "0", "70000", "web:80", "80:", "-1", "a b"})
    CHECK(parse_port_request(text, ports).status().code() == Code::invalid_argument);
  CHECK(parse_port_request("wep", ports).status().message() ==
        "the task has no port 'wep'; did you mean 'web'? Its ports: web 6006");
}

TEST_CASE("status tells what a task that runs serves") {
  JobSight sight{.name = "digits", .stage = JobStage::running};
  sight.tasks = {
      {.name = "tb:0", .stage = TaskStage::running, .where = "n1", .ports = {{"web", 6006}}}};
  CHECK(render(sight).find("runs; serves web 6006\n") != std::string::npos);
}

}  // namespace
}  // namespace millrace
