// Part of families.h: register_ref_variables.
#include "millrace/op/infer.h"
#include "millrace/ops/loops/forward.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/state/bound_name.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/kept_names.h"
#include "millrace/ops/state/made_once.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/variable.h"

namespace millrace {
namespace {

class VariableKernel final : public Kernel {
 public:
  VariableKernel(ResourceName name, DType dtype, PartialShape shape, bool asks_to_last)
      : name_(std::move(name)),
        dtype_(dtype),
        shape_(std::move(shape)),
        asks_to_last_(asks_to_last),
        has_no_elements_(shape_.to_shape() && shape_.to_shape()->num_elements() == 0) {}

  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<StoredVariable> variable,
              cached_.get(*context.step().device->resources, name_,
                          [&](ResourceStore& manager, const ResourceName& name) {
                            return shared_variable(manager, name, dtype_, shape_, asks_to_last_)
                                .with(context.step().device->name);
                          }));
    if (variable->dtype() != dtype_) {
      return invalid("variable '", name_.name, "' holds ", dtype_name(variable->dtype()),
                     "; node '", context.node_name(), "' declares ", dtype_name(dtype_));
    }
    if (has_no_elements_) MR_TRY(fill(*variable));
    context.set_output_ref(0, reference_to(variable));
    return {};
  }

 private:
  // One without elements has its value, none, from the start, as TensorFlow has it.
  Status fill(StoredVariable& variable) const {
    MutexLock lock(variable.mutex());
    Tensor& held = *variable.tensor();
    if (held.has_value()) return {};
    MR_ASSIGN(held, Tensor::allocate(dtype_, *shape_.to_shape()));
    return {};
  }

  const ResourceName name_;
  const DType dtype_;
  const PartialShape shape_;
  const bool asks_to_last_;
  const bool has_no_elements_;
  CachedResource<StoredVariable> cached_;
};

class AssignRefKernel final : public Kernel {
 public:
  explicit AssignRefKernel(bool validates_shape) : validates_shape_(validates_shape) {}

  Status run(KernelContext& context) override {
    const TensorRef& ref = context.input_ref(0);
    const auto variable = std::dynamic_pointer_cast<StoredVariable>(ref.owner);
    if (variable == nullptr)
      return invalid("Assign '", context.node_name(), "': '", ref.name, "' is not a variable");
    // Taken, so that what was only made to be assigned is held by nobody else and moves in.
    Tensor value = context.take_input(1);
    {
      MutexLock lock(*ref.mutex);
      MR_TRY(check_shape(*variable, *ref.tensor, value));
      MR_TRY(store(*ref.tensor, std::move(value)));
    }
    forward(context, 0, 0);
    return {};
  }

 private:
  Status check_shape(const StoredVariable& variable, const Tensor& held,
                     const Tensor& value) const {
    if (!validates_shape_) return {};
    const bool fits = held.has_value() ? held.shape() == value.shape()
                                       : variable.declared_shape().allows(value.shape());
    if (fits) return {};
    return invalid(
        "Assign requires shapes of both tensors to match. lhs shape= ",
        held.has_value() ? held.shape().to_string() : variable.declared_shape().to_string(),
        " rhs shape= ", value.shape().to_string());
  }

  const bool validates_shape_;
};

// All of the update under the variable's lock, and no look at the cancellation: half an update
// would outlive the step. The lock is let go before the reference is passed on, which needs none.
class UpdateRefKernel final : public Kernel {
 public:
  explicit UpdateRefKernel(cpu::BinaryLoop loop) : loop_(loop) {}
  Status run(KernelContext& context) override {
    const TensorRef& ref = context.input_ref(0);
    {
      MutexLock lock(*ref.mutex);
      if (!ref.tensor->has_value()) return uninitialized(ref.name);
      MR_TRY(update(*ref.tensor, context.input(1), loop_));
    }
    forward(context, 0, 0);
    return {};
  }

 private:
  const cpu::BinaryLoop loop_;
};

Result<Tensor> is_ref_initialized(KernelContext& context) {
  const TensorRef& ref = context.input_ref(0);
  MutexLock lock(*ref.mutex);
  return Tensor::scalar(ref.tensor->has_value());
}

