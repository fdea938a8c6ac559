#include "millrace/ops/loops/elementwise.h"

#include <atomic>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/loops/strided_copy.h"
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
      : in_type(a.dtype()),
        loop(loop),
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

  // Whether operand `side` is a short row that meets every row of the other: the biases of a few
  // channels, say.
  bool repeats_short_row(int side) const {
    if (over.axes() != 2 || over.run_length() > kRepeated / 4) return false;
    const int64_t row = over.run_length();
    // Of few rows the short one would be behind itself oftener than it is met.
    if (over.outer_length() < 4 * (kRepeated / row)) return false;
    const bool is_dense = over.run_stride(0) == 1 && over.run_stride(1) == 1 &&
                          over.stride(1 - side, 1) == row && over.stride(2, 1) == row;
    return is_dense && over.stride(side, 1) == 0;
  }
  // The loop is called for many rows at once, with the short one as often behind itself: calls for
  // some elements each would cost more than these.
  Status run_repeated(KernelContext& context, int side, int64_t cost,
                      std::atomic<bool>& all_have_results) const {
    const int64_t row = over.run_length(), times = kRepeated / row, block = row * times;
    const int64_t elements = row * over.outer_length();
    MR_ASSIGN(Tensor repeated, Tensor::allocate(in_type, {block}));
    const char* const once = side == 0 ? a_data : b_data;
    char* const many = static_cast<char*>(repeated.mutable_data());
    for (int64_t i = 0; i < times; ++i) copy_elements(in_type, once, many + i * row * in_size, row);
    return share_range(context, (elements + block - 1) / block, block * cost,
                       [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                         for (int64_t at = begin * block; at < std::min(elements, end * block);
                              at += block) {
                           const int64_t count = std::min(block, elements - at);
                           const char* const x = side == 0 ? many : a_data + at * in_size;
                           const char* const y = side == 1 ? many : b_data + at * in_size;
                           if (!loop(x, 1, y, 1, out_data + at * out_size, count))
                             all_have_results = false;
                           if (!probe.go_on(count)) return probe.status();
                         }
                         return {};
                       });
  }

  // Elements of a row that is repeated.
  static constexpr int64_t kRepeated = 1024;

  const DType in_type;
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
  if (out.num_elements() == 0) return {};
  const BinaryWalk walk(loop, a, b, out);
  std::atomic<bool> all_have_results = true;
  for (const int side : {0, 1}) {
    if (!walk.repeats_short_row(side)) continue;
    MR_TRY(walk.run_repeated(context, side, options.cost, all_have_results));
    return all_have_results ? Status() : invalid(options.no_result);
  }
  const int64_t outer = walk.over.outer_length();
  const int64_t each = out.num_elements() / outer;
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
