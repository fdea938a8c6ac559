#include "millrace/launch/yarn/errand_lines.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a wish is heard as it was said") {
  const ContainerWanted wanted{
      .wish = {.priority = 2,
               .megabytes = 64,
               .cores = 3,
               .gpus = 4,
               .label = "fast",
               .node = "n2",
               .rack = "/r"},
      .launch = {.command = "exec sh 'a b'", .environment = {{"TOKEN", "12"}}}};
  const std::string line = to_line(ErrandSays(wanted));
  CHECK(line.ends_with("}\n"));
  const auto heard = std::get<ContainerWanted>(parse_errand(line).value());
  CHECK(heard.wish == wanted.wish);
  CHECK(heard.launch.command == wanted.launch.command);
  CHECK(heard.launch.environment == wanted.launch.environment);
  const ErrandSays end = parse_errand(to_line(ErrandSays(ContainerToEnd{}))).value();
  CHECK(std::holds_alternative<ContainerToEnd>(end));
}

TEST_CASE("what the master says is heard as it was said") {
  const auto runs = std::get<ContainerRuns>(
      parse_master(to_line(MasterSays(ContainerRuns{"container_1", "n1"}))).value());
  CHECK(runs.container == "container_1");
  CHECK(runs.node == "n1");
  const ContainerEnd end{.code = 255, .words = "taken away: \"for\" good"};
  CHECK(std::get<ContainerEnd>(parse_master(to_line(MasterSays(end))).value()) == end);
}

TEST_CASE("anything else is refused") {
  for (const char* line :
       {"", "[]", "{}", "nonsense", R"({"want":{}})", R"({"want":1})", R"({"runs":1,"on":2})",
        R"({"code":"3"})",
        (R"({"want":{"priority":1,"memory":"a","cores":1,"gpus":0,"label":"","node":"","rack":""},)"
         R"("command":"c","environment":{}})")}) {
    CHECK(parse_errand(line).status().code() == Code::invalid_argument);
    CHECK(parse_master(line).status().code() == Code::invalid_argument);
  }
}

}  // namespace
}  // namespace millrace
