#include "millrace/ops/nn/families.h"

namespace millrace {

Status register_nn(OpRegistry& ops) {
  MR_TRY(register_activations(ops));
  MR_TRY(register_biases(ops));
  MR_TRY(register_softmaxes(ops));
  MR_TRY(register_rankings(ops));
  MR_TRY(register_data_formats(ops));
  MR_TRY(register_convolutions(ops));
  MR_TRY(register_batched_convolutions(ops));
  MR_TRY(register_fused_convolutions(ops));
  MR_TRY(register_max_pools(ops));
  MR_TRY(register_argmax_pools(ops));
  MR_TRY(register_average_pools(ops));
  MR_TRY(register_fractional_pools(ops));
  MR_TRY(register_fractional_pool_gradients(ops));
  MR_TRY(register_dilations(ops));
  MR_TRY(register_batch_norms(ops));
  MR_TRY(register_global_norms(ops));
  return register_local_responses(ops);
}

}  // namespace millrace
