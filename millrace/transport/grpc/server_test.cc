#include "millrace/transport/grpc/server.h"

#include <atomic>
#include <set>
#include <thread>

#include "millrace/transport/grpc/test_task.h"

namespace millrace {
namespace {

using testing::Answered;
using testing::TestTask;

TEST_CASE("a step goes to the master and its tensors come back") {
  TestTask task;
  task.master.on_run_step = [](RunStepRequest request, const Call&, Done<RunStepReply> done) {
    RunStepReply reply;
    reply.tensors.push_back(request.feeds[0].tensor);
    done(std::move(reply));
  };
  const auto master = task.master_channel();
  Answered<RunStepReply> answered;
  RunStepRequest request;
  request.feeds = {{"x:0", Tensor::scalar(3.0f)}};
  request.fetches = {"y:0"};
  master->run_step(std::move(request), {.waiting = true}, answered.done());
  const Result<RunStepReply> reply = answered.wait();
  REQUIRE_MESSAGE(reply.ok(), reply.status().to_string());
  CHECK(reply->tensors == std::vector<Tensor>{Tensor::scalar(3.0f)});
}

TEST_CASE("devices are reported with their incarnations") {
  TestTask task;
  task.worker.on_get_status = [](const Call&, Done<GetStatusReply> done) {
    done(GetStatusReply{{{.name = "/job:worker/replica:0/task:1/device:CPU:0",
                          .type = "CPU",
                          .memory_limit = 1 << 20,
                          .incarnation = 0xfedcba9876543210,
                          .description = "a CPU"}}});
  };
  Answered<GetStatusReply> answered;
  task.worker_channel()->get_status(WhenDown::fail, {}, answered.done());
  const Result<GetStatusReply> reply = answered.wait();
  REQUIRE_MESSAGE(reply.ok(), reply.status().to_string());
  REQUIRE(reply->devices.size() == 1);
  CHECK(reply->devices[0].incarnation == 0xfedcba9876543210);
  CHECK(reply->devices[0].description == "a CPU");
}

}  // namespace
}  // namespace millrace
