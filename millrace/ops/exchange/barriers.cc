// Part of families.h: register_barriers.
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/exchange/barrier.h"
#include "millrace/ops/exchange/families.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

// What a barrier's node says.
struct BarrierNode {
  using Kind = Barrier;
  BarrierSpec spec;

  static Result<BarrierNode> read(const KernelSpec& node) {
    BarrierNode made;
    MR_ASSIGN(made.spec.types, node.attrs.types("component_types"));
    MR_ASSIGN(const std::vector<PartialShape> shapes, node.attrs.shapes("shapes"));
    // TensorFlow takes a component without a rank for a scalar: a barrier made without shapes is
    // one of scalars.
    for (const PartialShape& shape : shapes) {
      const auto known = shape.has_rank() ? shape.to_shape() : Shape();
      if (known) made.spec.shapes.push_back(*known);
    }
    if (made.spec.shapes.size() != made.spec.types.size())
      return invalid("All of the component shapes must be specified");
    MR_ASSIGN(const int64_t capacity, node.attrs.integer("capacity"));
    if (capacity != -1) {
      return invalid(
          "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to "
          "enforce a limited capacity.");
    }
    return made;
  }
  Result<std::shared_ptr<Barrier>> make(const std::string& name, KernelContext&) const {
    return std::make_shared<Barrier>(spec, name);
  }
  Status check(const Barrier& found) const { return found.check_same(spec); }
};

Result<std::unique_ptr<Kernel>> make_insert(const KernelSpec& spec) {
  MR_ASSIGN(const int64_t index, spec.attrs.integer("component_index"));
  return resource_kernel<Barrier>([index](KernelContext& context, Barrier& barrier) -> Status {
    const std::vector<DType>& types = barrier.spec().types;
    const auto number = static_cast<int64_t>(types.size());
    if (index < 0 || index >= number) {
      return invalid("The component ID is out of range ", index, " > num_components (= ", number,
                     ")");
    }
    const auto component = static_cast<size_t>(index);
    const DType given = context.input(2).dtype();
    if (given != types[component]) {
      return invalid("Signature mismatch, have: ", dtype_name(given), " at '", context.node_name(),
                     "', expected: ", dtype_name(types[component]),
                     ", the type of the barrier's component ", index);
    }
    return barrier.insert(context.input(1), component, context.input(2));
  })(spec);
}

Status check_take(const KernelContext& context, const Barrier& barrier) {
  const std::vector<DType>& types = barrier.spec().types;
  bool agrees = static_cast<int>(types.size()) + 2 == context.num_outputs();
  for (size_t i = 0; agrees && i < types.size(); ++i)
    agrees = context.output_dtype(static_cast<int>(i) + 2) == types[i];
  if (agrees) return {};
  return invalid("Signature mismatch: '", context.node_name(),
                 "' takes other components than its barrier has");
}

Result<int64_t> take_count(KernelContext& context, const Barrier& barrier) {
  MR_TRY(check_take(context, barrier));
  if (!context.input(1).shape().is_scalar()) return invalid("num_elements must be a scalar.");
  MR_ASSIGN(const int64_t count, read_integer(context.input(1), "num_elements"));
  if (count < 0) return invalid("num_elements must be at least 0, not ", count);
  return count;
}

Result<std::unique_ptr<Kernel>> make_take(const KernelSpec& spec) {
  MR_ASSIGN(const int64_t timeout, spec.attrs.integer("timeout_ms"));
  if (timeout != -1) return invalid("Timeout not supported yet.");
  MR_ASSIGN(const bool takes_fewer, spec.attrs.boolean("allow_small_batch"));
  const Shortfall shortfall = takes_fewer ? Shortfall::take_fewer : Shortfall::fail;
  return waiting_resource_kernel<Barrier>([shortfall](KernelContext& context, Barrier& barrier,
                                                      Done<void> done) {
    const auto count = take_count(context, barrier);
    if (!count.ok()) return done(count.status());
    barrier.take(
        *count, shortfall, context.step().cancellation,
        Done<QueueElement>([&context, done = std::move(done)](Result<QueueElement> taken) mutable {
          if (!taken.ok()) return done(taken.status());
          for (size_t i = 0; i < taken->size(); ++i)
            context.set_output(static_cast<int>(i), std::move((*taken)[i]));
          done({});
        }));
  })(spec);
}

