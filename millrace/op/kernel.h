// Kernel: the code of one node on one kind of device, and what it sees while it runs.
//
// A kernel is made once per registered graph (stateful ones once per session and node name) from a
// KernelSpec, and then run in many steps, maybe by several threads at once: members written in
// `run` need their own lock. It returns errors as Status; it never throws, logs or blocks. A kernel
// that may have to wait overrides `start` instead and answers later, holding no thread.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/base/files.h"
#include "millrace/base/random.h"
#include "millrace/base/runner.h"
#include "millrace/base/timers.h"
#include "millrace/op/attrs.h"
#include "millrace/op/op_def.h"
#include "millrace/op/rendezvous.h"
#include "millrace/op/resource.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

class HeldLeases;     // ops/state/held_lease.h
class TransferSlots;  // transfer_slots.h

// What a kernel is made from. References live as long as the call.
struct KernelSpec {
  std::string_view node_name;
  AttrView attrs;
  const std::vector<ArgType>& inputs;  // flattened, in slot order
  const std::vector<ArgType>& outputs;
  std::string_view device;   // full name
  Random* random = nullptr;  // for a kernel without a seed; null: the system's
};

// A reference to a tensor that lives in a variable: what flows along edges of reference type.
struct TensorRef {
  Mutex* mutex = nullptr;  // guards *tensor
  Tensor* tensor = nullptr;
  std::shared_ptr<Resource> owner;  // keeps both alive
  // What the variable is called, for "Attempting to use uninitialized value <name>"; lives in
  // owner.
  std::string_view name = {};
};

// What flows along an edge.
struct Value {
  Tensor tensor;
  // Set for reference edges; then `tensor` is unused. Rare, so it lives outside.
  std::unique_ptr<TensorRef> ref;

  Value() = default;
  Value(Tensor t) : tensor(std::move(t)) {}  // NOLINT(google-explicit-constructor)
  Value(const Value& other)
      : tensor(other.tensor), ref(other.ref ? std::make_unique<TensorRef>(*other.ref) : nullptr) {}
  Value(Value&&) noexcept = default;
  Value& operator=(Value&&) noexcept = default;
  Value& operator=(const Value& other) { return *this = Value(other); }
};

// A device as kernels see it.
struct DeviceContext {
  std::string name;  // full name
  uint64_t incarnation = 0;
  ResourceStore* resources = nullptr;
  Random* random = nullptr;  // for what has no seed of its own; null: the system's
  Files* files = nullptr;    // for kernels that run_blocking() in blocking.h; null: there are none
  // For what waits for a time; null: nothing can. The timers tell the time of the clock.
  const Clock* clock = nullptr;
  Timers* timers = nullptr;
};

// What all kernels of one step on one device share. Owned by whoever runs the step.
struct StepContext {
  int64_t step_id = 0;
  const DeviceContext* device = nullptr;
  Rendezvous* rendezvous = nullptr;         // null where nothing can be sent (constant folding)
  TransferSlots* slots = nullptr;           // of what is sent within the task; may be null
  Cancellation* cancellation = nullptr;     // never null in a real step
  ResourceStore* step_resources = nullptr;  // dropped with the step: stacks, tensor arrays
  Runner* pool = nullptr;                   // for a kernel that splits its work; may be null
  // For what goes on when the step and its session have ended, as iterators do: stays as long as
  // `device`, and is not bounded by what the session asked for. May be null.
  Runner* task_pool = nullptr;
  Runner* blocking = nullptr;  // for run_blocking() in blocking.h; may be null
  std::span<const Tensor> feeds =
      {};                            // by feed slot, for what stands in for a Recv from the client
  std::span<Delivery> fetches = {};  // by fetch slot, for what stands in for a Send to the client
  HeldLeases* leases = nullptr;      // which the step's updates are made under; may be null
};

// The frame and iteration a node runs in; (0, 0) outside loops.
struct FrameIteration {
  uint64_t frame = 0;
  int64_t iteration = 0;
};

// One run of one kernel. Made by the executor on the thread that runs the kernel; an asynchronous
// kernel may keep the reference until it calls its Done.
class KernelContext {
 public:
  KernelContext(StepContext& step, std::string_view node_name, std::span<Value> inputs,
                std::span<Value> outputs, std::span<const ArgType> output_types,
                FrameIteration where = {}, bool input_is_dead = false)
      : step_(step),
        node_name_(node_name),
        inputs_(inputs),
        outputs_(outputs),
        output_types_(output_types),
        where_(where),
        input_is_dead_(input_is_dead) {}

