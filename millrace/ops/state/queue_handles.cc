// Part of families.h: register_queue_handles.
#include "millrace/ops/state/families.h"

// The ops that name a queue: each finds the queue of its name on its device, or makes it.
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/state/bound_name.h"
#include "millrace/ops/state/handle_form.h"
#include "millrace/ops/state/kept_names.h"
#include "millrace/ops/state/queue.h"

namespace millrace {
namespace {

constexpr std::string_view kRandomShuffle = "RandomShuffleQueue";
constexpr std::string_view kPriority = "PriorityQueue";

Result<QueueSpec> spec_of(const KernelSpec& spec) {
  QueueSpec queue;
  queue.op = spec.attrs.op().name;
  MR_ASSIGN(queue.types, spec.attrs.types("component_types"));
  MR_ASSIGN(queue.shapes, spec.attrs.shapes("shapes"));
  MR_ASSIGN(queue.capacity, spec.attrs.integer("capacity"));
  if (queue.kind() == kRandomShuffle) {
    MR_ASSIGN(queue.min_after_dequeue, spec.attrs.integer("min_after_dequeue"));
    MR_ASSIGN(queue.seed, spec.attrs.integer("seed"));
    MR_ASSIGN(queue.seed2, spec.attrs.integer("seed2"));
  }
  if (!queue.shapes.empty() && queue.shapes.size() != queue.types.size()) {
    return invalid(queue.op, " '", spec.node_name, "': ", queue.shapes.size(), " shapes for ",
                   queue.types.size(), " component types; give one shape each, or none");
  }
  if (queue.capacity == 0 && queue.kind() != kRandomShuffle) {
    return invalid(queue.op, " '", spec.node_name,
                   "': a capacity of 0 has no room for any element; "
                   "give at least 1, or -1 for no limit");
  }
  if (queue.min_after_dequeue < 0 ||
      (queue.capacity >= 0 && queue.min_after_dequeue >= queue.capacity)) {
    return invalid("min_after_dequeue ", queue.min_after_dequeue, " must be >= 0 and < capacity ",
                   queue.capacity);
  }
  // The priority is a component like the others, in front of them.
  if (queue.kind() == kPriority) {
    queue.types.insert(queue.types.begin(), DType::i64);
    queue.shapes.insert(queue.shapes.begin(), PartialShape::scalar());
  }
  return queue;
}

// What a queue's node says, for ResourceHandleKernel.
struct QueueNode {
  using Kind = Queue;
  QueueSpec spec;
  ResourceName asked;
  bool asks_to_last = false;

  // One that is to be found in its task's next life is known by name there.
  bool shares_node_name() const { return asks_to_last; }
  static Result<QueueNode> read(const KernelSpec& node) {
    MR_ASSIGN(QueueSpec spec, spec_of(node));
    QueueNode made{.spec = std::move(spec), .asked = {}};
    MR_ASSIGN(made.asked.container, node.attrs.string("container"));
    MR_ASSIGN(made.asked.name, node.attrs.string("shared_name"));
    MR_ASSIGN(made.asks_to_last, BoundWish().read(node));
    if (made.asked.name.empty() && made.asks_to_last) made.asked.name = node.node_name;
    return made;
  }
  Result<std::shared_ptr<Queue>> make(const std::string& name, KernelContext& context) const {
    const DeviceContext& device = *context.step().device;
    // Without a name that all share it ends with its kernel, and so with its process.
    std::shared_ptr<KeptNames> names;
    if (!asked.name.empty()) {
      MR_ASSIGN(names, KeptNames::to_note(*device.resources, name, asks_to_last).with(device.name));
    }
    if (names == nullptr) return std::make_shared<Queue>(spec, name, order_of(spec, device.random));
    for (const DType type : spec.types) MR_TRY(names->check(type).with(name));
    const auto made = std::make_shared<Queue>(
        spec, name, std::make_unique<KeptOrder>(order_of(spec, device.random)));
    names->note(KeptKind::queue, *device.resources, asked, made);
    return made;
  }
  Status check(const Queue& found) const {
    MR_TRY(found.check_same(spec));
    if (!asks_to_last || found.is_kept()) return {};
    return failed_precondition(
        "'", asked.name,
        "' is to be kept (durable=True), and there is a queue of that name that is "
        "not: whoever made it did not ask, or its task keeps nothing. Give it another shared_name, "
        "or have all ask for it");
  }
};
using QueueHandleKernel = ResourceHandleKernel<QueueNode>;

// The old form of a handle in the new one, for ops that only take that.
Status old_handle(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, Queue::kTypeName));
  give_handle(context, HandleForm::reference, name, Queue::kTypeName);
  return {};
}

