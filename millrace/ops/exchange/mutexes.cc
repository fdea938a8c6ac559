// Part of families.h: register_mutexes.
#include <deque>
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/exchange/families.h"
#include "millrace/ops/state/awaited.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

// A mutex that steps hold. Who has the lock has a variant, whose only tensor lies on memory that
// gives the lock back when the last copy goes: after ConsumeMutexLock, or with the step, however it
// ends.
class StepMutex final : public Resource, public std::enable_shared_from_this<StepMutex> {
 public:
  static constexpr std::string_view kTypeName = "mutex";

  explicit StepMutex(std::string name) : name_(std::move(name)), is_locked_(Turns::in_order) {}
  ~StepMutex() override { is_locked_.close(cancelled("mutex '", name_, "' was dropped")); }

  void lock(Cancellation* cancellation, Done<void> done) {
    is_locked_.attempt(
        [](bool& is_locked) -> std::optional<Status> {
          if (is_locked) return std::nullopt;
          is_locked = true;
          return Status();
        },
        cancellation, cancelled("Lock acquisition cancelled."), std::move(done));
  }
  void unlock() {
    (void)is_locked_.change([](bool& is_locked) { return is_locked = false; });
  }

  std::string description() const override {
    const bool held = is_locked_.look([](bool is_locked) { return is_locked; });
    return str_cat("mutex '", name_, "': ", held ? "locked" : "free");
  }
  void close(const Status& why) override { is_locked_.close(why); }

 private:
  const std::string name_;
  Awaited<bool> is_locked_;
};

constexpr std::string_view kLockType = "tensorflow::Mutex::LockReleaser";

Result<Tensor> lock_variant(std::shared_ptr<StepMutex> mutex) {
  static uint8_t held = 1;  // what the tensor shows; never written
  auto memory = Buffer::borrow(&held, sizeof held, [mutex = std::move(mutex)] { mutex->unlock(); });
  MR_ASSIGN(Tensor token, Tensor::on_buffer(DType::u8, Shape(), std::move(memory)));
  Variant lock;
  lock.type_name = kLockType;
  lock.tensors.push_back(std::move(token));
  MR_TRY(lock.settle());
  return Tensor::scalar(std::move(lock));
}

struct MutexNode {
  using Kind = StepMutex;
  static Result<MutexNode> read(const KernelSpec&) { return MutexNode(); }
  Result<std::shared_ptr<StepMutex>> make(const std::string& name, KernelContext&) const {
    return std::make_shared<StepMutex>(name);
  }
  Status check(const StepMutex&) const { return {}; }
  bool shares_node_name() const { return true; }
};

void take_lock(KernelContext& context, StepMutex& mutex, Done<void> done) {
  mutex.lock(context.step().cancellation,
             Done<void>([&context, mutex = mutex.shared_from_this(),
                         done = std::move(done)](Status status) mutable {
               if (!status.ok()) return done(std::move(status));
               done(context.set_output(0, lock_variant(std::move(mutex))));
             }));
}

Status consume_lock(KernelContext& context) {
  const Tensor lock = context.take_input(0);
  if (!lock.shape().is_scalar() || lock.item<Variant>().type_name != kLockType) {
    return invalid("'", context.node_name(),
                   "' Expected input to be a mutex lock, but saw: ", lock.to_string());
  }
  return {};
}

Status add_mutex_op(OpRegistry& ops, OpDef op) {
  op.not_differentiable = "a lock is no number";
  return ops.add(std::move(op));
}

}  // namespace

Status register_mutexes(OpRegistry& ops) {
  MR_TRY(add_mutex_op(
      ops,
      stateful_op("MutexV2", "A mutex that one step at a time can hold.",
                  "-> resource: resource | container: string = '', shared_name: string = ''",
                  infer::scalar, kernel_class<ResourceHandleKernel<MutexNode>>(), Cost::cheap)));
  MR_TRY(add_mutex_op(
      ops, stateful_op("MutexLock",
                       "Waits for a mutex, first come first served, and locks it until its output "
                       "is gone.",
                       "mutex: resource -> mutex_lock: variant", infer::scalar,
                       waiting_resource_kernel<StepMutex>(take_lock), Cost::cheap)));
  return add_mutex_op(
      ops, stateful_op("ConsumeMutexLock", "Lets go of a lock.", "mutex_lock: variant ->",
                       infer::no_outputs, kernel(consume_lock), Cost::cheap));
}

}  // namespace millrace
