#include "millrace/base/log.h"

#include "doctest/doctest.h"

#include "millrace/base/testing/test_host.h"

namespace millrace {
namespace {

TEST_CASE("two tasks of one process write to one sink, each in its own name") {
  testing::TestHost process;
  const Log ps = process.log.named("ps:0"), worker = process.log.named("worker:1");
  ps.info("listens on port ", 2222);
  worker.warning("waits");
  process.log.error("is no task");
  CHECK(process.kept.lines() ==
        std::vector<std::string>{"ps:0: listens on port 2222", "worker:1: waits", "is no task"});
}

TEST_CASE("a line that the sink does not take is not even put together") {
  struct Deaf final : LogSink {
    bool takes(LogLevel level) const override { return level >= LogLevel::warning; }
    void write(LogLevel, std::string_view, std::string_view text) override { said += text; }
    std::string said;
  };
  Deaf sink;
  const Log log(sink);
  log.info("quiet");
  log.warning("loud");
  CHECK(sink.said == "loud");
}

}  // namespace
}  // namespace millrace
