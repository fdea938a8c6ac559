// Every op, for tests of what becomes ops of the library, or looks at a client's graph by its ops.
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
