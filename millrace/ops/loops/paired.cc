#include "millrace/ops/loops/paired.h"

#include "millrace/ops/loops/share_work.h"

namespace millrace::cpu {
namespace {

class PairedKernel final : public Kernel {
 public:
  PairedKernel(std::string op, Alike alike, PairLoop loop)
      : op_(std::move(op)), alike_(alike), loop_(loop) {}
  Status run(KernelContext& context) override {
    MR_TRY(check_alike(context, op_, alike_));
    return context.set_output(0, run_paired(context, loop_));
  }

 private:
  const std::string op_;
  const Alike alike_;
  const PairLoop loop_;
};

}  // namespace

Status check_alike(const KernelContext& context, std::string_view op, Alike alike) {
  const Shape& a = context.input(0).shape();
  const Shape& b = context.input(1).shape();
  if (alike == Alike::shapes && a != b) {
    return invalid("Inputs to operation ", context.node_name(), " of type ", op,
                   " must have the same size and shape.  Input 0: ", a.to_string(),
                   " != input 1: ", b.to_string());
  }
  if (a.num_elements() == b.num_elements()) return {};
  return invalid("The two arguments to a cwise op must have same number of elements, got ",
                 a.num_elements(), " and ", b.num_elements());
}

Result<Tensor> run_paired(KernelContext& context, PairPiece piece) {
  const int lender = context.input(0).is_sole_owner() ? 0 : 1;
  MR_ASSIGN(Tensor out, context.reuse_or_allocate(lender, 0, context.input(0).shape()));
  const auto size = static_cast<int64_t>(dtype_size(out.dtype()));
  const char* a = static_cast<const char*>(context.input(0).data());
  const char* b = static_cast<const char*>(context.input(1).data());
  char* to = static_cast<char*>(out.mutable_data());
  MR_TRY(share_pieces(context, out.num_elements(), 1, [&](int64_t begin, int64_t count) {
    piece(a + begin * size, b + begin * size, to + begin * size, count);
  }));
  return out;
}

Result<std::unique_ptr<Kernel>> make_paired(const KernelSpec& spec, Alike alike, PairLoop loop) {
  if (loop == nullptr) return no_loop(spec, spec.inputs[0].dtype);
  return std::unique_ptr<Kernel>(std::make_unique<PairedKernel>(spec.attrs.op().name, alike, loop));
}

}  // namespace millrace::cpu
