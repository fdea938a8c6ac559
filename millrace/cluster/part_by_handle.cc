#include "millrace/cluster/part_by_handle.h"

#include <utility>

namespace millrace {
namespace {

class PartByHandle final : public RegisteredPart {
 public:
  PartByHandle(std::shared_ptr<WorkerService> worker, std::string session_handle,
               std::string graph_handle)
      : worker_(std::move(worker)),
        session_handle_(std::move(session_handle)),
        graph_handle_(std::move(graph_handle)) {}

  void run(PartRun run, Call call, Done<RunGraphReply> done) override {
    RunGraphRequest request{std::move(run)};
    request.session_handle = session_handle_;
    request.graph_handle = graph_handle_;
    worker_->run_graph(std::move(request), call, std::move(done));
  }
  void deregister(Call call, Done<void> done) override {
    worker_->deregister_graph({session_handle_, true, graph_handle_}, call, std::move(done));
  }

 private:
  const std::shared_ptr<WorkerService> worker_;
  const std::string session_handle_, graph_handle_;
};

}  // namespace

std::shared_ptr<RegisteredPart> part_by_handle(std::shared_ptr<WorkerService> worker,
                                               std::string session_handle,
                                               std::string graph_handle) {
  return std::make_shared<PartByHandle>(std::move(worker), std::move(session_handle),
                                        std::move(graph_handle));
}

}  // namespace millrace
