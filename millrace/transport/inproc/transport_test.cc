#include "millrace/transport/inproc/transport.h"

#include <doctest/doctest.h>

#include "millrace/cluster/testing/fake_services.h"
#include "millrace/op/registry.h"

namespace millrace {
namespace {

using testing::FakeMaster;
using testing::FakeWorker;

const TaskName kTask{"worker", 0, 0};
const OpRegistry kNoOps;

Services new_services() {
  return {kNoOps, std::make_shared<FakeMaster>(), std::make_shared<FakeWorker>()};
}

TEST_CASE("a task of this process is found by pointer until it stops, and then another may come") {
  InprocTransport transport;
  const auto peers = transport.peers({});
  const Services old_task = new_services(), new_task = new_services();
  auto serving = transport.serve(old_task, {.address = "here:1"});
  REQUIRE(serving.ok());
  CHECK(*transport.dial("inproc://here:1", {}) == old_task.master);
  CHECK(*peers->worker(kTask, "here:1") == old_task.worker);

  CHECK(transport.serve(new_task, {.address = "here:1"}).status() ==
        error(Code::already_exists, "a task of this process is served at here:1 already"));
  CHECK((*serving)->stop(aborted("enough"), {}).ok());
  CHECK(peers->worker(kTask, "here:1").status() ==
        not_found("task ", kTask.to_string(), " at here:1 is not in this process"));
  CHECK(transport.dial("inproc://here:1", {}).status() ==
        not_found("no task of this process is served at 'inproc://here:1'"));

  auto serving_again = transport.serve(new_task, {.address = "here:1"});
  REQUIRE(serving_again.ok());
  // The end of the old one is not the end of the new one.
  CHECK((*serving)->stop({}, {}).ok());
  serving->reset();
  CHECK(*peers->worker(kTask, "here:1") == new_task.worker);
}

TEST_CASE("whoever has found a task keeps its services, and the transport may go first") {
  auto transport = std::make_unique<InprocTransport>();
  std::weak_ptr<MasterService> master;
  std::unique_ptr<Serving> serving;
  {
    Services services = new_services();
    master = services.master;
    serving = transport->serve(std::move(services), {.address = "here:1"}).value();
  }
  auto found = transport->dial("inproc://here:1", {}).value();
  transport.reset();
  serving.reset();
  CHECK_FALSE(master.expired());
  found.reset();
  CHECK(master.expired());
}

TEST_CASE("in-process transports know nothing of each other") {
  InprocTransport one, other;
  const auto serving = one.serve(new_services(), {.address = "here:1"});
  CHECK(serving.ok());
  CHECK(other.dial("inproc://here:1", {}).status().code() == Code::not_found);
}

TEST_CASE("addresses and targets of another form are refused") {
  InprocTransport transport;
  CHECK(transport.dial("grpc://here:1", {}).status() ==
        invalid("the target 'grpc://here:1' has not the form inproc://host:port"));
  CHECK(transport.dial("inproc://here", {}).status().code() == Code::invalid_argument);
  CHECK(transport.peers({})->worker(kTask, "x").status().code() == Code::invalid_argument);
  CHECK(transport.serve(new_services(), {.address = ""}).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
