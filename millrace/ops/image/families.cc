#include "millrace/ops/image/families.h"

namespace millrace {

Status register_image(OpRegistry& ops) {
  MR_TRY(register_resizes(ops));
  return register_colors(ops);
}

}  // namespace millrace
