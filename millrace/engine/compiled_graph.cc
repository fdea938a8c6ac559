#include "millrace/engine/compiled_graph.h"

#include "millrace/engine/compiled_layout.h"

namespace millrace {

Result<std::shared_ptr<Kernel>> KernelCache::find_or_create(
    const std::string& key, const std::function<Result<std::unique_ptr<Kernel>>()>& create) {
  {
    MutexLock lock(mutex_);
    if (auto found = kernels_.find(key); found != kernels_.end()) return found->second;
  }
  MR_ASSIGN(std::shared_ptr<Kernel> made, create());
  MutexLock lock(mutex_);
  return kernels_.try_emplace(key, std::move(made)).first->second;
}

CompiledGraph::CompiledGraph(std::unique_ptr<const Layout> layout) : layout_(std::move(layout)) {}
CompiledGraph::~CompiledGraph() = default;

const std::vector<std::string>& CompiledGraph::feed_keys() const { return layout_->feed_keys; }
const std::vector<std::string>& CompiledGraph::fetch_keys() const { return layout_->fetch_keys; }
bool CompiledGraph::uses_rendezvous() const { return layout_->uses_rendezvous; }
bool CompiledGraph::has_frames() const { return layout_->frames.size() > 1; }
size_t CompiledGraph::size() const { return layout_->nodes.size(); }

}  // namespace millrace
