// OpLibrary: the ops that graphs of this process may use, and the runtime that runs them. The module
// makes one when it is imported; every graph and session keeps it alive.
#pragma once

#include <memory>

#include "millrace/session/runtime.h"

namespace millrace::python {

struct OpLibrary {
  std::shared_ptr<Runtime> runtime = Runtime::create();

  const OpRegistry& ops() const { return runtime->ops(); }
};

}  // namespace millrace::python
