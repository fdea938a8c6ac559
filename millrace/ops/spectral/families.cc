#include "millrace/ops/spectral/families.h"

namespace millrace {

Status register_spectral(OpRegistry& ops) { return register_ffts(ops); }

}  // namespace millrace
