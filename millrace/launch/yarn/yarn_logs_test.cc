#include "millrace/launch/yarn/yarn_logs.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a log is had of what a NodeManager shows, whatever stands in it") {
  const std::string log = "one\nEnd of LogType:stdout.\nLogContents:\ntwo\n";
  const std::string page =
      "Container: container_1_0001_01_000001 on n1_45454\nLogAggregationType: LOCAL\n"
      "==========\nLogType:launcher.log\nLogLastModifiedTime:Mon Nov 30 11:00:00 +0000 2026\n"
      "LogLength:" +
      std::to_string(log.size()) + "\nLogContents:\n" + log +
      "End of LogType:launcher.log.\n*****\n\n";
  CHECK(log_in_page(page).value() == log);
  CHECK(log_in_page("End of LogType:journal.\n****\n\n").value().empty());
  CHECK(log_in_page("words of an older one\n").value() == "words of an older one\n");
  CHECK(log_in_page(page.substr(0, page.find("two"))).status().code() == Code::data_loss);
}

}  // namespace
}  // namespace millrace
