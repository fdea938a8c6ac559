// Part of families.h: register_stacks.
#include <vector>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/handle_form.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

constexpr std::string_view kStackContainer = "_stacks";

class Stack final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "Stack";
  Stack(std::string name, DType dtype, int64_t most)
      : name_(std::move(name)), dtype_(dtype), most_(most) {}

  Status push(Tensor value) {
    if (value.dtype() != dtype_) {
      return invalid("Must have type ", dtype_name(dtype_), " but got ", dtype_name(value.dtype()));
    }
    MutexLock lock(mutex_);
    if (closed_) return closed();
    if (most_ >= 0 && static_cast<int64_t>(values_.size()) >= most_)
      return invalid("Stack[", name_, "] overflowed its max_size (", most_, ")");
    values_.push_back(std::move(value));
    return {};
  }

  Result<Tensor> pop() {
    MutexLock lock(mutex_);
    if (closed_) return closed();
    if (values_.empty()) return invalid("Stack[", name_, "] is empty when calling Pop().");
    Tensor value = std::move(values_.back());
    values_.pop_back();
    return value;
  }

  void close_stack() {
    MutexLock lock(mutex_);
    closed_ = true;
    values_.clear();
  }

  std::string description() const override { return str_cat("Stack ", name_); }

 private:
  Status closed() const { return invalid("Stack[", name_, "] has already been closed."); }

  const std::string name_;
  const DType dtype_;
  const int64_t most_;  // negative: any number
  Mutex mutex_;
  std::vector<Tensor> values_ MR_GUARDED_BY(mutex_);
  bool closed_ MR_GUARDED_BY(mutex_) = false;
};

Result<std::shared_ptr<Stack>> find_stack(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, Stack::kTypeName));
  return context.step().step_resources->find<Stack>(name.container, name.name);
}

class StackKernel final : public Kernel {
 public:
  StackKernel(std::string name, DType dtype, HandleForm form)
      : name_(std::move(name)), dtype_(dtype), form_(form) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(std::string name, spec.attrs.string("stack_name"));
    MR_ASSIGN(const DType dtype, spec.attrs.type("elem_type"));
    if (name.empty()) name = spec.node_name;
    MR_ASSIGN(const HandleForm form, BoundHandleForm().read(spec));
    return std::unique_ptr<Kernel>(std::make_unique<StackKernel>(std::move(name), dtype, form));
  }
  Status run(KernelContext& context) override {
    int64_t most = -1;
    if (context.num_inputs() > 0) {
      MR_ASSIGN(most, read_integer(context.input(0), "Stack size"));
    }
    ResourceStore& resources = *context.step().step_resources;
    const ResourceName name{std::string(kStackContainer), resources.private_name(name_)};
    MR_TRY(
        resources.add(name.container, name.name, std::make_shared<Stack>(name.name, dtype_, most)));
    give_handle(context, form_, name, Stack::kTypeName);
    return {};
  }

 private:
  const std::string name_;
  const DType dtype_;
  const HandleForm form_;
};

Result<Tensor> push(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<Stack> stack, find_stack(context));
  MR_TRY(stack->push(context.input(1)));
  return context.take_input(1);
}

Result<Tensor> pop(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<Stack> stack, find_stack(context));
  MR_ASSIGN(Tensor value, stack->pop());
  if (value.dtype() != context.output_dtype(0)) {
    // The code that TensorFlow gives for a value of another type than the node told.
    return internal("'", context.node_name(), "' pops ", dtype_name(context.output_dtype(0)),
                    ", but the stack holds ", dtype_name(value.dtype()));
  }
  return value;
}

Status close_stack(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<Stack> stack, find_stack(context));
  stack->close_stack();
  return {};
}

Status infer_push(InferContext& context) {
  context.set_output(0, context.input(1));
  return {};
}

OpDef stack_op(std::string name, std::string doc, std::string signature, InferFn infer,
               KernelFactory cpu) {
  OpDef made = stateful_op(std::move(name), std::move(doc), std::move(signature), std::move(infer),
                           std::move(cpu), Cost::cheap);
  made.not_differentiable = "a value comes back from a stack by another way than edges";
  return made;
}

}  // namespace

Status register_stacks(OpRegistry& ops) {
  MR_TRY(ops.add(stack_op("StackV2", "A stack of tensors, which lives as long as the step.",
                          "max_size: int32 -> handle: resource | elem_type: type, "
                          "stack_name: string = ''",
                          infer::scalar, kernel_class<StackKernel>())));
  MR_TRY(ops.add(stack_op("Stack", "A stack of any number of tensors, as long as the step.",
                          "-> handle: ref(string) | elem_type: type, stack_name: string = ''",
                          infer_handle_strings, kernel_class<StackKernel>())));
  for (const bool v2 : {true, false}) {
    const std::string version = v2 ? "V2" : "";
    const std::string handle = v2 ? "handle: resource" : "handle: ref(string)";
    MR_TRY(ops.add(stack_op("StackPush" + version, "Puts elem on the stack, and gives it on.",
                            handle + ", elem: T -> output: T | T: type, swap_memory: bool = false",
                            infer_push, kernel(push))));
    MR_TRY(ops.add(
        stack_op("StackPop" + version, "Takes the tensor that was put on the stack last.",
                 handle + " -> elem: elem_type | elem_type: type", infer::unknown, kernel(pop))));
    MR_TRY(ops.add(stack_op("StackClose" + version, "Forgets the stack before the step ends.",
                            handle + " ->", infer::no_outputs, kernel(close_stack))));
  }
  return {};
}

}  // namespace millrace
