// Jobs of one process whose results go into a queue of a server beside.
#include "millrace/mapreduce/result_queue.h"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/api/ops/state.h"
#include "millrace/mapreduce/alone.h"
#include "millrace/mapreduce/beside_queue.h"
#include "millrace/mapreduce/run.h"
#include "millrace/mapreduce/testing/jobs_lab.h"
#include "millrace/session/server.h"

namespace millrace::mapreduce {
namespace {

using millrace::testing::ScratchDirectory;
using testing::names_in;
using testing::write_file;

// A server that has queues, and a folder for jobs.
struct BesideYard {
  BesideYard() {
    ServerOptions options;
    REQUIRE(options.cluster.add_job("read", {"localhost:0"}).ok());
    options.job = "read";
    runtime = Runtime::create({.threads = 2});
    server = Server::start(std::move(options), runtime).value();
    queue = {.name = "counts", .target = server->target()};
  }

  Job job() const {
    return {.input = scratch.path("text"),
            .map = [](std::string_view line, Pairs& pairs) -> Status {
              if (line == "bad") return invalid("not this one");
              for (const std::string_view word : words_of(line)) pairs.add(word, 1);
              return {};
            },
            .reduce = sum(),
            .output = queue_output(scratch.path("out"), queue),
            .say = nullptr};
  }
  Result<Made> run(const Job& job) const {
    MR_ASSIGN(const auto beside, BesideQueue::create(runtime, queue));
    return run_alone(job, runtime->host(), 2, scratch.path("spills"), beside.get());
  }
  // All elements, "key=value", to the end of the queue; or the error.
  std::string read() const {
    GraphBuilder graph(runtime->ops());
    const std::vector<DType> types(static_cast<size_t>(queue.num_components()), DType::string);
    const auto taken = ops::queue_dequeue_v2(graph.root(), queue.build(graph.root()), types);
    const auto session = Session::create(*server).value();
    REQUIRE(session->extend(graph).ok());
    std::vector<std::string> fetches;
    for (const millrace::Output& each : taken) fetches.push_back(each.name());
    std::string all;
    for (;;) {
      const auto element = session->run({}, fetches);
      if (element.status().code() == Code::out_of_range) return all;
      if (!element.ok()) return element.status().to_string();
      if (!all.empty()) all += " ";
      for (const Tensor& each : *element)
        str_append(&all, &each == &element->front() ? "" : "=", each.item<std::string>());
    }
  }

  ScratchDirectory scratch;
  std::shared_ptr<Runtime> runtime;
  std::unique_ptr<Server> server;
  ResultQueue queue;
};

TEST_CASE("results go into a queue in the order of keys, and it is closed") {
  const BesideYard yard;
  write_file(yard.scratch.path("text"), "to be or not to be\n");
  const Result<Made> made = yard.run(yard.job());
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK(yard.read() == "be=2 not=1 or=1 to=2");
  CHECK(made->files.empty());
  CHECK(made->is_published);
  CHECK(names_in(yard.scratch.path("out")) == std::set<std::string>{"_counters.json"});
  CHECK(names_in(yard.scratch.path("")) == std::set<std::string>{"out", "spills", "text"});
}

TEST_CASE("an element may be one string of the program's own, and wait for who reads") {
  BesideYard yard;
  yard.queue.capacity = 1;
  yard.queue.element = [](std::string* text, std::string_view key, std::string_view value) {
    str_append(text, value, " x ", key);
  };
  std::string words, expected;
  for (int i = 100; i < 300; ++i) {
    str_append(&words, i, " ");
    str_append(&expected, i == 100 ? "" : " ", "1 x ", i);
  }
  write_file(yard.scratch.path("text"), words);
  std::string read;
  std::thread reader([&] { read = yard.read(); });
  const Result<Made> made = yard.run(yard.job());
  reader.join();
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK(read == expected);
}

TEST_CASE("a job that fails leaves its queue closed, with nothing in it") {
  const BesideYard yard;
  write_file(yard.scratch.path("text"), "fine\nbad\n");
  CHECK(yard.run(yard.job()).status().message().find("not this one") != std::string::npos);
  CHECK(yard.read().empty());
  CHECK_FALSE(std::filesystem::exists(yard.scratch.path("out")));
}

TEST_CASE("a job whose output is there already leaves its queue closed, too") {
  const BesideYard yard;
  write_file(yard.scratch.path("text"), "a b\n");
  write_file(yard.scratch.path("out/part"), "of another job");
  CHECK(yard.run(yard.job()).status().code() == Code::already_exists);
  CHECK(yard.read().empty());
}

TEST_CASE("a queue in which something is, or that is closed, is left to whoever has it") {
  BesideYard yard;
  write_file(yard.scratch.path("text"), "a b\n");
  REQUIRE(yard.run(yard.job()).ok());
  Job again = yard.job();
  again.output = queue_output(yard.scratch.path("again"), yard.queue);
  CHECK(yard.run(again).status().message().find("is closed already: name another") !=
        std::string::npos);
  CHECK(yard.read() == "a=1 b=1");
}

TEST_CASE("a job that was killed while it put in is not made again unasked") {
  const BesideYard yard;
  write_file(yard.scratch.path("text"), "a b\n");
  write_file(yard.scratch.path("out.unfinished-dead/publishing"), "");
  CHECK(yard.run(yard.job())
            .status()
            .message()
            .find("out.unfinished-dead is its folder; make the queue anew and remove that") !=
        std::string::npos);
}

TEST_CASE("a queue that makes no sense, or is where it can't be, is refused with words") {
  const auto refused = [](const ResultQueue& queue) { return queue.check().message(); };
  CHECK(refused({.name = "q", .task = "/job:read/task:0"}) == "");
  CHECK(refused({.task = "/job:read/task:0"}).starts_with("the queue of results has no name"));
  CHECK(refused({.name = "q"}).starts_with("the queue 'q' needs one of `task`"));
  CHECK(refused({.name = "q", .task = "/job:read/task:0", .target = "grpc://x:1"})
            .starts_with("the queue 'q' needs one of `task`"));
  CHECK(refused({.name = "q", .task = "/job:read"}) ==
        "the queue 'q' of /job:read: say one task, such as /job:read/task:0");
  CHECK(refused({.name = "q", .target = "grpc://x:1", .capacity = 0}).starts_with("capacity is 0"));
  ClusterSpec cluster;
  REQUIRE(cluster.add_job("files", {"a:1"}).ok());
  REQUIRE(cluster.add_job("worker", {"a:2"}).ok());
  REQUIRE(cluster.add_job("read", {"a:3"}).ok());
  const auto placed = [&](const ResultQueue& queue) {
    return queue.check_place(cluster).message();
  };
  CHECK(placed({.name = "q", .task = "/job:read/task:0"}) == "");
  CHECK(placed({.name = "q", .task = "/job:read/task:1"}).ends_with("has no such task"));
  CHECK(placed({.name = "q", .task = "/job:worker/task:0"}).ends_with("on the task that reads"));
  CHECK(placed({.name = "q", .task = "/job:files/task:0"}).ends_with("on the task that reads"));
  CHECK(placed({.name = "q", .target = "grpc://x:1"}).ends_with("that reads, not `target`"));
  CHECK(ResultQueue{.name = "q", .task = "/job:read/task:0"}.check_place({}).message().ends_with(
      "this process is in none: say `target`"));
}

}  // namespace
}  // namespace millrace::mapreduce
