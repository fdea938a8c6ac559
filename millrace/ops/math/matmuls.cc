// Part of families.h: register_matmuls.
#include <algorithm>
#include <span>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/math/casting.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"
#include "millrace/ops/math/multiplier.h"

namespace millrace {
namespace {

class ProductKernel : public Kernel {
 public:
  ProductKernel(Side a, Side b, ProductLoop loop) : multiplier_(a, b, loop) {}
  Status run(KernelContext& context) override {
    return context.set_output(0, multiplier_.run(context, context.input(0), context.input(1)));
  }

 private:
  const Multiplier multiplier_;
};

// Of BatchMatMul's first version, whose axes before the matrices do not broadcast. Of shapes, and
// of what is known of them.
template <class AnyShape>
Status check_same_batches(const AnyShape& x, const AnyShape& y) {
  if (x.rank() < 2 || y.rank() < 2) return {};
  const auto may_be_same = [](int64_t a, int64_t b) {
    return a == b || a == kUnknownDim || b == kUnknownDim;
  };
  const std::span<const int64_t> of_x = x.dims(), of_y = y.dims();
  const size_t x_axes = of_x.size() - 2, y_axes = of_y.size() - 2;
  if (std::ranges::equal(of_x.first(x_axes), of_y.first(y_axes), may_be_same)) return {};
  return invalid(
      "x is ", x.to_string(), " and y is ", y.to_string(),
      "; the axes before their matrices must be the same. BatchMatMulV2 broadcasts them");
}

class SameBatchesKernel final : public ProductKernel {
 public:
  using ProductKernel::ProductKernel;
  Status run(KernelContext& context) override {
    MR_TRY(check_same_batches(context.input(0).shape(), context.input(1).shape()));
    return ProductKernel::run(context);
  }
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

template <class Product = ProductKernel>
KernelFactory product_kernel(Naming naming) {
  return kernel_from<Product>(BoundSide{naming.a, naming.turned},
                              BoundSide{naming.b, naming.turned}, cpu::LoopFor{product_loop_for});
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

// Both operands as Cast makes them of the product's type.
struct ProductOfTypes {
  CastLoop cast_a, cast_b;
  ProductLoop multiply;
};

struct BoundProductOfTypes {
  Result<ProductOfTypes> read(const KernelSpec& spec) const {
    const DType made = spec.outputs[0].dtype;
    const ProductOfTypes loops{cast_loop_for(spec.inputs[0].dtype, made),
                               cast_loop_for(spec.inputs[1].dtype, made), product_loop_for(made)};
    if (loops.cast_a != nullptr && loops.cast_b != nullptr && loops.multiply != nullptr)
      return loops;
    return cpu::no_loop(spec, made);
  }
};

Result<Tensor> product_of_types(KernelContext& context, Side a_side, Side b_side,
                                const ProductOfTypes& loops) {
  const DType made = context.output_dtype(0);
  MR_ASSIGN(const Tensor a, cast_by(loops.cast_a, context, context.input(0), made));
  MR_ASSIGN(const Tensor b, cast_by(loops.cast_b, context, context.input(1), made));
  return Multiplier(a_side, b_side, loops.multiply).run(context, a, b);
}

constexpr std::string_view kBatchDoc =
    "The products of the matrices in the last two axes, either of which may be replaced by its "
    "adjoint first; the other axes ";
constexpr std::string_view kAdjoints =
    "adj_x: bool = false, adj_y: bool = false, grad_x: bool = false, grad_y: bool = false";

Status register_batch_matmul_of_types(OpRegistry& ops) {
  constexpr std::string_view kOperands =
      "{bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}";
  constexpr std::string_view kProducts =
      "{bfloat16, half, float, double, int16, int32, int64, complex64, complex128}";
  return ops.add({
      .name = "BatchMatMulV3",
      .doc = str_cat(kBatchDoc,
                     "broadcast. Operands of another type than the product are cast to it."),
      .signature = str_cat("x: Ta, y: Tb -> output: Tout | Ta: ", kOperands, ", Tb: ", kOperands,
                           ", Tout: ", kProducts, ", ", kAdjoints),
      .infer = infer_product(kBatchMatMul),
      .cpu = kernel_with(product_of_types, BoundSide{kBatchMatMul.a, kBatchMatMul.turned},
                         BoundSide{kBatchMatMul.b, kBatchMatMul.turned}, BoundProductOfTypes{}),
      .grad = grad::batch_matmul_of_types,
      .cost = Cost::heavy,
      .examples = {"[[[1 2]] [[3 4]]], [[[5] [6]]] -> [[[17]] [[39]]]",
                   "[[1 2]], [[5 6]] -> [[17]] | adj_y = true",
                   "[[100 100]], [[100] [100]] -> [[20000]] | Ta = int8, Tb = uint8, Tout = int32",
                   "[[1] [2]], [[1.5] [0.5]] -> [[2.5]] | Ta = int32, Tb = double, Tout = double, "
                   "adj_x = true"},
  });
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
  // The first version lacks the small integers, and does not broadcast.
  struct Version {
    const char *name, *batches, *types, *example;
    InferFn infer;
    KernelFactory kernel;
  };
  const InferFn infer_same_batches = [](InferContext& context) -> Status {
    const PartialShape &x = context.input(0), &y = context.input(1);
    if (x.has_rank() && y.has_rank()) MR_TRY(check_same_batches(x, y));
    return infer_product(kBatchMatMul)(context);
  };
  const Version versions[] = {
      {"BatchMatMul", "are the same",
       "{bfloat16, half, float, double, int32, int64, complex64, complex128}",
       "[[[1 2]] [[3 4]]], [[[5] [6]] [[1] [2]]] -> [[[17]] [[11]]]", infer_same_batches,
       product_kernel<SameBatchesKernel>(kBatchMatMul)},
      {"BatchMatMulV2", "broadcast",
       "{bfloat16, half, float, double, int16, int32, int64, uint8, uint16, "
       "uint32, uint64, complex64, complex128}",
       "[[[1 2]] [[3 4]]], [[[5] [6]]] -> [[[17]] [[39]]]", infer_product(kBatchMatMul),
       product_kernel(kBatchMatMul)}};
  for (const auto& [name, batches, types, example, infer, kernel] : versions) {
    MR_TRY(ops.add({
        .name = name,
        .doc = str_cat(kBatchDoc, batches, "."),
        .signature = str_cat("x: T, y: T -> output: T | T: ", types, ", ", kAdjoints),
        .infer = infer,
        .cpu = kernel,
        .grad = grad::batch_matmul,
        .cost = Cost::heavy,
        .examples = {example, "[[1 2]], [[5 6]] -> [[17]] | adj_y = true"},
    }));
  }
  return register_batch_matmul_of_types(ops);
}

}  // namespace millrace
