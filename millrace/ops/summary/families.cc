#include "millrace/ops/summary/families.h"

namespace millrace {

Status register_summary(OpRegistry& ops) {
  MR_TRY(register_number_summaries(ops));
  MR_TRY(register_image_summaries(ops));
  MR_TRY(register_sound_summaries(ops));
  return register_tensor_summaries(ops);
}

}  // namespace millrace
