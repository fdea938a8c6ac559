// Part of families.h: register_queue_handles.
#include "millrace/ops/state/families.h"

// The ops that name a queue: each finds the queue of its name on its device, or makes it.
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/state/queue.h"
#include "millrace/ops/state/resource_access.h"

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

// Seeds as in TensorFlow: both zero means one that differs each time.
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

// What a V1 handle refers to: a string tensor [container, name], as long as its kernel lives.
struct HandleStrings final : Resource {
  Mutex mutex;
  Tensor tensor;
  std::string description() const override { return "a queue's handle"; }
};

class QueueHandleKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    auto made = std::make_unique<QueueHandleKernel>();
    MR_ASSIGN(made->queue_spec_, spec_of(spec));
    MR_ASSIGN(made->asked_container_, spec.attrs.string("container"));
    MR_ASSIGN(made->asked_name_, spec.attrs.string("shared_name"));
    made->node_name_ = spec.node_name;
    made->gives_ref_ = spec.outputs[0].is_ref;
    return std::unique_ptr<Kernel>(std::move(made));
  }

  ~QueueHandleKernel() override {
    // A queue without a shared name ends with its kernel, which the device's resources outlive.
    if (asked_name_.empty() && queue_ != nullptr)
      (void)resources_->remove<Queue>(container_, name_);
  }

  Status run(KernelContext& context) override {
    MutexLock lock(mutex_);
    ResourceStore& resources = *context.step().device->resources;
    if (queue_ == nullptr || generation_ != resources.generation())
      MR_TRY(find(resources, context.step().device->random));
    if (gives_ref_) {
      context.set_output_ref(0, {&strings_->mutex, &strings_->tensor, strings_});
    } else {
      if (!handle_.has_value()) {
        handle_ = Tensor::scalar(make_handle(context, {container_, name_}, Queue::kTypeName));
      }
      context.set_output(0, handle_);
    }
    return {};
  }

 private:
  Status find(ResourceStore& resources, Random* random) MR_REQUIRES(mutex_) {
    resources_ = &resources;
    const uint64_t generation = resources.generation();
    if (container_.empty())
      container_ = asked_container_.empty() ? resources.default_container() : asked_container_;
    if (name_.empty())
      name_ = asked_name_.empty() ? resources.private_name(node_name_) : asked_name_;
    const auto make = [this, name = name_, random]() -> Result<std::shared_ptr<Queue>> {
      return std::make_shared<Queue>(queue_spec_, name, order_of(queue_spec_, random));
    };
    MR_ASSIGN(std::shared_ptr<Queue> queue,
              resources.find_or_create<Queue>(container_, name_, make));
    MR_TRY(queue->check_same(queue_spec_));
    queue_ = std::move(queue);
    generation_ = generation;
    strings_ = std::make_shared<HandleStrings>();
    strings_->tensor = Tensor::vector<std::string>({container_, name_});
    return {};
  }

  // Constant after construction. What the node leaves open is empty.
  QueueSpec queue_spec_;
  std::string node_name_, asked_container_, asked_name_;
  bool gives_ref_ = false;

  Mutex mutex_;
  // Chosen with the first run.
  std::string container_ MR_GUARDED_BY(mutex_), name_ MR_GUARDED_BY(mutex_);
  ResourceStore* resources_ MR_GUARDED_BY(mutex_) = nullptr;
  uint64_t generation_ MR_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Queue> queue_ MR_GUARDED_BY(mutex_);
  std::shared_ptr<HandleStrings> strings_ MR_GUARDED_BY(mutex_);
  Tensor handle_ MR_GUARDED_BY(mutex_);
};

Status infer_handle_strings(InferContext& context) {
  context.set_output(0, PartialShape{2});
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
      .stateful = true,
      .cost = Cost::cheap,
  }));
  return ops.add({
      .name = name,
      .doc = doc + " The form that graphs of TensorFlow before 1.0 use.",
      .signature = "-> handle: ref(string) | " + attrs,
      .infer = infer_handle_strings,
      .cpu = kernel_class<QueueHandleKernel>(),
      .stateful = true,
      .cost = Cost::cheap,
  });
}

}  // namespace

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
  return add_queue(
      ops, "PriorityQueue",
      "A queue whose first component, an int64, is a priority: the least leaves first.",
      "component_types: list(type) = {}, shapes: list(shape), capacity: int = -1, " + where);
}

}  // namespace millrace
