// Part of families.h: register_leases.
#include <cmath>
#include <utility>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/held_lease.h"
#include "millrace/ops/state/kept_names.h"
#include "millrace/ops/state/queue.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

constexpr float kLongestLease = 1e7;  // seconds: four months

Result<std::string_view> lease_bytes(KernelContext& context, int slot) {
  const Tensor& bytes = context.input(slot);
  if (!bytes.shape().is_scalar()) {
    return invalid("'", context.node_name(), "': a lease is a scalar string, not of shape ",
                   bytes.shape().to_string());
  }
  return std::string_view(bytes.item<std::string>());
}

Result<Lease> lease_input(KernelContext& context, int slot) {
  MR_ASSIGN(const std::string_view bytes, lease_bytes(context, slot));
  return decode_lease(bytes).with(context.node_name());
}

// How long a lease lasts, as a node says it.
struct BoundDuration {
  Result<Clock::Duration> read(const KernelSpec& spec) const {
    MR_ASSIGN(const float seconds, spec.attrs.real("seconds"));
    if (!(seconds > 0) || seconds > kLongestLease) {
      return invalid("'", spec.node_name, "': a lease of ", seconds,
                     " seconds; it must be more than 0 and at most ", kLongestLease);
    }
    return std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(seconds));
  }
};

// Dies with the session and the node that it was made for, and so do its leases.
class LendKernel final : public Kernel {
 public:
  LendKernel(Clock::Duration duration, int64_t attempts, std::vector<DType> types)
      : duration_(duration), attempts_(attempts), types_(std::move(types)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(const Clock::Duration duration, BoundDuration().read(spec));
    MR_ASSIGN(const int64_t attempts, spec.attrs.integer("attempts"));
    MR_ASSIGN(std::vector<DType> types, spec.attrs.types("component_types"));
    if (attempts < 0 || attempts > 1'000'000) {
      return invalid("'", spec.node_name, "': ", attempts,
                     " attempts; give at least 1, or 0 for no limit");
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<LendKernel>(duration, attempts, std::move(types)));
  }

  ~LendKernel() override {
    if (const auto queue = lender_.lock()) queue->give_back_all_of(holder_);
  }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto queue = access_.find(context);
    if (!queue.ok()) return done(std::move(queue).status());
    if ((*queue)->spec().types != types_) {
      return done(invalid("'", context.node_name(), "' takes other component types than queue ",
                          (*queue)->description(), " has"));
    }
    auto before = lease_input(context, 1);
    if (!before.ok()) return done(std::move(before).status());
    auto time = time_.get(*context.step().device->resources, {},
                          [](ResourceStore& resources, const ResourceName&) {
                            return resources.find<DeviceTime>(DeviceTime::kContainer, "");
                          });
    if (!time.ok()) return done(std::move(time).status());
    LeaseRequest request{.holder = holder_at(*queue),
                         .duration = duration_,
                         .attempts = static_cast<uint32_t>(attempts_),
                         .time = *std::move(time)};
    Queue& lender = **queue;
    // On the disk before anybody hears of it: the identity may go to another task in this step.
    const std::shared_ptr<KeptNames> kept =
        lender.is_kept() ? KeptNames::of(*context.step().device->resources) : nullptr;
    Done<LentElement> deliver([&context, done = std::move(done)](Result<LentElement> lent) mutable {
      if (!lent.ok()) return done(std::move(lent).status());
      const int count = static_cast<int>(lent->element.size());
      for (int i = 0; i < count; ++i)
        context.set_output(i, std::move(lent->element[static_cast<size_t>(i)]));
      Tensor lease = Tensor::scalar(std::string());
      encode_lease(lent->lease, lease.mutable_flat<std::string>().data());
      context.set_output(count, std::move(lease));
      context.set_output(count + 1, Tensor::scalar(static_cast<int32_t>(lent->lease.attempt)));
      done({});
    });
    lender.lend(std::move(request), *before, context.step().cancellation,
                Done<LentElement>([queue = *std::move(queue), kept,
                                   deliver = std::move(deliver)](Result<LentElement> lent) mutable {
                  if (kept == nullptr || !lent.ok()) return deliver(std::move(lent));
                  kept->commit(when_kept(std::move(queue), *std::move(lent), std::move(deliver)));
                }));
  }

 private:
  static Done<void> when_kept(std::shared_ptr<Queue> queue, LentElement lent,
                              Done<LentElement> deliver) {
    return Done<void>([queue = std::move(queue), lent = std::move(lent),
                       deliver = std::move(deliver)](Status status) mutable {
      if (status.ok()) return deliver(std::move(lent));
      (void)queue->give_back(lent.lease);  // nobody has it
      deliver(std::move(status));
    });
  }
  // Another queue's name may come from one run to the next, in theory: what the first one lent
  // comes back then.
  LeaseBook::Holder holder_at(const std::shared_ptr<Queue>& queue) {
    std::shared_ptr<Queue> left;
    LeaseBook::Holder left_holder = 0, holder = 0;
    {
      MutexLock lock(mutex_);
      std::shared_ptr<Queue> known = lender_.lock();
      if (known != queue) {
        left = std::move(known);
        left_holder = std::exchange(holder_, queue->new_holder());
        lender_ = queue;
      }
      holder = holder_;
    }
    if (left != nullptr) left->give_back_all_of(left_holder);
    return holder;
  }

  const Clock::Duration duration_;
  const int64_t attempts_;
  const std::vector<DType> types_;
  ResourceInput<Queue> access_;
  CachedResource<DeviceTime> time_;
  Mutex mutex_;
  std::weak_ptr<Queue> lender_ MR_GUARDED_BY(mutex_);
  LeaseBook::Holder holder_ MR_GUARDED_BY(mutex_) = 0;
};

