// Part of families.h: register_resource_variables.
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/state/bound_name.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/kept_names.h"
#include "millrace/ops/state/made_once.h"
#include "millrace/ops/state/stateful_op.h"
#include "millrace/ops/state/variable_handle.h"

namespace millrace {
namespace {

class VarHandleKernel final : public Kernel {
 public:
  VarHandleKernel(ResourceName name, DType dtype, PartialShape shape, bool asks_to_last)
      : name_(std::move(name)),
        dtype_(dtype),
        shape_(std::move(shape)),
        asks_to_last_(asks_to_last) {}
  Status run(KernelContext& context) override {
    // Who assigns to it sees the handle only: it has to be there by then, without a value.
    if (asks_to_last_) MR_TRY(make(context));
    ResourceHandle handle = make_handle(context, name_, StoredVariable::kTypeName);
    handle.dtypes_and_shapes = {{dtype_, shape_}};
    context.set_output(0, Tensor::scalar(std::move(handle)));
    return {};
  }

 private:
  Status make(KernelContext& context) {
    return kept_
        .get(*context.step().device->resources, name_,
             [&](ResourceStore& manager, const ResourceName& name) {
               return shared_variable(manager, name, dtype_, shape_, true)
                   .with(context.step().device->name);
             })
        .status();
  }

  const ResourceName name_;
  const DType dtype_;
  const PartialShape shape_;
  const bool asks_to_last_;
  CachedResource<StoredVariable> kept_;
};

class ReadKernel final : public Kernel {
 public:
  explicit ReadKernel(const KernelSpec&) {}
  Status run(KernelContext& context) override {
    return context.set_output(0, variable_.read(context));
  }

 private:
  VariableHandle variable_;
};

class AssignResourceKernel final : public Kernel {
 public:
  AssignResourceKernel(DType dtype, bool validates_shape)
      : dtype_(dtype), validates_shape_(validates_shape) {}

  Status run(KernelContext& context) override {
    MR_ASSIGN(const ResourceName name, named_by_input(context, 0, StoredVariable::kTypeName));
    const ResourceHandle& handle = context.input(0).item<ResourceHandle>();
    const auto& declared = handle.dtypes_and_shapes;
    if (!declared.empty() && declared[0].first != dtype_) {
      return invalid("'", context.node_name(), "': the handle is of a ",
                     dtype_name(declared[0].first), " variable, the value ", dtype_name(dtype_));
    }
    MR_ASSIGN(const std::shared_ptr<StoredVariable> variable,
              cached_.get(*context.step().device->resources, name,
                          [&](ResourceStore& manager, const ResourceName& wanted) {
                            return find_or_create(manager, wanted, handle);
                          }));
    if (variable->dtype() != dtype_) {
      return invalid("'", context.node_name(),
                     "': Trying to assign variable with wrong dtype. Expected ",
                     dtype_name(variable->dtype()), " got ", dtype_name(dtype_));
    }
    Tensor value = context.take_input(1);
    MutexLock lock(variable->mutex());
    Tensor& held = *variable->tensor();
    // Held against the value that is there, as TensorFlow does; what is declared binds nobody.
    if (validates_shape_ && held.has_value() && held.shape() != value.shape()) {
      return invalid("'", context.node_name(),
                     "': Trying to assign to variable with tensor with wrong shape. Expected ",
                     held.shape().to_string(), " got ", value.shape().to_string());
    }
    return store(held, std::move(value));
  }

 private:
  Result<std::shared_ptr<StoredVariable>> find_or_create(ResourceStore& manager,
                                                         const ResourceName& name,
                                                         const ResourceHandle& handle) const {
    const bool has_shape = !handle.dtypes_and_shapes.empty();
    return shared_variable(manager, name, dtype_,
                           has_shape ? handle.dtypes_and_shapes[0].second : PartialShape(), false);
  }

  const DType dtype_;
  const bool validates_shape_;
  CachedResource<StoredVariable> cached_;
};

class UpdateResourceKernel final : public Kernel {
 public:
  UpdateResourceKernel(DType dtype, cpu::BinaryLoop loop) : dtype_(dtype), loop_(loop) {}
  Status run(KernelContext& context) override {
    return variable_.change(
        context, dtype_, [&](Tensor& tensor) { return update(tensor, context.input(1), loop_); });
  }

 private:
  const DType dtype_;
  const cpu::BinaryLoop loop_;
  VariableHandle variable_;
};

KernelFactory updating_resource(cpu::BinaryLoop (*loop_for)(DType)) {
  return made_once(kernel_from<UpdateResourceKernel>(type("dtype"), cpu::LoopFor{loop_for, 1}));
}

Result<Tensor> is_resource_initialized(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, StoredVariable::kTypeName));
  const auto found =
      context.step().device->resources->find<StoredVariable>(name.container, name.name);
  return Tensor::scalar(found.ok() && (*found)->read().has_value());
}

