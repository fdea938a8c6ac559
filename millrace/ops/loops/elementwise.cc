#include "millrace/ops/loops/elementwise.h"

#include "millrace/op/infer.h"
#include "millrace/ops/loops/strides.h"

namespace millrace::cpu {
namespace {

class UnaryKernel final : public Kernel {
 public:
  explicit UnaryKernel(UnaryLoop loop) : loop_(loop) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(Tensor out, context.reuse_or_allocate(0, 0, context.input(0).shape()));
    loop_(context.input(0).data(), out.mutable_data(), out.num_elements());
    context.set_output(0, std::move(out));
    return {};
  }

 private:
  const UnaryLoop loop_;
};

class BinaryKernel final : public Kernel {
 public:
  BinaryKernel(BinaryLoop loop, BinaryOptions options) : loop_(loop), options_(options) {}
  Status run(KernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    const Result<Shape> shape = broadcast_shapes(a.shape(), b.shape());
    if (!shape.ok()) {
      if (options_.mismatch == Mismatch::is_error) return shape.status();
      context.set_output(0, Tensor::scalar(options_.mismatch == Mismatch::is_true));
      return {};
    }
    MR_ASSIGN(Tensor out, context.reuse_or_allocate(*shape == a.shape() ? 0 : 1, 0, *shape));
    MR_TRY(run_binary(loop_, a, b, out, options_.no_result));
    context.set_output(0, std::move(out));
    return {};
  }

 private:
  const BinaryLoop loop_;
  const BinaryOptions options_;
};

}  // namespace

Status no_loop(const KernelSpec& spec, DType dtype) {
  return unimplemented("'", spec.node_name, "': op ", spec.attrs.op().name,
                       " has no CPU kernel for type ", dtype_name(dtype));
}

Result<std::unique_ptr<Kernel>> make_unary(const KernelSpec& spec, UnaryLoop loop) {
  if (loop == nullptr) return no_loop(spec, spec.inputs[0].dtype);
  return std::unique_ptr<Kernel>(std::make_unique<UnaryKernel>(loop));
}

Result<std::unique_ptr<Kernel>> make_binary(const KernelSpec& spec, BinaryLoop loop,
                                            BinaryOptions options) {
  if (loop == nullptr) return no_loop(spec, spec.inputs[0].dtype);
  return std::unique_ptr<Kernel>(std::make_unique<BinaryKernel>(loop, options));
}

Status run_binary(BinaryLoop loop, const Tensor& a, const Tensor& b, Tensor& out,
                  std::string_view no_result) {
  const char* a_data = static_cast<const char*>(a.data());
  const char* b_data = static_cast<const char*>(b.data());
  char* out_data = static_cast<char*>(out.mutable_data());
  bool all_have_results = true;
  if (a.shape() == b.shape()) {
    all_have_results = loop(a_data, 1, b_data, 1, out_data, out.num_elements());
  } else {
    const Strides a_strides = broadcast_strides(a.shape(), out.shape());
    const Strides b_strides = broadcast_strides(b.shape(), out.shape());
    const Strides out_strides = row_major_strides(out.shape());
    const Walk<3> walk(out.shape().dims(), {a_strides, b_strides, out_strides});
    const auto in_size = static_cast<int64_t>(dtype_size(a.dtype()));
    const auto out_size = static_cast<int64_t>(dtype_size(out.dtype()));
    all_have_results = walk.each_run([&](const std::array<int64_t, 3>& at) {
      return loop(a_data + at[0] * in_size, walk.run_stride(0), b_data + at[1] * in_size,
                  walk.run_stride(1), out_data + at[2] * out_size, walk.run_length());
    });
  }
  return all_have_results ? Status() : invalid(no_result);
}

}  // namespace millrace::cpu
