// Part of families.h: register_temporaries.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/variable.h"
#include "millrace/ops/state/variable_handle.h"

namespace millrace {
namespace {

// A variable's name in its step: one of its own for each iteration of a loop.
std::string name_in_step(const KernelContext& context, const std::string& name) {
  return str_cat("temporary/", name, "/", context.where().frame, "/", context.where().iteration);
}

class TemporaryKernel final : public Kernel {
 public:
  TemporaryKernel(std::string name, DType dtype, PartialShape shape)
      : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}

  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(std::string name, spec.attrs.string("var_name"));
    MR_ASSIGN(const DType dtype, spec.attrs.type("dtype"));
    MR_ASSIGN(PartialShape shape, spec.attrs.shape("shape"));
    if (!shape.to_shape())
      return invalid("TemporaryVariable's shape must be known, not ", shape.to_string());
    if (name.empty()) name = spec.node_name;
    return std::unique_ptr<Kernel>(
        std::make_unique<TemporaryKernel>(std::move(name), dtype, std::move(shape)));
  }

  Status run(KernelContext& context) override {
    ResourceStore* store = context.step().step_resources;
    if (store == nullptr) return internal("a temporary variable needs a step");
    MR_ASSIGN(Tensor value, Tensor::zeros(dtype_, *shape_.to_shape()));
    const auto variable = std::make_shared<StoredVariable>(name_, dtype_, shape_);
    {
      MutexLock lock(variable->mutex());
      *variable->tensor() = std::move(value);
    }
    MR_TRY(store->add<StoredVariable>("", name_in_step(context, name_), variable));
    context.set_output_ref(0, reference_to(variable));
    return {};
  }

 private:
  const std::string name_;
  const DType dtype_;
  const PartialShape shape_;
};

Status destroy_temporary(KernelContext& context, const std::string& name) {
  const TensorRef& ref = context.input_ref(0);
  Tensor value;
  {
    MutexLock lock(*ref.mutex);
    value = *ref.tensor;
  }
  MR_TRY(context.step().step_resources->remove<StoredVariable>("", name_in_step(context, name)));
  context.set_output(0, std::move(value));
  return {};
}

// --- ResourceCountUpTo ---

// Gives the count and moves it on, in one step under the lock.
class ResourceCountKernel final : public Kernel {
 public:
  ResourceCountKernel(DType dtype, int64_t limit) : dtype_(dtype), limit_(limit) {}
  Status run(KernelContext& context) override {
    Tensor before;
    MR_TRY(variable_.change(context, dtype_, [&](Tensor& tensor) -> Status {
      if (!tensor.shape().is_scalar())
        return invalid("Must be scalar: ", tensor.shape().to_string());
      before = tensor;
      const bool is_wide = dtype_ == DType::i64;
      const int64_t count = is_wide ? tensor.item<int64_t>() : tensor.item<int32_t>();
      if (count >= limit_) return out_of_range("Reached limit of ", limit_);
      tensor = is_wide ? Tensor::scalar<int64_t>(count + 1)
                       : Tensor::scalar<int32_t>(static_cast<int32_t>(count + 1));
      return {};
    }));
    context.set_output(0, std::move(before));
    return {};
  }

 private:
  const DType dtype_;
  const int64_t limit_;
  VariableHandle variable_;
};

}  // namespace

Status register_temporaries(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "TemporaryVariable",
      .doc = "A variable that lives in this step, until DestroyTemporaryVariable takes its value.",
      .signature = "-> ref: ref(dtype) | shape: shape, dtype: type, var_name: string = ''",
      .infer = infer::shape_attr,
      .cpu = kernel_class<TemporaryKernel>(),
      .not_differentiable = "it has no input",
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
  }));
  MR_TRY(ops.add({
      .name = "DestroyTemporaryVariable",
      .doc = "The value of a temporary variable, which is gone afterwards.",
      .signature = "ref: ref(T) -> value: T | T: type, var_name: string",
      .infer = infer::same_as_input,
      .cpu = kernel_with(destroy_temporary, text("var_name")),
      .not_differentiable = "its variable was written to in ways that nothing keeps",
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
  }));
  return ops.add({
      .name = "ResourceCountUpTo",
      .doc = "The variable's count, which is one higher afterwards; at limit, OUT_OF_RANGE.",
      .signature = "resource: resource -> output: T | limit: int, T: {int32, int64}",
      .infer = infer::scalar,
      .cpu = kernel_from<ResourceCountKernel>(type("T"), integer("limit")),
      .not_differentiable = "its result is a count",
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
  });
}

}  // namespace millrace
