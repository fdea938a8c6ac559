// OpLibrary: the ops that graphs of this process may use, as one value that the module makes when it
// is imported and that every graph keeps alive.
#pragma once

#include <memory>

#include "millrace/base/result.h"
#include "millrace/op/registry.h"

namespace millrace::python {

struct OpLibrary {
  OpRegistry registry;

  // Every op that Millrace has. Errors: those of OpRegistry::add, which are mistakes in the ops.
  static Result<std::shared_ptr<OpLibrary>> create();
};

}  // namespace millrace::python
