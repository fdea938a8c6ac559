#include "millrace/session/launched_task.h"

#include <map>

#include <doctest/doctest.h>

namespace millrace {
namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

constexpr const char* kMap1 =
    R"({"cluster": {"map": ["localhost:2224", "far.example.org:2225"]}, "task": {"type": "map", "index": 1}})";
constexpr const char* kMap0 =
    R"({"cluster": {"map": ["localhost:2224", "far.example.org:2225"]}, "task": {"type": "map", "index": 0}})";

TEST_CASE("TF_CONFIG tells who the task is; a loopback address is not opened to the world") {
  const ServerOptions far = launched_task(environment({{"TF_CONFIG", kMap1}})).value();
  CHECK(far.job == "map");
  CHECK(far.task == 1);
  CHECK(far.bind_host.empty());
  CHECK(!far.listen_fd);
  CHECK(launched_task(environment({{"TF_CONFIG", kMap0}})).value().bind_host == "localhost");
}

TEST_CASE("the launcher's socket is used by the task that it was made for, and by no other") {
  const auto with_socket = [](const char* config) {
    return launched_task(environment({{"TF_CONFIG", config},
                                      {"MILLRACE_LISTEN_FD", "3"},
                                      {"MILLRACE_LISTEN_ADDRESS", "localhost:2224"}}))
        .value();
  };
  CHECK(with_socket(kMap0).listen_fd == 3);
  CHECK(!with_socket(kMap1).listen_fd);
}

TEST_CASE("the only task of a cluster needs not be told which it is") {
  const auto alone = launched_task(
      environment({{"TF_CONFIG", R"({"cluster": {"solo": {"3": "localhost:2224"}}})"}}));
  REQUIRE_MESSAGE(alone.ok(), alone.status().to_string());
  CHECK(alone->job == "solo");
  CHECK(alone->task == 3);
}

TEST_CASE("a process that nobody told who it is gets told how") {
  const Status status = launched_task(environment({})).status();
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().find("millrace run") != std::string::npos);
}

}  // namespace
}  // namespace millrace
