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
  return register_sparse_reductions(ops);
}

}  // namespace millrace
