// NodeMap: new ids of some nodes of a large graph, for passes that look at few of them. It takes
// memory, and time to make, for the nodes that are set and their neighbours by number; of the whole
// graph only eight bytes for each 256 nodes.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "millrace/op/endpoint.h"

namespace millrace {

class NodeMap {
 public:
  // For nodes from 0 to num_nodes - 1, all kNoNode.
  explicit NodeMap(size_t num_nodes) : pages_((num_nodes + kPage - 1) / kPage) {}

  NodeId operator[](NodeId node) const {
    const Page* page = pages_[node / kPage].get();
    return page ? (*page)[node % kPage] : kNoNode;
  }
  void set(NodeId node, NodeId value) {
    std::unique_ptr<Page>& page = pages_[node / kPage];
    if (!page) {
      page = std::make_unique<Page>();
      page->fill(kNoNode);
    }
    (*page)[node % kPage] = value;
  }

 private:
  static constexpr size_t kPage = 256;
  using Page = std::array<NodeId, kPage>;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace millrace
