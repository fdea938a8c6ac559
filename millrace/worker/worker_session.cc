#include "millrace/worker/worker_session.h"

#include <utility>

#include "millrace/base/shown.h"

namespace millrace {

WorkerSession::WorkerSession(Parts parts) : parts_(std::move(parts)) {
  for (size_t i = 0; i < parts_.devices.size(); ++i)
    kernels_.push_back(std::make_unique<KernelCache>());
}

std::shared_ptr<Runner> WorkerSession::bounded(Runner& pool, int threads, Pools& pools) {
  constexpr int kMost = 256;  // more is no bound, and each that is asked for is kept
  if (threads <= 0 || threads > kMost) return {std::shared_ptr<void>(), &pool};
  if (threads == 1) return nullptr;
  std::shared_ptr<BoundedRunner>& made = pools[threads];
  if (made == nullptr) made = std::make_shared<BoundedRunner>(pool, threads - 1);
  return made;
}

Result<std::shared_ptr<RegisteredGraph>> WorkerSession::register_graph(RegisterGraphRequest request,
                                                                       Runner& pool) {
  std::string handle;
  {
    MutexLock lock(mutex_);
    handle = str_cat(absl::Hex(++last_handle_, absl::kZeroPad16));
  }
  MR_ASSIGN(auto registered,
            RegisteredGraph::create(handle, std::move(request.graph), parts_.devices, kernels_,
                                    parts_.fetcher, names_, parts_.calls));
  if (request.keys != nullptr) registered->expect(std::move(request.keys));
  MutexLock lock(mutex_);
  registered->run_with({.intra_op = bounded(pool, request.threads.intra_op, intra_op_),
                        .inter_op = bounded(pool, request.threads.inter_op, inter_op_)});
  if (!closed_.ok()) return closed_;
  graphs_[handle] = registered;
  return registered;
}

Result<std::shared_ptr<RegisteredGraph>> WorkerSession::find_graph(std::string_view handle) {
  MutexLock lock(mutex_);
  const auto found = graphs_.find(to_absl(handle));
  if (found == graphs_.end()) return aborted("Graph handle is not found: ", shown(handle));
  return found->second;
}

Status WorkerSession::deregister_graph(std::string_view handle) {
  std::shared_ptr<RegisteredGraph> dropped;  // taking a large graph apart needs no lock
  MutexLock lock(mutex_);
  const auto found = graphs_.find(to_absl(handle));
  if (found == graphs_.end())
    return aborted("Graph handle is not found: ", shown(handle),
                   ". Possibly, this worker just restarted.");
  dropped = std::move(found->second);
  graphs_.erase(found);
  return {};
}

size_t WorkerSession::num_graphs() const {
  MutexLock lock(mutex_);
  return graphs_.size();
}

void WorkerSession::close(const Status& why) {
  runs_.close(why);
  absl::flat_hash_map<std::string, std::shared_ptr<RegisteredGraph>> dropped;
  MutexLock lock(mutex_);
  if (closed_.ok()) closed_ = why;
  dropped.swap(graphs_);
}

}  // namespace millrace
