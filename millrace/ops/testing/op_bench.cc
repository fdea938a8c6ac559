#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

constexpr std::string_view kDevice = "/job:localhost/replica:0/task:0/device:CPU:0";

Result<Tensor> read(const TensorRef& ref) {
  MutexLock lock(*ref.mutex);
  if (!ref.tensor->has_value())
    return failed_precondition("Attempting to use uninitialized value ", ref.name);
  return *ref.tensor;
}

DType dtype_of_value(const Value& value) {
  if (!value.ref) return value.tensor.dtype();
  MutexLock lock(*value.ref->mutex);
  return value.ref->tensor->dtype();
}

}  // namespace

Result<Attrs> complete_attrs(const OpDef& op, std::span<const DType> inputs, Attrs attrs) {
  // What is left for the one argument of which the number is not known.
  size_t spare = inputs.size();
  for (const ArgDef& arg : op.inputs) {
    if (!arg.number_attr.empty() || !arg.type_list_attr.empty()) continue;
    if (spare == 0) return invalid("op ", op.name, " needs more than ", inputs.size(), " inputs");
    --spare;
  }
  size_t slot = 0;
  for (const ArgDef& arg : op.inputs) {
    size_t count = 1;
    if (!arg.number_attr.empty()) {
      const AttrValue* given = attrs.find(arg.number_attr);
      if (given == nullptr) attrs.set(arg.number_attr, static_cast<int64_t>(spare));
      count = given != nullptr && given->as_int() ? static_cast<size_t>(*given->as_int()) : spare;
    }
    if (!arg.type_list_attr.empty()) {
      const AttrValue* given = attrs.find(arg.type_list_attr);
      count = given != nullptr && given->as_list_of<DType>() ? given->as_list_of<DType>()->size()
                                                             : spare;
    }
    if (count > inputs.size() - slot)
      return invalid("op ", op.name, " needs more than ", inputs.size(), " inputs");
    const std::span<const DType> types = inputs.subspan(slot, count);
    if (!arg.type_list_attr.empty() && attrs.find(arg.type_list_attr) == nullptr)
      attrs.set(arg.type_list_attr, std::vector<DType>(types.begin(), types.end()));
    if (!arg.type_attr.empty() && count > 0 && attrs.find(arg.type_attr) == nullptr)
      attrs.set(arg.type_attr, types[0]);
    slot += count;
  }
  if (slot == inputs.size()) return attrs;
  return invalid("op ", op.name, " takes ", slot, " inputs, not ", inputs.size());
}

Result<std::vector<Value>> Running::outputs() {
  MR_TRY(status_);
  return std::move(outputs_);
}

Bench::Bench(const OpRegistry& ops) : ops_(ops) {
  device_ = {.name = std::string(kDevice), .incarnation = 1, .resources = &resources_};
  step_.step_id = 1;
  step_.device = &device_;
  step_.cancellation = &cancellation_;
  step_.step_resources = &step_resources_;
}

Result<std::unique_ptr<Running>> Bench::start(std::string_view op_name, std::vector<Value> inputs,
                                              BenchNode node) {
  const OpDef* op = ops_.find(op_name);
  if (op == nullptr) return not_found("no op '", op_name, "'");
  if (!op->cpu) return unimplemented("op ", op_name, " has no CPU kernel");

  std::vector<DType> dtypes;
  for (const Value& input : inputs) dtypes.push_back(dtype_of_value(input));
  auto running = std::make_unique<Running>();
  MR_ASSIGN(running->attrs_, complete_attrs(*op, dtypes, std::move(node.attrs)));
  MR_TRY(check_attrs(*op, running->attrs_));
  MR_ASSIGN(running->input_types_, resolve_args(*op, op->inputs, running->attrs_));
  MR_ASSIGN(running->output_types_, resolve_args(*op, op->outputs, running->attrs_));

  running->inputs_ = std::move(inputs);
  for (size_t slot = 0; slot < running->inputs_.size(); ++slot) {
    Value& input = running->inputs_[slot];
    if (input.ref && !running->input_types_[slot].is_ref) {
      MR_ASSIGN(Tensor tensor, read(*input.ref));
      input = Value(std::move(tensor));
    }
    const bool is_absent = !input.ref && !input.tensor.has_value();
    if (!input.ref && !is_absent && input.tensor.dtype() != running->input_types_[slot].dtype) {
      return invalid("input ", slot, " of ", op_name, " is ", dtype_name(input.tensor.dtype()),
                     "; expected ", dtype_name(running->input_types_[slot].dtype));
    }
  }
  running->outputs_.resize(running->output_types_.size());
  running->node_name_ = std::move(node.name);
  MR_ASSIGN(running->kernel_, op->cpu({running->node_name_,
                                       {*op, running->attrs_},
                                       running->input_types_,
                                       running->output_types_,
                                       kDevice,
                                       device_.random}));
  if (auto* caller = dynamic_cast<FunctionCaller*>(running->kernel_.get()))
    caller->give_functions(functions_);
  running->context_ = std::make_unique<KernelContext>(step_, running->node_name_, running->inputs_,
                                                      running->outputs_, running->output_types_,
                                                      node.where, node.input_is_dead);

  Done<void> done([run = running.get()](Status status) {
    run->status_ = std::move(status);
    run->done_.store(true, std::memory_order_release);
  });
  if (running->kernel_->is_async()) {
    running->kernel_->start(*running->context_, std::move(done));
  } else {
    done(running->kernel_->run(*running->context_));
  }
  return running;
}

Result<std::vector<Value>> Bench::run(std::string_view op, std::vector<Value> inputs,
                                      BenchNode node) {
  MR_ASSIGN(const std::unique_ptr<Running> running, start(op, std::move(inputs), std::move(node)));
  if (running->is_done()) return running->outputs();
  cancellation_.cancel(internal("op ", op, " was run as if it never waits"));
  return cancellation_.reason();
}

Result<std::vector<Tensor>> run_op(const OpRegistry& ops, std::string_view op,
                                   std::vector<Tensor> inputs, Attrs attrs) {
  Bench bench(ops);
  std::vector<Value> values(std::make_move_iterator(inputs.begin()),
                            std::make_move_iterator(inputs.end()));
  MR_ASSIGN(std::vector<Value> outputs,
            bench.run(op, std::move(values), {.attrs = std::move(attrs)}));
  std::vector<Tensor> tensors;
  for (Value& output : outputs) tensors.push_back(std::move(output.tensor));
  return tensors;
}

}  // namespace millrace
