#include "millrace/ops/image/families.h"

namespace millrace {

Status register_image(OpRegistry& ops) {
  MR_TRY(register_resizes(ops));
  MR_TRY(register_colors(ops));
  MR_TRY(register_codecs(ops));
  return register_boxes(ops);
}

}  // namespace millrace
