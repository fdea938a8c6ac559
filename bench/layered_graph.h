// The graph that planning is measured with: layers of additions, a hundred nodes wide, on two tasks
// in turn. Every node is needed, none can be folded, and one edge in a hundred crosses.
#pragma once

#include <string>
#include <utility>

#include "millrace/wire/graph_def.h"

namespace millrace::bench {

// As the bytes of a GraphDef.
inline std::string layered_graph(int nodes) {
  constexpr int kWidth = 100;
  wire::GraphDef graph;
  const auto name = [](int i) { return "node_" + std::to_string(i); };
  for (int i = 0; i < nodes; ++i) {
    const int layer = i / kWidth;
    wire::NodeDef node;
    node.name = name(i);
    node.device = layer % 2 == 0 ? "/job:worker/task:0" : "/job:worker/task:1";
    if (layer == 0) {
      node.op = "Placeholder";
      node.attrs = {{"dtype", DType::f32}, {"shape", PartialShape::scalar()}};
    } else {
      node.op = "AddV2";
      node.inputs = {name(i - kWidth), name(i % kWidth == 0 ? i - kWidth : i - 1)};
      node.attrs = {{"T", DType::f32}};
      if (i % kWidth != 0) node.device = "/job:worker/task:0";
    }
    graph.nodes.push_back(std::move(node));
  }
  return wire::serialize_graph_def(graph);
}

}  // namespace millrace::bench
