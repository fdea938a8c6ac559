#include "millrace/ops/nn/families.h"

namespace millrace {

Status register_nn(OpRegistry& ops) {
  MR_TRY(register_activations(ops));
  MR_TRY(register_biases(ops));
  MR_TRY(register_softmaxes(ops));
  return register_rankings(ops);
}

}  // namespace millrace