  StepContext& step() { return step_; }
  std::string_view node_name() const { return node_name_; }
  FrameIteration where() const { return where_; }
  // Transfer kernels run even when their input is dead; nobody else sees true here.
  bool input_is_dead() const { return input_is_dead_; }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const Tensor& input(int slot) const { return inputs_[slot].tensor; }
  // Takes the input away, so that its buffer may be reused in place if nobody else shares it.
  Tensor take_input(int slot) { return std::move(inputs_[slot].tensor); }
  // The reference on a reference edge. Requires that the slot is one.
  const TensorRef& input_ref(int slot) const { return *inputs_[slot].ref; }
  bool input_is_ref(int slot) const { return inputs_[slot].ref != nullptr; }

  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  DType output_dtype(int slot) const { return output_types_[slot].dtype; }
  void set_output(int slot, Tensor tensor) { outputs_[slot].tensor = std::move(tensor); }
  // What may have failed: its error then, and no output.
  template <std::same_as<Result<Tensor>> R>
  Status set_output(int slot, R made) {
    if (!made.ok()) return std::move(made).status();
    set_output(slot, *std::move(made));
    return {};
  }
  void set_output_ref(int slot, TensorRef ref) {
    outputs_[slot].ref = std::make_unique<TensorRef>(std::move(ref));
  }
  // Says which outputs are dead (Switch, Recv): all, or all but one.
  void set_all_outputs_dead() { alive_ = kNone; }
  void set_other_outputs_dead(int slot) { alive_ = slot; }
  bool output_is_dead(int slot) const { return alive_ != kAll && alive_ != slot; }

  // A new tensor for output `slot`, of the output's dtype.
  Result<Tensor> allocate(int slot, const Shape& shape) const {
    return Tensor::allocate(output_dtype(slot), shape);
  }
  // Input `input`'s own buffer if this kernel is its only owner and dtype and size fit output
  // `output`; a new tensor otherwise. The input must not be read after elements were written.
  Result<Tensor> reuse_or_allocate(int input, int output, const Shape& shape);

 private:
  StepContext& step_;
  std::string_view node_name_;
  std::span<Value> inputs_;
  std::span<Value> outputs_;
  std::span<const ArgType> output_types_;
  FrameIteration where_;
  bool input_is_dead_;
  static constexpr int kAll = -1, kNone = -2;
  int alive_ = kAll;  // or the only one that is
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Runs to the end on this thread. The default fails: it is for kernels that override `start`.
  virtual Status run(KernelContext& context);
  // True if the executor is to call `start` instead of `run`.
  virtual bool is_async() const { return false; }
  // Starts the work; `done` is called exactly once, maybe inside this call. `context` stays valid
  // until then. When context.step().cancellation fires it must answer soon.
  virtual void start(KernelContext& context, Done<void> done);
};

// A kernel that has to wait only now and then. The executor asks `run_at_once` first, and calls
// `start` only where that gives nothing, having changed nothing: so it takes no record of a node
// that is under way, as long as none is.
class QuickKernel : public Kernel {
 public:
  bool is_async() const final { return true; }
  virtual std::optional<Status> run_at_once(KernelContext& context) = 0;
};

// A kernel of one function without state: .cpu = kernel([](KernelContext& c) -> Status { … }).
KernelFactory kernel(std::function<Status(KernelContext&)> run);
// The same of one that makes the only output: [](KernelContext& c) -> Result<Tensor> { … }.
template <class Run>
requires std::same_as<std::invoke_result_t<const Run&, KernelContext&>, Result<Tensor>>
    KernelFactory kernel(Run run) {
  return kernel(
      std::function<Status(KernelContext&)>([run = std::move(run)](KernelContext& context) {
        return context.set_output(0, run(context));
      }));
}
// A kernel class that is made as K(spec) or by `static Result<std::unique_ptr<Kernel>>
// create(spec)`.
template <class K>
KernelFactory kernel_class() {
  return [](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    if constexpr (requires { K::create(spec); }) {
      return K::create(spec);
    } else {
      return std::unique_ptr<Kernel>(std::make_unique<K>(spec));
    }
  };
}

}  // namespace millrace
