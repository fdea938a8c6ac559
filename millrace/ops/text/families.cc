#include "millrace/ops/text/families.h"

namespace millrace {

Status register_text(OpRegistry& ops) {
  MR_TRY(register_strings(ops));
  MR_TRY(register_buckets(ops));
  MR_TRY(register_regexes(ops));
  MR_TRY(register_pieces(ops));
  MR_TRY(register_combined(ops));
  MR_TRY(register_ngrams(ops));
  MR_TRY(register_unicode(ops));
  return register_fingerprints(ops);
}

}  // namespace millrace
