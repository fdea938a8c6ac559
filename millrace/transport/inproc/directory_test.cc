#include "millrace/transport/inproc/directory.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

// Answers nothing; the directory only hands it out.
struct Silent final : WorkerService {
  void get_status(WhenDown, Call, Done<GetStatusReply>) override {}
  void create_worker_session(CreateWorkerSessionRequest, Call, Done<void>) override {}
  void delete_worker_session(DeleteWorkerSessionRequest, Call, Done<void>) override {}
  void register_graph(RegisterGraphRequest, Call, Done<RegisterGraphReply>) override {}
  void deregister_graph(DeregisterGraphRequest, Call, Done<void>) override {}
  void run_graph(RunGraphRequest, Call, Done<RunGraphReply>) override {}
  void cleanup_graph(CleanupGraphRequest, Call, Done<void>) override {}
  void cleanup_all(CleanupAllRequest, Call, Done<void>) override {}
  void recv_tensor(RecvTensorRequest, Call, Done<RecvTensorReply>) override {}
};

const TaskName kFirst{"worker", 0, 0}, kSecond{"worker", 0, 1};

TEST_CASE("a task of this process is found until it is removed, and a new one replaces it") {
  InprocDirectory directory;
  const auto old_worker = std::make_shared<Silent>(), new_worker = std::make_shared<Silent>();
  directory.add(kFirst, old_worker);
  CHECK(*directory.worker(kFirst, "anywhere:1") == old_worker);
  directory.add(kFirst, new_worker);
  CHECK(*directory.worker(kFirst, "anywhere:1") == new_worker);
  directory.remove(kFirst);
  directory.remove(kFirst);
  const auto gone = directory.worker(kFirst, "anywhere:1");
  CHECK(gone.status().code() == Code::not_found);
  CHECK(gone.status().message().find("/job:worker/replica:0/task:0") != std::string::npos);
}

TEST_CASE("in a chain the first directory that knows a task wins") {
  InprocDirectory near, far;
  const auto here = std::make_shared<Silent>(), there = std::make_shared<Silent>();
  near.add(kFirst, here);
  far.add(kFirst, there);
  far.add(kSecond, there);
  DirectoryChain chain({&near, &far});
  CHECK(*chain.worker(kFirst, "a:1") == here);
  CHECK(*chain.worker(kSecond, "a:1") == there);
  CHECK(chain.worker({"ps", 0, 0}, "a:1").status().code() == Code::not_found);
}

struct Broken final : WorkerDirectory {
  Result<std::shared_ptr<WorkerService>> worker(const TaskName&,
                                                std::string_view address) override {
    return invalid("'", address, "' is no address");
  }
};

TEST_CASE("a chain tells an error that is not about who is where") {
  InprocDirectory near;
  Broken broken;
  DirectoryChain chain({&near, &broken});
  CHECK(chain.worker(kFirst, "x").status() == invalid("'x' is no address"));
}

}  // namespace
}  // namespace millrace
