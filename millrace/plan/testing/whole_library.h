// The op library itself, for passes whose results are ops that it has. For tests only.
#pragma once

#include "doctest/doctest.h"

#include "millrace/ops/all.h"

namespace millrace::testing {

inline const OpRegistry& whole_library() {
  static const OpRegistry& ops = *[] {
    auto* made = new OpRegistry();
    REQUIRE(register_all_ops(*made).ok());
    return made;
  }();
  return ops;
}

}  // namespace millrace::testing
