// RegisteredGraph: what a master registered: one compiled graph per device that it uses, and where
// feeds and fetches go. Immutable but for what is made on demand; any thread may call, any number
// of steps run it at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/idle_pool.h"
#include "millrace/cluster/messages.h"
#include "millrace/engine/compiled_graph.h"
#include "millrace/plan/fresh_names.h"
#include "millrace/worker/graph_functions.h"
#include "millrace/worker/local_devices.h"
#include "millrace/worker/peer_fetcher.h"
#include "millrace/worker/slot_transfer.h"

namespace millrace {

// The stateful kernels of one session, by device.
using SessionKernels = std::vector<std::unique_ptr<KernelCache>>;

class RegisteredGraph {
 public:
  // The part of the graph on one device.
  struct Piece {
    size_t device = 0;  // in the session's LocalDevices
    std::shared_ptr<const Graph> graph;
    std::shared_ptr<const CompiledGraph> compiled;  // feeds and fetches by slot
    std::shared_ptr<FunctionSpace> functions;       // null: its kernels call none
    size_t first_feed = 0;                          // of the graph's feeds, those of this piece
    size_t first_fetch = 0;
  };

  // Where the values of a request go and come from: for each of its keys the number of the graph's
  // feed or fetch, or kElsewhere for a key that is neither.
  struct KeyMap {
    static constexpr uint32_t kElsewhere = ~uint32_t{0};
    std::shared_ptr<const StepKeys> keys;
    std::vector<uint32_t> send, receive;
    bool send_in_order = false;  // send is 0, 1, 2 … up to the last feed
    bool receive_in_order = false;
    bool has_elsewhere = false;
  };

  // Every node must be on one of `devices`, by its placed or else its requested device. `names` is
  // the session's. Errors: INVALID_ARGUMENT "<device> unknown device."; those of split_by_device
  // and CompiledGraph::compile.
  static Result<std::shared_ptr<RegisteredGraph>> create(
      std::string handle, std::shared_ptr<const Graph> graph, const LocalDevices& devices,
      const SessionKernels& kernels, const std::shared_ptr<const PeerFetcher>& peers,
      FreshNames& names, const CallSite& calls);

  const std::string& handle() const { return handle_; }
  std::span<const Piece> pieces() const { return pieces_; }
  size_t num_feeds() const { return num_feeds_; }
  size_t num_fetches() const { return num_fetches_; }
  // Which feed is the lease that a run holds before its pieces start (lease_feed.h), if one is.
  std::optional<size_t> lease_feed() const { return lease_feed_; }
  // The keys of what its pieces hand to each other by number (StepContext::slots).
  const std::vector<std::string>& slot_keys() const { return slot_keys_; }
  // True if a piece sends or receives by key; to or from another task.
  bool uses_rendezvous() const { return uses_rendezvous_; }
  bool meets_peers() const { return meets_peers_; }

  // Says which keys most runs bring. Before the first of them.
  void expect(std::shared_ptr<const StepKeys> keys) {
    expected_ = std::make_shared<const KeyMap>(make_key_map(std::move(keys)));
  }
  // With whom its kernels share their work, and where else than on a step's own thread they may
  // run; null: with nobody, nowhere. Said before the first run.
  struct Pools {
    std::shared_ptr<Runner> intra_op, inter_op;
  };
  void run_with(Pools pools) { pools_ = std::move(pools); }
  const Pools& pools() const { return pools_; }
  // Runs of it that have ended, for the next ones.
  IdlePool& idle_runs() { return idle_runs_; }
  // The map for `keys`, which steps of one plan share. Nothing to do for those that are expected,
  // cheap for those of the last call.
  std::shared_ptr<const KeyMap> map_keys(const std::shared_ptr<const StepKeys>& keys);

  // The pieces for a partial run: feeds and fetches through the rendezvous. Compiled on first use.
  Result<std::vector<std::shared_ptr<const CompiledGraph>>> for_partial_run(
      const LocalDevices& devices, const SessionKernels& kernels,
      const std::shared_ptr<const PeerFetcher>& peers);

 private:
  explicit RegisteredGraph(std::string handle) : handle_(std::move(handle)) {}
  // `reduced`: what is compiled of the piece; null: all of it.
  Status add_piece(size_t device, std::shared_ptr<const Graph> graph,
                   std::shared_ptr<const Graph> reduced, const LocalDevices& devices,
                   const SessionKernels& kernels, const std::shared_ptr<const PeerFetcher>& peers,
                   const CallSite& calls, const SlotNumbers& slots);
  KeyMap make_key_map(std::shared_ptr<const StepKeys> keys) const;

  const std::string handle_;
  std::vector<Piece> pieces_;  // constant once created, like what follows
  size_t num_feeds_ = 0, num_fetches_ = 0;
  std::optional<size_t> lease_feed_;
  std::vector<std::string> slot_keys_;
  bool uses_rendezvous_ = false, meets_peers_ = false;
  absl::flat_hash_map<std::string, uint32_t> feed_of_key_, fetch_of_key_;
  std::shared_ptr<const KeyMap> expected_;  // null: not known
  Pools pools_;

  IdlePool idle_runs_;
  Mutex mutex_;
  std::shared_ptr<const KeyMap> last_map_ MR_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const CompiledGraph>> partial_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
