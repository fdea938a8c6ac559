// Part of families.h: register_queue_accesses.
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/made_once.h"

// The ops that put into, take from, close and measure a queue that they get a handle of.
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/state/queue.h"
#include "millrace/ops/state/resource_handle_kernel.h"

namespace millrace {
namespace {

Status no_timeout(const KernelSpec& spec) {
  MR_ASSIGN(const int64_t timeout, spec.attrs.integer("timeout_ms"));
  if (timeout != -1)
    return invalid("Timeout not supported yet. Node '", spec.node_name,
                   "' has timeout_ms = ", timeout, "; give the step a timeout instead");
  return {};
}

std::string tail_of_types(const std::vector<DType>& types) {
  std::string text;
  for (const DType type : types) str_append(&text, ", ", dtype_name(type));
  return text;
}

// Makes kernels of a class that is told what to do, and the types of a queue's components, which
// the attribute `types` has.
template <class AccessKernel>
KernelFactory accessing(typename AccessKernel::What what, std::string_view types) {
  return [what, types](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    MR_TRY(no_timeout(spec));
    MR_ASSIGN(std::vector<DType> components, spec.attrs.types(types));
    return std::unique_ptr<Kernel>(std::make_unique<AccessKernel>(what, std::move(components)));
  };
}

class EnqueueKernel final : public Kernel, public NamedUpdate {
 public:
  enum class What : uint8_t { one, many };

  EnqueueKernel(What what, std::vector<DType> types) : what_(what), types_(std::move(types)) {}
  static KernelFactory of(What what) { return accessing<EnqueueKernel>(what, "Tcomponents"); }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    start_as(nullptr, context, std::move(done));
  }
  void start_as(std::shared_ptr<const UpdateName> name, KernelContext& context,
                Done<void> done) override {
    auto queue = access_.find(context);
    if (!queue.ok()) return done(queue.status());
    if ((*queue)->spec().types != types_) {
      const std::string_view handle = context.input_is_ref(0) ? "string_ref" : "resource";
      return done(invalid("Signature mismatch, have: ", handle, tail_of_types(types_),
                          "-> expected: ", handle, tail_of_types((*queue)->spec().types), "->"));
    }
    QueueElement components;
    components.made_by = std::move(name);
    for (int slot = 1; slot < context.num_inputs(); ++slot) {
      // The queue outlives the step, and so must what it holds.
      auto kept = context.take_input(slot).kept();
      if (!kept.ok()) return done(kept.status());
      components.push_back(*std::move(kept));
    }
    Cancellation* cancellation = context.step().cancellation;
    Queue& target = **queue;
    // The queue stays alive as long as somebody waits on it.
    Done<void> keep_alive([queue = std::move(*queue), done = std::move(done)](
                              Status status) mutable { done(std::move(status)); });
    if (what_ == What::one) {
      target.enqueue(std::move(components), cancellation, std::move(keep_alive));
    } else {
      target.enqueue_many(std::move(components), cancellation, std::move(keep_alive));
    }
  }

 private:
  const What what_;
  const std::vector<DType> types_;
  ResourceInput<Queue> access_;
};

class DequeueKernel final : public Kernel {
 public:
  enum class What : uint8_t { one, many, up_to };

  DequeueKernel(What what, std::vector<DType> types) : what_(what), types_(std::move(types)) {}
  static KernelFactory of(What what) { return accessing<DequeueKernel>(what, "component_types"); }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto queue = access_.find(context);
    if (!queue.ok()) return done(queue.status());
    if ((*queue)->spec().types != types_) {
      return done(invalid("Signature mismatch, have: resource->", tail_of_types(types_),
                          " expected: resource->", tail_of_types((*queue)->spec().types)));
    }
    Queue& source = **queue;
    Done<QueueElement> deliver([&context, queue = std::move(*queue),
                                done = std::move(done)](Result<QueueElement> element) mutable {
      if (!element.ok()) return done(element.status());
      for (size_t i = 0; i < element->size(); ++i)
        context.set_output(static_cast<int>(i), std::move((*element)[i]));
      done({});
    });
    Cancellation* cancellation = context.step().cancellation;
    if (what_ == What::one) return source.dequeue(cancellation, std::move(deliver));
    const Tensor& count = context.input(1);
    if (count.num_elements() != 1)
      return deliver(invalid("'n' must be a scalar, but has shape ", count.shape().to_string()));
    const int64_t n = count.item<int32_t>();
    if (n < 0) {
      return deliver(invalid(what_ == What::many ? "DequeueManyOp" : "DequeueUpToOp", " requested ",
                             n, " < 0 elements"));
    }
    source.dequeue_many(n, what_ == What::many ? Shortfall::fail : Shortfall::take_fewer,
                        cancellation, std::move(deliver));
  }