class EndLeaseKernel final : public Kernel {
 public:
  explicit EndLeaseKernel(bool gives_back) : gives_back_(gives_back) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<Queue> queue, access_.find(context));
    MR_ASSIGN(const Lease lease, lease_input(context, 1));
    return gives_back_ ? queue->give_back(lease) : queue->end_lease(lease);
  }

 private:
  const bool gives_back_;
  ResourceInput<Queue> access_;
};

class ExtendLeaseKernel final : public Kernel {
 public:
  explicit ExtendLeaseKernel(Clock::Duration duration) : duration_(duration) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<Queue> queue, access_.find(context));
    MR_ASSIGN(const Lease lease, lease_input(context, 1));
    MR_ASSIGN(const bool is_held, queue->extend_lease(lease, duration_));
    context.set_output(0, Tensor::scalar(is_held));
    return {};
  }

 private:
  const Clock::Duration duration_;
  ResourceInput<Queue> access_;
};

Status count_leases(KernelContext& context, Queue& queue) {
  const Queue::LeaseCounts counts = queue.lease_counts();
  context.set_output(0, Tensor::scalar(static_cast<int32_t>(counts.lent)));
  context.set_output(1, Tensor::scalar(static_cast<int32_t>(counts.dead)));
  return {};
}

class DeadLetterKernel final : public Kernel {
 public:
  explicit DeadLetterKernel(const KernelSpec&) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<Queue> queue, access_.find(context));
    if (static_cast<size_t>(context.num_outputs()) != queue->spec().types.size())
      return invalid("'", context.node_name(), "' takes another number of components than queue ",
                     queue->description(), " has");
    for (int i = 0; i < context.num_outputs(); ++i) {
      if (context.output_dtype(i) != queue->spec().types[static_cast<size_t>(i)])
        return invalid("'", context.node_name(), "' takes other component types than queue ",
                       queue->description(), " has");
    }
    std::optional<QueueElement> dead = queue->take_dead_letter();
    if (!dead) return out_of_range("queue ", queue->description(), " has no dead letters");
    for (size_t i = 0; i < dead->size(); ++i)
      context.set_output(static_cast<int>(i), std::move((*dead)[i]));
    return {};
  }

 private:
  ResourceInput<Queue> access_;
};

// What a step is made under is the planner's business (plan/lease_updates.h); by itself the node
// passes on what it gets.
Status pass_lease_on(KernelContext& context) {
  MR_ASSIGN(const std::string_view bytes, lease_bytes(context, 0));
  MR_TRY(check_lease(bytes).with(context.node_name()));
  context.set_output(0, context.take_input(0));
  return {};
}

Result<Tensor> renumbered(KernelContext& context) {
  const Tensor& bytes = context.input(0);
  if (!bytes.shape().is_scalar() || !context.input(1).shape().is_scalar() ||
      !context.input(2).shape().is_scalar()) {
    return invalid("'", context.node_name(), "': a lease and its numbers are scalars");
  }
  MR_ASSIGN(std::string other,
            lease_for_step(bytes.item<std::string>(),
                           static_cast<uint64_t>(context.input(1).item<int64_t>()),
                           static_cast<uint64_t>(context.input(2).item<int64_t>())));
  return Tensor::scalar(std::move(other));
}

