// Part of families.h: register_svds.
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/linalg/gradients.h"
#include "millrace/ops/linalg/svd.h"

namespace millrace {
namespace {

struct SvdWish {
  bool vectors = true, full = false;
};

struct BoundSvdWish {
  Result<SvdWish> read(const KernelSpec& spec) const {
    SvdWish made;
    MR_ASSIGN(made.vectors, spec.attrs.boolean("compute_uv"));
    MR_ASSIGN(made.full, spec.attrs.boolean("full_matrices"));
    return made;
  }
};

Status singular_values(KernelContext& context, SvdLoop loop, SvdWish wish) {
  MR_ASSIGN(const Batch batch, batch_of(context.input(0), 0));
  MR_ASSIGN(const Tensor a, wide_input(context, 0));
  const int64_t inner = std::min(batch.rows, batch.columns);
  MR_ASSIGN(const Shape s_shape, batch.shape({inner}));
  MR_ASSIGN(const Shape u_shape, batch.shape({batch.rows, wish.full ? batch.rows : inner}));
  MR_ASSIGN(const Shape v_shape, batch.shape({batch.columns, wish.full ? batch.columns : inner}));
  MR_ASSIGN(Tensor s, Tensor::allocate(a.dtype(), s_shape));
  MR_ASSIGN(Tensor u, Tensor::allocate(a.dtype(), wish.vectors ? u_shape : Shape{0}));
  MR_ASSIGN(Tensor v, Tensor::allocate(a.dtype(), wish.vectors ? v_shape : Shape{0}));
  if (s.num_elements() + u.num_elements() + v.num_elements() > 0)
    MR_TRY(loop(context, batch, a, {s, u, v, wish.vectors, wish.full}));
  MR_TRY(give(context, 0, s));
  MR_TRY(give(context, 1, u));
  return give(context, 2, v);
}

Status infer_svd(InferContext& context) {
  MR_ASSIGN(const PartialBatch batch, partial_batch(context, 0));
  MR_ASSIGN(const bool vectors, context.attrs().boolean("compute_uv"));
  MR_ASSIGN(const bool full, context.attrs().boolean("full_matrices"));
  const bool is_known = batch.rows != kUnknownDim && batch.columns != kUnknownDim;
  const int64_t inner = is_known ? std::min(batch.rows, batch.columns) : kUnknownDim;
  MR_TRY(context.set_output(0, batch.shape({inner})));
  if (!vectors) {
    context.set_output(1, PartialShape{0});
    context.set_output(2, PartialShape{0});
    return {};
  }
  MR_TRY(context.set_output(1, batch.shape({batch.rows, full ? batch.rows : inner})));
  return context.set_output(2, batch.shape({batch.columns, full ? batch.columns : inner}));
}

Status add_svd(OpRegistry& ops, std::string name, const std::string& types) {
  return ops.add({
      .name = std::move(name),
      .doc = "Each matrix as U diag(s) V^H: its singular values, the largest first, and two "
             "orthogonal (unitary) matrices.",
      .signature = "input: T -> s: T, u: T, v: T | compute_uv: bool = true, full_matrices: bool = "
                   "false, T: " +
                   types,
      .infer = infer_svd,
      .cpu = kernel_with(singular_values, wide_loop([]<class T>() { return &svd_of<T>; }),
                         BoundSvdWish{}),
      .grad = grad::svd,
      .cost = Cost::heavy,
      .examples = {"[[3 0] [0 -2]] -> [3 2], [], [] | compute_uv = false", "[[1 2] [3 5]]",
                   "[[[1 2 4] [3 5 9]]]", "[[1 2] [3 5] [8 9]] | full_matrices = true"},
  });
}

}  // namespace

Status register_svds(OpRegistry& ops) {
  MR_TRY(add_svd(ops, "Svd", "{double, float, half, complex64, complex128}"));
  return add_svd(ops, "BatchSvd", "{double, float, complex64, complex128}");
}

}  // namespace millrace
