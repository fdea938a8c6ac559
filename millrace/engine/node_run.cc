#include "millrace/engine/node_run.h"

#include <utility>

namespace millrace {
namespace {

using Layout = CompiledGraph::Layout;

// Bytes of inputs on which a kernel works about as long as a thread takes to wake up: one that
// looks at each once, and one that does much with each.
constexpr size_t kWorthSharing = size_t{256} << 10;
constexpr size_t kWorthSharingIfHeavy = size_t{16} << 10;

}  // namespace

Status read_refs(const Layout& layout, const Layout::Node& node, Value* inputs) {
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    Value& input = inputs[i];
    if (input.ref == nullptr) continue;
    Tensor held;
    {
      MutexLock lock(*input.ref->mutex);
      held = *input.ref->tensor;
    }
    if (!held.has_value() && !(node.flags & Layout::kMayBeUninitialized)) {
      const Layout::Node& producer = layout.nodes[layout.producers[node.first_input + i]];
      return failed_precondition("Attempting to use uninitialized value ", producer.name);
    }
    if (!layout.expects_ref[node.first_input + i]) input = Value(std::move(held));
  }
  return {};
}

Status bad_output(const Layout::Node& node, uint32_t output, const Value& value) {
  const ArgType& declared = node.output_types[output];
  if (declared.is_ref || value.ref != nullptr) {
    return internal("Output ", output, " is declared as ",
                    declared.is_ref ? "a reference" : "a tensor", " and the kernel gave ",
                    value.ref ? "a reference" : "none");
  }
  if (!value.tensor.has_value()) return internal("Missing ", output, "-th output from ", node.name);
  return internal("Output ", output, " of type ", dtype_name(value.tensor.dtype()),
                  " does not match declared output type ", dtype_name(declared.dtype));
}

Status at_node(Status error, const Layout& layout, const Layout::Node& node) {
  const auto moved = layout.moved.find(static_cast<uint32_t>(&node - layout.nodes.data()));
  const std::string_view name = moved == layout.moved.end() ? node.name : moved->second;
  error = error.then(str_cat("\n\t [[{{node ", name, "}}]]"));
  if (error.code() != Code::unavailable || (node.flags & Layout::kTransfer)) return error;
  return internal(error.message(), "\nExecuting non-communication op <", node.name,
                  "> originally returned UnavailableError, and was replaced by InternalError to "
                  "avoid invoking TF network error handling logic.");
}

bool is_worth_sharing(const Layout::Node& node, const Value* inputs) {
  const bool is_heavy = node.cost == Cost::heavy;
  size_t bytes = 0;
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    // An image, or the name of a file: how much there is to do the tensor's size does not tell.
    if (is_heavy && inputs[i].tensor.dtype() == DType::string) return true;
    bytes += inputs[i].tensor.num_bytes();
  }
  return bytes > (is_heavy ? kWorthSharingIfHeavy : kWorthSharing);
}

}  // namespace millrace
