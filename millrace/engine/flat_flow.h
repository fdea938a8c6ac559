// FlatFlow: the dataflow of a graph without loops. Private to this room; see step_driver.h.
//
// Every node has its turn exactly once, so all of the state is arrays of fixed sizes.
#pragma once

#include <vector>

#include "millrace/engine/node_run.h"
#include "millrace/engine/ready_set.h"

namespace millrace {

class FlatFlow {
 public:
  using Layout = CompiledGraph::Layout;
  static constexpr bool kMayRunForEver = false;
  using Ready = uint32_t;  // the node's number

  explicit FlatFlow(const Layout& layout)
      : layout_(layout),
        arrivals_(layout.arrivals),
        values_(layout.num_inputs),
        ready_(layout.nodes.size()) {}

  void begin();
  bool pop(Ready* ready) {
    if (!ready_.take_lowest(ready)) return false;
    ++turns_;
    return true;
  }
  const Layout::Node& node(Ready ready) const { return layout_.nodes[ready]; }
  bool is_dead(Ready ready) const { return arrivals_[ready].is_dead(); }
  Value* inputs(Ready ready) { return values_.data() + node(ready).first_input; }
  static FrameIteration where(Ready) { return {}; }
  void propagate(Ready ready, Value* outputs, const KernelContext* context, Deaths deaths);
  Status end() const;
  void abandon() { ready_.clear(); }
  void clear();

 private:
  const Layout& layout_;
  std::vector<Arrivals> arrivals_;  // by node
  std::vector<Value> values_;       // by input
  ReadySet ready_;
  size_t turns_ = 0;  // nodes that were taken
};

}  // namespace millrace
