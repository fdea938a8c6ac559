// WalkState: what of a walk is kept beyond it: how many elements were handed out, and what was
// drawn by lot. As a variant:
//
//   type_name  "millrace::data::Walk"
//   metadata   | version = 1 | handed out | 1 if it was at its end, else 0 | generators of seeds |
//              and of each | first | second | 1 if it chose them | how often it was asked |:
//              varints
#pragma once

#include "millrace/base/result.h"
#include "millrace/ops/data/seeds.h"
#include "millrace/tensor/tensor.h"

namespace millrace::data {

struct WalkState {
  uint64_t handed_out = 0;
  bool at_end = false;
  DrawnSeeds::Places seeds;

  Variant to_variant() const;
  // Errors: INVALID_ARGUMENT if it is none of these.
  static Result<WalkState> from_variant(const Variant& variant);
};

}  // namespace millrace::data