 private:
  const What what_;
  const std::vector<DType> types_;
  ResourceInput<Queue> access_;
};

class CloseKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    auto made = std::make_unique<CloseKernel>();
    MR_ASSIGN(const bool cancel, spec.attrs.boolean("cancel_pending_enqueues"));
    made->pending_ = cancel ? PendingEnqueues::cancel : PendingEnqueues::keep;
    return std::unique_ptr<Kernel>(std::move(made));
  }
  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<Queue> queue, access_.find(context));
    return queue->close_queue(pending_);
  }

 private:
  PendingEnqueues pending_ = PendingEnqueues::keep;
  ResourceInput<Queue> access_;
};

class SizeKernel final : public Kernel {
 public:
  explicit SizeKernel(const KernelSpec&) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<Queue> queue, access_.find(context));
    context.set_output(0, Tensor::scalar(static_cast<int32_t>(queue->size())));
    return {};
  }

 private:
  ResourceInput<Queue> access_;
};

class IsClosedKernel final : public Kernel {
 public:
  explicit IsClosedKernel(const KernelSpec&) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<Queue> queue, access_.find(context));
    context.set_output(0, Tensor::scalar(queue->is_closed()));
    return {};
  }

 private:
  ResourceInput<Queue> access_;
};

struct Access {
  std::string name, doc;
  std::string inputs, outputs, attrs;  // of the signature, after the handle
  KernelFactory cpu;
  InferFn infer = infer::unknown;
};

// V2 takes a resource handle, V1 a reference to strings.
Status add_access(OpRegistry& ops, const Access& access) {
  for (const bool v2 : {true, false}) {
    const std::string attrs = access.attrs.empty() ? "" : " | " + access.attrs;
    MR_TRY(ops.add({
        .name = access.name + (v2 ? "V2" : ""),
        .doc = access.doc,
        .signature = str_cat("handle: ", v2 ? "resource" : "ref(string)", access.inputs, " -> ",
                             access.outputs, attrs),
        .infer = access.infer,
        .cpu = access.cpu,
        .not_differentiable = "what a queue gives came from another step, or goes to one",
        .stateful = true,
        .cost = Cost::cheap,
    }));
  }
  return {};
}

}  // namespace

Status register_queue_accesses(OpRegistry& ops) {
  const std::string put = "Tcomponents: list(type) >= 1, timeout_ms: int = -1";
  const std::string take = "component_types: list(type) >= 1, timeout_ms: int = -1";
  const std::vector<Access> accesses = {
      {"QueueEnqueue",
       "Puts one element, a tensor per component, at the end; waits while the queue is full.",
       ", components: Tcomponents", "", put, made_once(EnqueueKernel::of(EnqueueKernel::What::one)),
       infer::no_outputs},
      {"QueueEnqueueMany",
       "Puts one element per row of the components; waits while the queue is full.",
       ", components: Tcomponents", "", put,
       made_once(EnqueueKernel::of(EnqueueKernel::What::many)), infer::no_outputs},
      {"QueueDequeue",
       "Takes one element; waits while the queue is empty. Closed and empty: OUT_OF_RANGE.", "",
       "components: component_types", take, DequeueKernel::of(DequeueKernel::What::one)},
      {"QueueDequeueMany",
       "Takes n elements, stacked; waits until they are there. Closed with fewer: OUT_OF_RANGE.",
       ", n: int32", "components: component_types", take,
       DequeueKernel::of(DequeueKernel::What::many)},
      {"QueueDequeueUpTo", "As QueueDequeueMany, but a closed queue gives what is left.",
       ", n: int32", "components: component_types", take,
       DequeueKernel::of(DequeueKernel::What::up_to)},
      {"QueueClose",
       "No more elements will come; those that are there can be taken. Waiting enqueues go on "
       "unless cancel_pending_enqueues.",
       "", "", "cancel_pending_enqueues: bool = false", kernel_class<CloseKernel>(),
       infer::no_outputs},
      {"QueueSize", "How many elements the queue holds.", "", "size: int32", "",
       kernel_class<SizeKernel>(), infer::scalar},
      {"QueueIsClosed", "Whether the queue was closed.", "", "is_closed: bool", "",
       kernel_class<IsClosedKernel>(), infer::scalar},
  };
  for (const Access& access : accesses) MR_TRY(add_access(ops, access));
  return {};
}

}  // namespace millrace
