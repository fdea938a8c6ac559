// CompiledGraph: one device's partition, made ready to run many times.
//
// Kernels are made, edges are resolved to array indices, and the number of inputs that each node
// waits for is known, so that a step does no lookup and no planning. What a step reads never
// changes: any number of them run on it at once. It keeps its kernels, of which stateful ones are
// shared through KernelCache with the other graphs of the session, and the states of steps that
// have ended, for the next ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/mutex.h"
#include "millrace/base/result.h"
#include "millrace/graph/graph.h"
#include "millrace/op/function_space.h"
#include "millrace/op/kernel.h"

namespace millrace {

// Stateful kernels of one session on one device: a queue or a random op keeps its state across the
// graphs of a session. Thread-safe.
class KernelCache {
 public:
  // `key` names the node, its op and its types: a node that comes back as something else gets a
  // kernel of its own.
  Result<std::shared_ptr<Kernel>> find_or_create(
      const std::string& key, const std::function<Result<std::unique_ptr<Kernel>>()>& create);

 private:
  Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Kernel>> kernels_ MR_GUARDED_BY(mutex_);
};

// How client-terminated transfers (feeds, fetches) are run: `_Recv` and `_Send` nodes with
// client_terminated whose two devices are the same.
enum class ClientTransfers : uint8_t {
  by_slot,        // StepContext::feeds and ::fetches, resolved once: the normal case
  by_rendezvous,  // through the step's rendezvous: partial runs, whose feeds come one by one
};

// Kernels of transfers for whoever compiles a graph and knows more about them than their ops do.
// Null: the op's own.
using MakeTransfer = std::function<std::unique_ptr<Kernel>(const Node&)>;

class CompiledGraph {
 public:
  // `graph` holds the nodes of one device; `make_transfer`, if there is one, is asked about those
  // that go through the rendezvous. Errors: INVALID_ARGUMENT from a kernel's construction,
  // with the node's name, or for a cycle or a loop that is not well formed; UNIMPLEMENTED for an op
  // without a kernel here. `functions` is for kernels that call some; null: they have none to call.
  static Result<std::shared_ptr<const CompiledGraph>> compile(
      const Graph& graph, const DeviceContext& device, KernelCache& kernels,
      ClientTransfers transfers, const MakeTransfer& make_transfer = {},
      const std::shared_ptr<FunctionSpace>& functions = nullptr);
  ~CompiledGraph();

  // The rendezvous keys of feeds and fetches in order of slots; empty with by_rendezvous. Two nodes
  // that take the same feed share its slot, and so do two that give the same fetch.
  const std::vector<std::string>& feed_keys() const;
  const std::vector<std::string>& fetch_keys() const;
  // True if some transfer goes through the rendezvous of the step.
  bool uses_rendezvous() const;
  bool has_frames() const;  // contains a loop
  size_t size() const;

  struct Layout;  // the arrays; compiled_layout.h, for the executor only
  const Layout& layout() const { return *layout_; }

 private:
  explicit CompiledGraph(std::unique_ptr<const Layout> layout);
  std::unique_ptr<const Layout> layout_;
};

}  // namespace millrace
