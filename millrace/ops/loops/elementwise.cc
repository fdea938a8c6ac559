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
    const char* from = static_cast<const char*>(context.input(0).data());
    char* to = static_cast<char*>(out.mutable_data());
    const auto in_size = static_cast<int64_t>(dtype_size(context.input(0).dtype()));
    const auto out_size = static_cast<int64_t>(dtype_size(out.dtype()));
    MR_TRY(CancelProbe(context).in_pieces(out.num_elements(), [&](int64_t begin, int64_t count) {
      loop_(from + begin * in_size, to + begin * out_size, count);
    }));
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
    // Only an input of the output's shape may lend its buffer: elements of one that is broadcast
    // are read again after the first of them would have been written over.
    MR_ASSIGN(Tensor out, context.reuse_or_allocate(*shape == a.shape() ? 0 : 1, 0, *shape));
    CancelProbe probe(context);
    MR_TRY(run_binary(loop_, a, b, out, options_.no_result, probe));
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
                  std::string_view no_result, CancelProbe& probe) {
  const char* a_data = static_cast<const char*>(a.data());
  const char* b_data = static_cast<const char*>(b.data());
  char* out_data = static_cast<char*>(out.mutable_data());
  const auto in_size = static_cast<int64_t>(dtype_size(a.dtype()));
  const auto out_size = static_cast<int64_t>(dtype_size(out.dtype()));
  bool all_have_results = true;
  if (a.shape() == b.shape()) {
    MR_TRY(probe.in_pieces(out.num_elements(), [&](int64_t begin, int64_t count) {
      all_have_results &= loop(a_data + begin * in_size, 1, b_data + begin * in_size, 1,
                               out_data + begin * out_size, count);
    }));
  } else {
    const Strides a_strides = broadcast_strides(a.shape(), out.shape());
    const Strides b_strides = broadcast_strides(b.shape(), out.shape());
    const Strides out_strides = row_major_strides(out.shape());
    const Walk<3> walk(out.shape().dims(), {a_strides, b_strides, out_strides});
    MR_TRY(walk.each_piece(probe, [&](const std::array<int64_t, 3>& at, int64_t count) {
      all_have_results &=
          loop(a_data + at[0] * in_size, walk.run_stride(0), b_data + at[1] * in_size,
               walk.run_stride(1), out_data + at[2] * out_size, count);
    }));
  }
  return all_have_results ? Status() : invalid(no_result);
}

}  // namespace millrace::cpu
