#include "millrace/engine/node_run.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace millrace {
namespace {

using Layout = CompiledGraph::Layout;

// Bytes of inputs on which a kernel may work as long as a thread takes to wake up: one that looks
// at each once, and one that does much with each.
constexpr size_t kWorthSharing = size_t{256} << 10;
constexpr size_t kWorthSharingIfHeavy = size_t{16} << 10;

// Waking a thread and giving it what another processor's caches hold takes some tens of
// microseconds; a node should take a multiple.
constexpr uint32_t kWorthTicks = 200'000;

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

bool may_be_worth_sharing(const Layout::Node& node, const Value* inputs) {
  const bool is_heavy = node.cost == Cost::heavy;
  size_t bytes = 0;
  for (uint32_t i = 0; i < node.num_inputs; ++i) {
    // An image, or the name of a file: how much there is to do the tensor's size does not tell.
    if (is_heavy && inputs[i].tensor.dtype() == DType::string) return true;
    bytes += inputs[i].tensor.num_bytes();
  }
  return bytes > (is_heavy ? kWorthSharingIfHeavy : kWorthSharing);
}

bool is_worth_sharing(const Layout::Node& node) {
  const uint32_t ticks = std::atomic_ref(node.ticks).load(std::memory_order_relaxed);
  return ticks == 0 || ticks >= kWorthTicks;
}

Status run_timed(const Layout::Node& node, KernelContext& context) {
#if defined(__x86_64__)
  // Ticks of the processor's own counter, which costs next to nothing to read.
  const uint64_t start = __builtin_ia32_rdtsc();
  Status status = node.kernel->run(context);
  const uint64_t took = std::clamp<uint64_t>(__builtin_ia32_rdtsc() - start, 1, uint64_t{1} << 31);
  // Towards what it took now: soon, but not at once, for a thread may have been held up. What
  // another step notes meanwhile may be lost.
  const std::atomic_ref kept(node.ticks);
  const uint64_t before = kept.load(std::memory_order_relaxed);
  const uint64_t now = before == 0 ? took : (before * 3 + took) / 4;
  kept.store(static_cast<uint32_t>(now), std::memory_order_relaxed);
  return status;
#else
  return node.kernel->run(context);  // its inputs go on deciding
#endif
}

}  // namespace millrace
