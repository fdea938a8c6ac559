// Part of families.h: register_matmuls.
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"
#include "millrace/ops/math/multiplier.h"

namespace millrace {
namespace {

class ProductKernel final : public Kernel {
 public:
  ProductKernel(Side a, Side b, ProductLoop loop) : multiplier_(a, b, loop) {}
  Status run(KernelContext& context) override {
    return context.set_output(0, multiplier_.run(context, context.input(0), context.input(1)));
  }

 private:
  const Multiplier multiplier_;
};

Result<Side> side_of(const AttrView& attrs, std::string_view attr, Side turned) {
  MR_ASSIGN(const bool is_turned, attrs.boolean(attr));
  return is_turned ? turned : Side::as_is;
}

// What the attributes are called that turn the operands, and whether that conjugates.
struct Naming {
  std::string_view a, b;
  Side turned;
  bool only_matrices;
};
constexpr Naming kMatMul = {"transpose_a", "transpose_b", Side::transposed, true};
constexpr Naming kBatchMatMul = {"adj_x", "adj_y", Side::adjoint, false};

struct BoundSide {
  std::string_view attr;
  Side turned;
  Result<Side> read(const KernelSpec& spec) const { return side_of(spec.attrs, attr, turned); }
};

KernelFactory product_kernel(Naming naming) {
  return kernel_from<ProductKernel>(BoundSide{naming.a, naming.turned},
                                    BoundSide{naming.b, naming.turned},
                                    cpu::LoopFor{product_loop_for});
}

InferFn infer_product(Naming naming) {
  return [naming](InferContext& context) -> Status {
    MR_ASSIGN(const Side a, side_of(context.attrs(), naming.a, naming.turned));
    MR_ASSIGN(const Side b, side_of(context.attrs(), naming.b, naming.turned));
    if (naming.only_matrices) {
      MR_TRY(context.input_of_rank(0, 2));
      MR_TRY(context.input_of_rank(1, 2));
    }
    return context.set_output(0, product_shape(context.input(0), a, context.input(1), b));
  };
}

// Of float32 and bfloat16 in any pair, to float32.
Result<Tensor> mixed_product(KernelContext& context, Side a_side, Side b_side) {
  MR_ASSIGN(const Tensor a, widened(context.input(0), CancelProbe(context)));
  MR_ASSIGN(const Tensor b, widened(context.input(1), CancelProbe(context)));
  return Multiplier(a_side, b_side, product_loop_for(DType::f32)).run(context, a, b);
}

}  // namespace

Status register_matmuls(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "SparseMatMul",
      .doc = "The product of two matrices of which one may be mostly zeros, which changes nothing "
             "of it.",
      .signature = "a: Ta, b: Tb -> product: float | transpose_a: bool = false, "
                   "transpose_b: bool = false, a_is_sparse: bool = false, "
                   "b_is_sparse: bool = false, Ta: {float, bfloat16} = float, "
                   "Tb: {float, bfloat16} = float",
      .infer = infer_product(kMatMul),
      .cpu = kernel_with(mixed_product, BoundSide{kMatMul.a, kMatMul.turned},
                         BoundSide{kMatMul.b, kMatMul.turned}),
      .grad = grad::mixed_matmul,
      .cost = Cost::heavy,
      .examples = {"[[1 0] [0 4]], [[5] [6]] -> [[5] [24]]",
                   "[[1 0] [0 4]], [[5 6]] -> [[5] [24]] | transpose_b = true, a_is_sparse = true"},
  }));
  MR_TRY(ops.add({
      .name = "MatMul",
      .doc = "The product of two matrices, either of which may be transposed first.",
      .signature = "a: T, b: T -> product: T | transpose_a: bool = false, "
                   "transpose_b: bool = false, T: {bfloat16, half, float, double, int32, int64, "
                   "uint8, uint16, uint32, uint64, complex64, complex128}, grad_a: bool = false, "
                   "grad_b: bool = false",
      .infer = infer_product(kMatMul),
      .cpu = product_kernel(kMatMul),
      .grad = grad::matmul,
      .cost = Cost::heavy,
      .examples = {"[[1 2] [3 4]], [[5] [6]] -> [[17] [39]]",
                   "[[1 3] [2 4]], [[5 6]] -> [[17] [39]] | transpose_a = true, transpose_b = true",
                   "[[1] [2] [3] [4] [5]], [[2 1]] -> [[2 1] [4 2] [6 3] [8 4] [10 5]]"},
  }));
  // The first version lacks the small integers.
  const std::pair<const char*, const char*> versions[] = {
      {"BatchMatMul", "{bfloat16, half, float, double, int32, int64, complex64, complex128}"},
      {"BatchMatMulV2",
       "{bfloat16, half, float, double, int16, int32, int64, uint8, uint16, "
       "uint32, uint64, complex64, complex128}"}};
  for (const auto& [name, types] : versions) {
    MR_TRY(ops.add({
        .name = name,
        .doc = "The products of the matrices in the last two axes, either of which may be replaced "
               "by its adjoint first; the other axes broadcast.",
        .signature = str_cat("x: T, y: T -> output: T | T: ", types,
                             ", adj_x: bool = false, adj_y: bool = false, grad_x: bool = false, "
                             "grad_y: bool = false"),
        .infer = infer_product(kBatchMatMul),
        .cpu = product_kernel(kBatchMatMul),
        .grad = grad::batch_matmul,
        .cost = Cost::heavy,
        .examples = {"[[[1 2]] [[3 4]]], [[[5] [6]]] -> [[[17]] [[39]]]",
                     "[[1 2]], [[5 6]] -> [[17]] | adj_y = true"},
    }));
  }
  return {};
}

}  // namespace millrace
