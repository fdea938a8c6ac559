#include "millrace/wire/protobuf_log.h"

#include <doctest/doctest.h>

#include "millrace/base/testing/test_host.h"
#include "millrace/wire/graph.pb.h"

namespace millrace::wire {
namespace {

void receive_bad_string() {
  tensorflow::NodeDef node;
  static_cast<void>(node.ParseFromString("\x0a\x01\xff"));
}

TEST_CASE("however many bad strings arrive, the log tells once in a while") {
  millrace::testing::TestHost process;
  const ProtobufLog log(process.host);
  for (int i = 0; i < 100; ++i) receive_bad_string();
  const auto lines = process.kept.lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("UTF-8") != std::string::npos);
  CHECK(process.metrics.value(Counter::log_lines_left_out) > 90);
}

TEST_CASE(
    "of two tasks in one process the one that came last hears of bad strings, while it is there") {
  millrace::testing::TestHost process;
  const Log ps = process.log.named("ps:0"), worker = process.log.named("worker:0");
  const Host ps_host = process.host.in_the_name_of(ps);
  const Host worker_host = process.host.in_the_name_of(worker);
  const ProtobufLog first(ps_host);
  {
    const ProtobufLog second(worker_host);
    receive_bad_string();
  }
  receive_bad_string();
  const auto lines = process.kept.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("worker:0: a message"));
  CHECK(lines[1].starts_with("ps:0: a message"));
}

}  // namespace
}  // namespace millrace::wire
