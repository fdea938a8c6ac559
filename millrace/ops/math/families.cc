#include "millrace/ops/math/families.h"

namespace millrace {

Status register_math(OpRegistry& ops) {
  MR_TRY(register_unary(ops));
  MR_TRY(register_unary_gradients(ops));
  MR_TRY(register_special(ops));
  MR_TRY(register_arithmetic(ops));
  MR_TRY(register_comparisons(ops));
  MR_TRY(register_casts(ops));
  MR_TRY(register_matmuls(ops));
  MR_TRY(register_fused_matmuls(ops));
  MR_TRY(register_reductions(ops));
  MR_TRY(register_scans(ops));
  MR_TRY(register_segments(ops));
  MR_TRY(register_trigonometry(ops));
  MR_TRY(register_gammas(ops));
  MR_TRY(register_bessels(ops));
  MR_TRY(register_integrals(ops));
  MR_TRY(register_tolerant(ops));
  MR_TRY(register_complexes(ops));
  MR_TRY(register_bits(ops));
  MR_TRY(register_clipping(ops));
  MR_TRY(register_sparse_segments(ops));
  MR_TRY(register_counts(ops));
  MR_TRY(register_einsum(ops));
  MR_TRY(register_fake_quants(ops));
  MR_TRY(register_quantize(ops));
  MR_TRY(register_quantizations(ops));
  MR_TRY(register_requantizations(ops));
  MR_TRY(register_clusters(ops));
  MR_TRY(register_sobol(ops));
  MR_TRY(register_isotonic(ops));
  return register_select(ops);
}

}  // namespace millrace
