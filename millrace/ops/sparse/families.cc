#include "millrace/ops/sparse/families.h"

namespace millrace {

Status register_sparse(OpRegistry& ops) {
  MR_TRY(register_sparse_orders(ops));
  MR_TRY(register_sparse_joins(ops));
  MR_TRY(register_sparse_slices(ops));
  MR_TRY(register_sparse_products(ops));
  MR_TRY(register_sparse_empty_rows(ops));
  MR_TRY(register_sparse_sums(ops));
  MR_TRY(register_sparse_dense_sums(ops));
  MR_TRY(register_sparse_cellwise(ops));
  MR_TRY(register_sparse_reductions(ops));
  MR_TRY(register_sparse_counts(ops));
  MR_TRY(register_sparse_serialized(ops));
  MR_TRY(register_sparse_tensors_maps(ops));
  MR_TRY(register_edit_distances(ops));
  MR_TRY(register_sparse_crosses(ops));
  return register_sets(ops);
}

}  // namespace millrace