// One kind of queue in its two forms: V2 with a resource handle, V1 with a reference to strings.
Status add_queue(OpRegistry& ops, const std::string& name, const std::string& doc,
                 const std::string& attrs) {
  MR_TRY(ops.add({
      .name = name + "V2",
      .doc = doc,
      .signature = "-> handle: resource | " + attrs,
      .infer = infer::scalar,
      .cpu = kernel_class<QueueHandleKernel>(),
      .not_differentiable = "it gives a queue, which is no number",
      .stateful = true,
      .cost = Cost::cheap,
  }));
  return ops.add({
      .name = name,
      .doc = doc + " The form that graphs of TensorFlow before 1.0 use.",
      .signature = "-> handle: ref(string) | " + attrs,
      .infer = infer_handle_strings,
      .cpu = kernel_class<QueueHandleKernel>(),
      .not_differentiable = "it gives a queue, which is no number",
      .stateful = true,
      .cost = Cost::cheap,
  });
}

}  // namespace

std::unique_ptr<QueueOrder> order_of(const QueueSpec& spec, Random* random) {
  if (spec.kind() == kPriority) return priority_order();
  if (spec.kind() != kRandomShuffle) return fifo_order();
  const auto reserve = static_cast<size_t>(spec.min_after_dequeue);
  if (spec.seed == 0 && spec.seed2 == 0) {
    const auto system = random != nullptr ? nullptr : make_random();
    Random& source = random != nullptr ? *random : *system;
    const uint64_t first = source.next();
    return shuffled_order(reserve, first, source.next());
  }
  return shuffled_order(reserve, static_cast<uint64_t>(spec.seed),
                        static_cast<uint64_t>(spec.seed2));
}

Status register_queue_handles(OpRegistry& ops) {
  const std::string components =
      "component_types: list(type) >= 1, shapes: list(shape) = {}, capacity: int = -1, ";
  const std::string where = "container: string = '', shared_name: string = ''";
  MR_TRY(add_queue(ops, "FIFOQueue",
                   "A queue whose elements leave in the order in which they came.",
                   components + where));
  MR_TRY(add_queue(
      ops, "RandomShuffleQueue",
      "A queue whose elements leave in random order; min_after_dequeue of them stay "
      "behind, for others to mix with, until it is closed.",
      components + "min_after_dequeue: int = 0, seed: int = 0, seed2: int = 0, " + where));
  MR_TRY(
      add_queue(ops, "PaddingFIFOQueue",
                "A FIFOQueue whose elements may differ in shape; a batch is padded to the longest.",
                components + where));
  MR_TRY(ops.add({
      .name = "FakeQueue",
      .doc = "A queue's resource handle as the reference that ops of before TensorFlow 1.0 take.",
      .signature = "resource: resource -> handle: ref(string)",
      .infer = infer_handle_strings,
      .cpu = kernel(old_handle),
      .not_differentiable = "it gives a queue, which is no number",
      .stateful = true,
      .cost = Cost::cheap,
  }));
  return add_queue(
      ops, "PriorityQueue",
      "A queue whose first component, an int64, is a priority: the least leaves first.",
      "component_types: list(type) = {}, shapes: list(shape), capacity: int = -1, " + where);
}

}  // namespace millrace
