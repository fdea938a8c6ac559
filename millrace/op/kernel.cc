#include "millrace/op/kernel.h"

namespace millrace {
namespace {

class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(const std::function<Status(KernelContext&)>& run) : run_(run) {}
  Status run(KernelContext& context) override { return run_(context); }

 private:
  const std::function<Status(KernelContext&)> run_;
};

}  // namespace

Result<Tensor> KernelContext::reuse_or_allocate(int input, int output, const Shape& shape) {
  const DType dtype = output_dtype(output);
  Tensor& given = inputs_[input].tensor;
  const bool fits = given.dtype() == dtype && given.num_elements() == shape.num_elements();
  if (!fits || !given.is_sole_owner()) return Tensor::allocate(dtype, shape);
  // The input keeps its view of the buffer, so that the kernel can read element i before it writes
  // element i.
  return given.reshaped(shape);
}

Status Kernel::run(KernelContext& context) {
  return internal("the kernel of '", context.node_name(),
                  "' is asynchronous and was run as if it were not");
}

void Kernel::start(KernelContext& context, Done<void> done) { done(run(context)); }

KernelFactory kernel(std::function<Status(KernelContext&)> run) {
  return [run = std::move(run)](const KernelSpec&) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(std::make_unique<FunctionKernel>(run));
  };
}

}  // namespace millrace