class HoldKernel final : public Kernel {
 public:
  explicit HoldKernel(HeldLeases::As as) : as_(as) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(const std::string name, spec.attrs.string("held_as"));
    MR_ASSIGN(const HeldLeases::As as, HeldLeases::named(name).with(spec.node_name));
    return std::unique_ptr<Kernel>(std::make_unique<HoldKernel>(as));
  }
  Status run(KernelContext& context) override {
    HeldLeases* const leases = context.step().leases;
    if (leases == nullptr) {
      return internal("'", context.node_name(),
                      "' is to hold a lease where a step can't be made under one");
    }
    MR_ASSIGN(const std::string_view bytes, lease_bytes(context, 0));
    return leases->hold(as_, bytes).with(context.node_name());
  }

 private:
  const HeldLeases::As as_;
};

Status add_lease_op(OpRegistry& ops, OpDef op) {
  op.not_differentiable = "a lease is no number";
  return ops.add(std::move(op));
}

}  // namespace

Status register_leases(OpRegistry& ops) {
  MR_TRY(add_lease_op(
      ops,
      stateful_op("QueueLend",
                  "Acknowledges the lease that is given, if it is of this queue, and takes one "
                  "element as a dequeue does, for a time: unless its lease is extended or "
                  "acknowledged, it comes back after so many seconds, or with the end of the "
                  "session; after so many attempts, not at all, but as a dead letter.",
                  "handle: resource, done_with: string -> components: component_types, lease: "
                  "string, attempt: int32 | component_types: list(type) >= 1, seconds: float = "
                  "30.0, attempts: int = 0",
                  infer::unknown, kernel_class<LendKernel>(), Cost::cheap)));
  MR_TRY(add_lease_op(
      ops, stateful_op("QueueEndLease",
                       "Acknowledges an element, which ends; or gives it back, for others to take.",
                       "handle: resource, lease: string -> | gives_back: bool = false",
                       infer::no_outputs, kernel_from<EndLeaseKernel>(boolean("gives_back")),
                       Cost::cheap)));
  MR_TRY(add_lease_op(
      ops,
      stateful_op("QueueExtendLease",
                  "Lets a lease last so many seconds from now; false if it is over already.",
                  "handle: resource, lease: string -> held: bool | seconds: float = 30.0",
                  infer::scalar, kernel_from<ExtendLeaseKernel>(BoundDuration()), Cost::cheap)));
  MR_TRY(add_lease_op(
      ops, stateful_op("QueueLeases", "How many elements are lent, and how many dead letters wait.",
                       "handle: resource -> lent: int32, dead: int32", infer::scalar,
                       resource_kernel<Queue>(count_leases), Cost::cheap)));
  MR_TRY(add_lease_op(
      ops,
      stateful_op("QueueDeadLetter",
                  "Takes the dead letter that came first: an element that was lent as often as "
                  "it may and always came back. None: OUT_OF_RANGE.",
                  "handle: resource -> components: component_types | component_types: "
                  "list(type) >= 1",
                  infer::unknown, kernel_class<DeadLetterKernel>(), Cost::cheap)));
  MR_TRY(add_lease_op(
      ops,
      stateful_op("StepLease",
                  "A step that runs it makes its updates under the lease that is given, so that "
                  "each is made once for the lease's element. If it takes, the step's dequeue "
                  "acknowledges that lease and gives the next one, which is the result.",
                  "lease: string -> after: string | takes: bool = false, seconds: float = 30.0, "
                  "attempts: int = 0",
                  infer::scalar, kernel(pass_lease_on), Cost::cheap)));
  MR_TRY(add_lease_op(
      ops,
      stateful_op("LeaseForStep",
                  "The same lease for another step under it: the step's number, and the number "
                  "below which all steps have ended well.",
                  "lease: string, step: int64, settled: int64 -> renumbered: string", infer::scalar,
                  kernel(renumbered), Cost::cheap)));
  return add_lease_op(
      ops,
      stateful_op("_HoldLease", "Has the updates of its step, on its task, made under a lease.",
                  "lease: string -> | held_as: string", infer::no_outputs,
                  kernel_class<HoldKernel>(), Cost::cheap));
}

}  // namespace millrace
