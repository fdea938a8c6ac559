// The arrays of a CompiledGraph. Private to this room: compile.cc writes them, executors read them.
//
// Nodes are numbered anew: those of one loop frame stand together, in topological order, so that an
// iteration of a frame is a slice of every array. Frame 0 is the root, outside of all loops.
//
//   node n:  inputs  first_input  .. + num_inputs    one Value each, in the step's state
//            edges   first_edge   .. + num_edges     where its outputs go; control edges last
//            outputs output_types .. + num_outputs   into a scratch array until they are delivered
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/idle_pool.h"
#include "millrace/engine/arrivals.h"
#include "millrace/engine/compiled_graph.h"

namespace millrace {

struct CompiledGraph::Layout {
  static constexpr uint32_t kControl = ~uint32_t{0};

  // One consumer of one output, or (slot == kControl) of the fact that the node has run.
  struct Edge {
    uint32_t consumer;
    uint32_t slot;  // of all inputs, not of the consumer's
    uint32_t output : 30;
    uint32_t is_last : 1;  // the last consumer of this output may take it
    uint32_t to_merge : 1;
  };

  enum Flag : uint8_t {
    kAsync = 1,
    kTransfer = 2,      // runs on dead inputs, too, and carries death along
    kIgnoresDeath = 4,  // runs as if its dead inputs were alive
    kReadsRefs = 8,     // some of its inputs come from references
    kMayBeUninitialized = 16,
    kLoopConstant = 32,  // an Enter whose value is there in every iteration
    kReadsLast = 64,     // a fetch of a reference: it tells what the step leaves there
    kIsQuick = 128,      // a QuickKernel
  };

  // What the executor needs to run a node: one cache line.
  struct Node {
    Kernel* kernel = nullptr;
    std::string_view name;
    const ArgType* output_types = nullptr;
    uint32_t first_input = 0;
    uint32_t num_inputs = 0;
    uint32_t num_outputs = 0;
    uint32_t first_edge = 0;
    uint32_t num_edges = 0;
    uint32_t inner_frame = 0;  // of an Enter: the frame that it leads into
    Role role = Role::ordinary;
    Cost cost = Cost::cheap;
    uint8_t flags = 0;
    // How long it took of late, in ticks (node_run.h); 0 if nobody has looked. Of all steps, which
    // may write it at once.
    mutable uint32_t ticks = 0;
  };

  struct Frame {
    uint32_t first_node = 0, num_nodes = 0;
    uint32_t first_input = 0, num_inputs = 0;
    uint32_t parent = 0;
    uint32_t num_enters = 0;  // Enter nodes that lead into it
    uint32_t parallel_iterations = 1;
    uint64_t name_hash = 0;
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Arrivals> arrivals;  // by node, before anything has arrived
  std::vector<uint32_t> sources;   // nodes of the root frame without inputs
  std::vector<Frame> frames;
  size_t num_inputs = 0;
  size_t most_outputs = 0;

  // By input; only read where kReadsRefs is set or an error is told.
  std::vector<uint32_t> producers;
  std::vector<bool> expects_ref;

  std::vector<const OpDef*> ops;  // by node; for traces
  // The node whose value a transfer moves, by the transfer's number: what errors tell, since nobody
  // outside knows the nodes of a plan.
  absl::flat_hash_map<uint32_t, std::string> moved;
  std::vector<std::string> feed_keys, fetch_keys;
  bool uses_rendezvous = false;

  // What the arrays above point into.
  std::vector<std::shared_ptr<Kernel>> kernels;
  std::vector<ArgType> output_types;
  std::string names;

  mutable IdlePool idle_steps;  // step states

  std::span<const Edge> edges_of(const Node& node) const {
    return {edges.data() + node.first_edge, node.num_edges};
  }
};

static_assert(sizeof(CompiledGraph::Layout::Node) <= 64);

}  // namespace millrace
