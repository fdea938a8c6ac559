// StepGraph: what one kind of step runs, cut out of a session's graph.
//
// A step is told by what it feeds, fetches and targets. Each fed value comes in through a _Recv
// node and each fetched one goes out through a _Send node, so that from here on a step is a graph
// like any other: passes rewrite it without knowing about feeds.
//
//   fed `x:k`      node `_recv_x_k`, client_terminated, on every task that consumes the value: on
//                  the device of x if its task is among them, else on that of the first consumer
//                  there. Further tasks' nodes are `_recv_x_k.1` and so on.
//   connected x:k  whoever reads it reads the other tensor; there is no node for it.
//   fetched `y:k`  node `_send_y_k`, client_terminated, on the device of y.
//   key            device;incarnation;device;x:k;0:0, with that device on both sides: who starts
//                  the step hands values straight to each task, and takes them straight from it.
#pragma once

#include <string>
#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/graph/tensor_connection.h"
#include "millrace/plan/device_set.h"

namespace millrace {

struct StepSignature {
  std::vector<std::string> feeds;    // "x:0" or "x", each once
  std::vector<std::string> fetches;  // likewise; may repeat
  std::vector<std::string> targets;  // names of nodes to run for their effect
  std::vector<TensorConnection> connections = {};
};

// One way of a client's value into or out of a step.
struct ClientTransfer {
  int index = 0;       // in StepSignature::feeds or ::fetches
  std::string node;    // the _Recv or _Send
  std::string device;  // full name
  std::string key;     // the whole rendezvous key
};

struct StepGraph {
  Graph graph;
  // What the step is for, the _Sends and targets: they and all they depend on are kept.
  std::vector<NodeId> roots;
  // A feed that nothing consumes has none, one that several tasks consume has several.
  std::vector<ClientTransfer> feeds;
  std::vector<ClientTransfer> fetches;  // one for each fetch, in order
};

// Cuts a step out of a valid and placed graph; keeps what a fetch or target needs through data and
// control edges that are not fed. Costs time in proportion to what is kept. Errors, in TensorFlow's
// words: INVALID_ARGUMENT "Must specify at least one target to fetch or execute.", something fed
// twice, fed and fetched (connected to another tensor, likewise), or an output that a node does not
// have, or a connection from what is unknown, of another type, or that would make a cycle;
// NOT_FOUND for unknown names.
Result<StepGraph> cut_step(const Graph& whole, const DeviceSet& devices,
                           const StepSignature& signature);

// Drops what no root needs any more. For passes.
void drop_unneeded(StepGraph& step);

}  // namespace millrace