Result<std::unique_ptr<Kernel>> make_close_barrier(const KernelSpec& spec) {
  MR_ASSIGN(const bool cancels, spec.attrs.boolean("cancel_pending_enqueues"));
  const PendingEnqueues pending = cancels ? PendingEnqueues::cancel : PendingEnqueues::keep;
  return resource_kernel<Barrier>(
      [pending](KernelContext&, Barrier& barrier) { return barrier.close_barrier(pending); })(spec);
}

template <class Size>
KernelFactory barrier_size(Size size) {
  return resource_kernel<Barrier>([size](KernelContext& context, Barrier& barrier) -> Status {
    context.set_output(0, Tensor::scalar<int32_t>((barrier.*size)()));
    return {};
  });
}

Status infer_taken_elements(InferContext& context) {
  context.set_output(0, PartialShape::of_rank(1));
  context.set_output(1, PartialShape::of_rank(1));
  return {};
}

Status infer_insert(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 1));
  if (context.input(2).has_rank() && context.input(2).rank() == 0)
    return invalid("Shape must be at least rank 1 but is rank 0: values hold one per key");
  return {};
}

Status add_barrier_op(OpRegistry& ops, OpDef op) {
  op.not_differentiable = "what it gives depends on what came when, not on its inputs alone";
  return ops.add(std::move(op));
}

}  // namespace

Status register_barriers(OpRegistry& ops) {
  MR_TRY(add_barrier_op(
      ops, stateful_op("Barrier",
                       "Gathers the components of elements by key; an element can be taken once "
                       "all of its components came.",
                       "-> handle: ref(string) | component_types: list(type) >= 1, "
                       "shapes: list(shape) = {}, capacity: int = -1, container: string = '', "
                       "shared_name: string = ''",
                       infer_handle_strings, kernel_class<ResourceHandleKernel<BarrierNode>>(),
                       Cost::cheap)));
  MR_TRY(add_barrier_op(
      ops, stateful_op("BarrierInsertMany", "Gives one component of each of the keys its value.",
                       "handle: ref(string), keys: string, values: T -> | T: type, "
                       "component_index: int",
                       infer_insert, make_insert)));
  MR_TRY(add_barrier_op(
      ops, stateful_op("BarrierTakeMany",
                       "The oldest elements that are whole, once there are num_elements.",
                       "handle: ref(string), num_elements: int32 -> indices: int64, keys: string, "
                       "values: component_types | component_types: list(type) >= 1, "
                       "allow_small_batch: bool = false, wait_for_incomplete: bool = false, "
                       "timeout_ms: int = -1",
                       infer_taken_elements, make_take)));
  MR_TRY(add_barrier_op(
      ops, stateful_op("BarrierClose",
                       "Refuses new keys from now on, and with cancel_pending_enqueues also what "
                       "the old ones lack.",
                       "handle: ref(string) -> | cancel_pending_enqueues: bool = false",
                       infer::no_outputs, make_close_barrier, Cost::cheap)));
  MR_TRY(add_barrier_op(ops, stateful_op("BarrierReadySize", "How many elements are whole.",
                                         "handle: ref(string) -> size: int32", infer::scalar,
                                         barrier_size(&Barrier::ready_size), Cost::cheap)));
  return add_barrier_op(
      ops, stateful_op("BarrierIncompleteSize", "How many elements still lack a component.",
                       "handle: ref(string) -> size: int32", infer::scalar,
                       barrier_size(&Barrier::incomplete_size), Cost::cheap));
}

}  // namespace millrace
