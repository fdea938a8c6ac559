#include "millrace/ops/loops/elementwise.h"

#include <atomic>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/loops/strides.h"

namespace millrace::cpu {
namespace {

class UnaryKernel final : public Kernel {
 public:
  UnaryKernel(UnaryLoop loop, int64_t cost) : loop_(loop), cost_(cost) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(Tensor out, context.reuse_or_allocate(0, 0, context.input(0).shape()));
    const char* from = static_cast<const char*>(context.input(0).data());
    char* to = static_cast<char*>(out.mutable_data());
    const auto in_size = static_cast<int64_t>(dtype_size(context.input(0).dtype()));
    const auto out_size = static_cast<int64_t>(dtype_size(out.dtype()));
    MR_TRY(share_pieces(context, out.num_elements(), cost_, [&](int64_t begin, int64_t count) {
      loop_(from + begin * in_size, to + begin * out_size, count);
    }));
    context.set_output(0, std::move(out));
    return {};
  }

 private:
  const UnaryLoop loop_;
  const int64_t cost_;
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
    MR_TRY(run_binary(context, loop_, a, b, out, options_));
    context.set_output(0, std::move(out));
    return {};
  }

 private:
  const BinaryLoop loop_;
  const BinaryOptions options_;
};

// Two tensors and the one that becomes of them, walked through with broadcasting.
struct BinaryWalk {
  BinaryWalk(BinaryLoop loop, const Tensor& a, const Tensor& b, Tensor& out)
      : loop(loop),
        a_data(static_cast<const char*>(a.data())),
        b_data(static_cast<const char*>(b.data())),
        out_data(static_cast<char*>(out.mutable_data())),
        in_size(static_cast<int64_t>(dtype_size(a.dtype()))),
        out_size(static_cast<int64_t>(dtype_size(out.dtype()))),
        over(over_shapes(a.shape(), b.shape(), out.shape())) {}

  static Walk<3> over_shapes(const Shape& a, const Shape& b, const Shape& out) {
    // As one run, without a look at the axes.
    static constexpr int64_t kOne = 1;
    const int64_t n = out.num_elements();
    if (a == b) return Walk<3>({&n, 1}, {{{&kOne, 1}, {&kOne, 1}, {&kOne, 1}}});
    const Strides a_strides = broadcast_strides(a, out), b_strides = broadcast_strides(b, out);
    const Strides out_strides = row_major_strides(out);
    return Walk<3>(out.dims(), {a_strides, b_strides, out_strides});
  }

  // A part of it, or all. False if an element had no result.
  Result<bool> run(const Walk<3>& part, CancelProbe& probe) const {
    bool all_have_results = true;
    MR_TRY(part.each_piece(probe, [&](const std::array<int64_t, 3>& at, int64_t count) {
      all_have_results &=
          loop(a_data + at[0] * in_size, part.run_stride(0), b_data + at[1] * in_size,
               part.run_stride(1), out_data + at[2] * out_size, count);
    }));
    return all_have_results;
  }

  const BinaryLoop loop;
  const char *const a_data, *const b_data;
  char* const out_data;
  const int64_t in_size, out_size;
  const Walk<3> over;
};

}  // namespace

Status no_loop(const KernelSpec& spec, DType dtype) {
  return unimplemented("'", spec.node_name, "': op ", spec.attrs.op().name,
                       " has no CPU kernel for type ", dtype_name(dtype));
}

Result<std::unique_ptr<Kernel>> make_unary(const KernelSpec& spec, UnaryLoop loop, int64_t cost) {
  if (loop == nullptr) return no_loop(spec, spec.inputs[0].dtype);
  return std::unique_ptr<Kernel>(std::make_unique<UnaryKernel>(loop, cost));
}

Result<std::unique_ptr<Kernel>> make_binary(const KernelSpec& spec, BinaryLoop loop,
                                            BinaryOptions options) {
  if (loop == nullptr) return no_loop(spec, spec.inputs[0].dtype);
  return std::unique_ptr<Kernel>(std::make_unique<BinaryKernel>(loop, options));
}

Status run_binary(KernelContext& context, BinaryLoop loop, const Tensor& a, const Tensor& b,
                  Tensor& out, const BinaryOptions& options) {
  const BinaryWalk walk(loop, a, b, out);
  std::atomic<bool> all_have_results = true;
  const int64_t outer = walk.over.outer_length();
  const int64_t each = outer == 0 ? 0 : out.num_elements() / outer;
  MR_TRY(share_range(context, outer, each * options.cost,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       const bool is_all = end - begin == outer;
                       MR_ASSIGN(const bool has_results,
                                 is_all ? walk.run(walk.over, probe)
                                        : walk.run(walk.over.outer_part(begin, end), probe));
                       if (!has_results) all_have_results = false;
                       return {};
                     }));
  return all_have_results ? Status() : invalid(options.no_result);
}

}  // namespace millrace::cpu
