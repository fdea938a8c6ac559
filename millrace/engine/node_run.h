// What is done around one run of one kernel, loops or not. Private to this room.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "millrace/engine/compiled_layout.h"

namespace millrace {

// Which outputs of a node are dead.
enum class Deaths : uint8_t {
  as_said,  // those that the kernel named
  all,      // all, and the control edges, too: the node was not run, or carries death along
};

// Empties a value; cheaper than assigning an empty one.
inline void renew(Value& value) {
  std::destroy_at(&value);
  std::construct_at(&value);
}
// Fills an empty value.
inline void put(Value& empty, Value&& value) {
  std::destroy_at(&empty);
  std::construct_at(&empty, std::move(value));
}
inline void put(Value& empty, const Value& value) {
  std::destroy_at(&empty);
  std::construct_at(&empty, value);
}

// One edge's arrival at its consumer: true if it made the consumer ready. `values` are the inputs
// of the iteration, which begin with input number `first_input`.
inline bool deliver_value(const CompiledGraph::Layout::Edge& edge, Arrivals& arrivals,
                          Value* values, uint32_t first_input, Value* outputs) {
  if (edge.slot == CompiledGraph::Layout::kControl)
    return edge.to_merge ? arrivals.merge_control() : arrivals.value();
  if (edge.to_merge && arrivals.has_value()) return false;
  Value& output = outputs[edge.output];
  Value& input = values[edge.slot - first_input];
  if (edge.is_last) {
    put(input, std::move(output));
  } else {
    put(input, std::as_const(output));
  }
  return edge.to_merge ? arrivals.merge_value() : arrivals.value();
}
// A Merge that heads a loop is dead when the loop is not entered; its back edges bring nothing
// then.
inline bool deliver_death(const CompiledGraph::Layout::Edge& edge, Arrivals& arrivals,
                          bool from_enter) {
  if (!edge.to_merge) return arrivals.death();
  if (edge.slot == CompiledGraph::Layout::kControl) return arrivals.merge_control();
  return from_enter ? arrivals.merge_loop_death() : arrivals.merge_death();
}

// Checks the reference inputs of a node, and replaces those by their tensors whose consumer wants a
// tensor: it shares the variable's buffer. As late as this, because the graph may say by control
// edges which writes come before.
// Errors: FAILED_PRECONDITION "Attempting to use uninitialized value <producer>".
Status read_refs(const CompiledGraph::Layout& layout, const CompiledGraph::Layout::Node& node,
                 Value* inputs);

// Errors: INTERNAL if an output that is not dead is missing or has another type than declared;
// peers and feeds are not to be believed.
Status bad_output(const CompiledGraph::Layout::Node& node, uint32_t output, const Value& value);
inline Status check_outputs(const CompiledGraph::Layout::Node& node, const KernelContext& context,
                            const Value* outputs) {
  for (uint32_t i = 0; i < node.num_outputs; ++i) {
    const ArgType& type = node.output_types[i];
    const bool fits = type.is_ref ? outputs[i].ref != nullptr
                                  : outputs[i].tensor.dtype() == type.dtype && !outputs[i].ref;
    if (!fits && !context.output_is_dead(static_cast<int>(i))) [[unlikely]]
      return bad_output(node, i, outputs[i]);
  }
  return {};
}

// The error as the step reports it.
Status at_node(Status error, const CompiledGraph::Layout& layout,
               const CompiledGraph::Layout::Node& node);

// Whether to run a node elsewhere is worth the hand-over: never, or if it takes long enough.
//
// By its inputs it may be: then runs of it are timed, and what it took the last times decides, for
// a small product is over before another thread has woken. Until it has run its inputs decide
// alone.
bool may_be_worth_sharing(const CompiledGraph::Layout::Node& node, const Value* inputs);
bool is_worth_sharing(const CompiledGraph::Layout::Node& node);

// Runs the kernel of a node that may be worth sharing, and notes how long it took.
Status run_timed(const CompiledGraph::Layout::Node& node, KernelContext& context);

}  // namespace millrace