// Gives the count and moves it on, in one step under the lock.
template <class T>
Result<Tensor> count_up_as(KernelContext& context, int64_t limit) {
  const TensorRef& ref = context.input_ref(0);
  MutexLock lock(*ref.mutex);
  if (!ref.tensor->has_value()) return uninitialized(ref.name);
  if (!ref.tensor->shape().is_scalar())
    return invalid("CountUpTo '", context.node_name(), "': '", ref.name, "' is not a scalar");
  const T count = ref.tensor->item<T>();
  if (count >= limit) return out_of_range("Reached limit of ", limit);
  Tensor now = *ref.tensor;
  *ref.tensor = Tensor::scalar(static_cast<T>(count + 1));
  return now;
}

Result<Tensor> count_up(KernelContext& context, int64_t limit) {
  const bool is_wide = context.output_dtype(0) == DType::i64;
  return is_wide ? count_up_as<int64_t>(context, limit) : count_up_as<int32_t>(context, limit);
}

// Both kinds of shape are known of the variable afterwards, if they are to be equal.
Status infer_assign(InferContext& context) {
  MR_ASSIGN(const bool validates_shape, context.attrs().boolean("validate_shape"));
  PartialShape shape = context.input(1);
  if (validates_shape) {
    MR_ASSIGN(shape, shape.merge(context.input(0)));
  }
  context.set_output(0, std::move(shape));
  return {};
}

Status infer_count(InferContext& context) {
  return context.set_output(0, context.input_of_rank(0, 0));
}

Status infer_update(InferContext& context) {
  return context.set_output(0, context.input(0).merge(context.input(1)));
}

Status add_update(OpRegistry& ops, std::string name, std::string doc,
                  cpu::BinaryLoop (*loop_for)(DType)) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature =
          "ref: ref(T), value: T -> output_ref: ref(T) | T: number, use_locking: bool = false",
      .infer = infer_update,
      .cpu = made_once(kernel_from<UpdateRefKernel>(cpu::LoopFor{loop_for})),
      .not_differentiable = "it changes a variable; what it changes has no gradient",
      .stateful = true,
      .foldable = false,
  });
}

}  // namespace

Status register_ref_variables(OpRegistry& ops) {
  for (const char* name : {"VariableV2", "Variable"}) {
    MR_TRY(ops.add({
        .name = name,
        .doc = "A variable of the device; nodes with one container and shared_name, or else one "
               "name, share it.",
        .signature = "-> ref: ref(dtype) | shape: shape, dtype: type, container: string = '', "
                     "shared_name: string = ''",
        .infer = infer::shape_attr,
        .cpu = kernel_from<VariableKernel>(BoundName(), type("dtype"), partial_shape("shape"),
                                           BoundWish()),
        .not_differentiable = "it is where gradients end: with respect to it they are asked for",
        .stateful = true,
        .foldable = false,
        .cost = Cost::cheap,
    }));
  }
  MR_TRY(ops.add({
      .name = "Assign",
      .doc = "Puts value into the variable. With validate_shape, only one of the shape it has.",
      .signature = "ref: ref(T), value: T -> output_ref: ref(T) | T: type, "
                   "validate_shape: bool = true, use_locking: bool = true",
      .infer = infer_assign,
      .cpu = made_once(kernel_from<AssignRefKernel>(boolean("validate_shape"))),
      .not_differentiable = "it changes a variable; what it changes has no gradient",
      .stateful = true,
      .foldable = false,
      .allows_uninitialized_input = true,
  }));
  MR_TRY(add_update(ops, "AssignAdd", "Adds value to the variable.", cpu::addition_loop));
  MR_TRY(add_update(ops, "AssignSub", "Subtracts value from the variable.", cpu::subtraction_loop));
  MR_TRY(ops.add({
      .name = "IsVariableInitialized",
      .doc = "True if the variable was assigned a value.",
      .signature = "ref: ref(dtype) -> is_initialized: bool | dtype: type",
      .infer = infer::scalar,
      .cpu = kernel(is_ref_initialized),
      .not_differentiable = "its result is true or false",
      .stateful = true,
      .foldable = false,
      .allows_uninitialized_input = true,
      .cost = Cost::cheap,
  }));
  return ops.add({
      .name = "CountUpTo",
      .doc = "The variable's count, which is one higher afterwards; at limit, OUT_OF_RANGE.",
      .signature = "ref: ref(T) -> output: T | limit: int, T: {int32, int64}",
      .infer = infer_count,
      .cpu = kernel_with(count_up, integer("limit")),
      .not_differentiable = "its result is a count",
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
  });
}

}  // namespace millrace
