#include "millrace/engine/flat_flow.h"

#include <cstring>

namespace millrace {

void FlatFlow::begin() {
  turns_ = 0;
  // An empty graph has no arrays to copy.
  if (layout_.nodes.empty()) return;
  std::memcpy(static_cast<void*>(arrivals_.data()), layout_.arrivals.data(),
              arrivals_.size() * sizeof(Arrivals));
  for (uint32_t source : layout_.sources) ready_.add(source);
}

void FlatFlow::propagate(Ready ready, Value* outputs, const KernelContext* context, Deaths deaths) {
  const Layout::Node& from = node(ready);
  for (const Layout::Edge& edge : layout_.edges_of(from)) {
    const bool is_dead =
        deaths == Deaths::all ||
        (edge.slot != Layout::kControl && context->output_is_dead(static_cast<int>(edge.output)));
    Arrivals& arrivals = arrivals_[edge.consumer];
    const bool is_ready = is_dead ? deliver_death(edge, arrivals, false)
                                  : deliver_value(edge, arrivals, values_.data(), 0, outputs);
    if (is_ready) ready_.add(edge.consumer);
  }
  for (Value *input = inputs(ready), *end = input + from.num_inputs; input != end; ++input)
    renew(*input);
  if (outputs == nullptr) return;
  for (uint32_t i = 0; i < from.num_outputs; ++i) renew(outputs[i]);
}

Status FlatFlow::end() const {
  if (turns_ == layout_.nodes.size()) return {};
  for (size_t i = 0; i < layout_.nodes.size(); ++i) {
    if (!arrivals_[i].waits()) continue;
    return internal("the step ended while ", layout_.nodes.size() - turns_, " of ",
                    layout_.nodes.size(), " nodes still waited for inputs, the first of them '",
                    layout_.nodes[i].name, "'");
  }
  return internal("the step ended with ", layout_.nodes.size() - turns_, " nodes not run");
}

void FlatFlow::clear() {
  for (Value& value : values_) renew(value);
}

}  // namespace millrace