class ShapeKernel final : public Kernel {
 public:
  explicit ShapeKernel(const KernelSpec&) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<StoredVariable> variable, variable_.find(context));
    const Tensor value = variable->read();
    if (!value.has_value()) return uninitialized(variable->name());
    return context.set_output(
        0, integer_tensor(context.output_dtype(0), {value.shape().rank()}, value.shape().dims()));
  }

 private:
  VariableHandle variable_;
};

// A read shares the value's buffer, and whoever changes a shared one copies it first: there is no
// other mode to leave.
class DisableCopyOnReadKernel final : public Kernel {
 public:
  explicit DisableCopyOnReadKernel(const KernelSpec&) {}
  Status run(KernelContext& context) override { return variable_.find_to_read(context).status(); }

 private:
  VariableHandle variable_;
};

Status infer_dims(InferContext& context) {
  context.set_output(0, PartialShape::of_rank(1));
  return {};
}

// What arrives at the value goes to the variable.
Status read_gradient(GradContext& g) {
  if (const std::optional<IndexedSlices> slices = g.sparse_grad()) {
    g.set_input_grad(0, *slices);
  } else {
    g.set_input_grad(0, g.grad());
  }
  return {};
}

// An op of this family that says why it has no gradient.
OpDef without_gradient(std::string why, OpDef op) {
  op.not_differentiable = std::move(why);
  return op;
}

constexpr const char* kVariableWrite = "it changes a variable; what it changes has no gradient";

}  // namespace

Status register_resource_variables(OpRegistry& ops) {
  MR_TRY(ops.add(without_gradient(
      "it is where gradients end: with respect to it they are asked for",
      stateful_op(
          "VarHandleOp",
          "The handle of a variable of the device: of that container and shared_name, or else of "
          "the "
          "node's name.",
          "-> resource: resource | container: string = '', shared_name: string = '', debug_name: "
          "string "
          "= '', dtype: type, shape: shape, allowed_devices: list(string) = {}",
          infer::scalar,
          kernel_from<VarHandleKernel>(BoundName(), type("dtype"), partial_shape("shape"),
                                       BoundWish()),
          Cost::cheap))));
  OpDef read = stateful_op("ReadVariableOp", "The variable's value as it is now.",
                           "resource: resource -> value: dtype | dtype: type", infer::unknown,
                           kernel_class<ReadKernel>(), Cost::cheap);
  read.grad = read_gradient;
  MR_TRY(ops.add(std::move(read)));
  MR_TRY(ops.add(without_gradient(
      kVariableWrite,
      stateful_op(
          "AssignVariableOp", "Puts value into the variable, making it if need be.",
          "resource: resource, value: dtype -> | dtype: type, validate_shape: bool = false",
          infer::no_outputs,
          made_once(kernel_from<AssignResourceKernel>(type("dtype"), boolean("validate_shape"))),
          Cost::by_size))));
  MR_TRY(ops.add(without_gradient(
      kVariableWrite,
      stateful_op("AssignAddVariableOp", "Adds value to the variable.",
                  "resource: resource, value: dtype -> | dtype: type", infer::no_outputs,
                  updating_resource(cpu::addition_loop), Cost::by_size))));
  MR_TRY(ops.add(without_gradient(
      kVariableWrite,
      stateful_op("AssignSubVariableOp", "Subtracts value from the variable.",
                  "resource: resource, value: dtype -> | dtype: type", infer::no_outputs,
                  updating_resource(cpu::subtraction_loop), Cost::by_size))));
  MR_TRY(ops.add(without_gradient(
      "its result is true or false",
      stateful_op("VarIsInitializedOp", "True if the variable exists and was assigned a value.",
                  "resource: resource -> is_initialized: bool", infer::scalar,
                  kernel(is_resource_initialized), Cost::cheap))));
  MR_TRY(ops.add(without_gradient(
      "it has no result",
      stateful_op(
          "DisableCopyOnRead",
          "Says that reads need not copy the variable's value, as after a sparse update; here "
          "they never do. The variable must exist.",
          "resource: resource ->", infer::no_outputs, kernel_class<DisableCopyOnReadKernel>(),
          Cost::cheap))));
  return ops.add(without_gradient(
      "its result is a shape",
      stateful_op("VariableShape", "The shape of the variable's value.",
                  "input: resource -> output: out_type | out_type: {int32, int64} = int32",
                  infer_dims, kernel_class<ShapeKernel>(), Cost::cheap)));
}

}  // namespace millrace
