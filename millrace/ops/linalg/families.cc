#include "millrace/ops/linalg/families.h"

namespace millrace {

Status register_linalg(OpRegistry& ops) {
  MR_TRY(register_choleskys(ops));
  MR_TRY(register_eliminations(ops));
  MR_TRY(register_triangles(ops));
  MR_TRY(register_tridiagonals(ops));
  MR_TRY(register_least_squares(ops));
  MR_TRY(register_qrs(ops));
  MR_TRY(register_svds(ops));
  MR_TRY(register_eigens(ops));
  return register_matrix_functions(ops);
}

}  // namespace millrace
