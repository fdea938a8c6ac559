#include "millrace/ops/image/families.h"

namespace millrace {

Status register_image(OpRegistry& ops) {
  MR_TRY(register_resizes(ops));
  MR_TRY(register_colors(ops));
  MR_TRY(register_codecs(ops));
  MR_TRY(register_boxes(ops));
  MR_TRY(register_suppressions(ops));
  MR_TRY(register_combined_suppressions(ops));
  MR_TRY(register_scalings(ops));
  MR_TRY(register_projections(ops));
  MR_TRY(register_crops(ops));
  MR_TRY(register_glimpses(ops));
  return register_distorted_boxes(ops);
}

}  // namespace millrace
