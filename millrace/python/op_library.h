// OpLibrary: the ops that graphs of this process may use, the runtime that runs them, and what its
// main thread looks after while it waits. The module makes one when it is imported; every graph and
// session keeps it alive.
#pragma once

#include <memory>

#include "millrace/python/python_signals.h"
#include "millrace/session/runtime.h"

namespace millrace::python {

struct OpLibrary {
  std::shared_ptr<Runtime> runtime = Runtime::create();
  std::shared_ptr<PythonSignals> signals = std::make_shared<PythonSignals>();

  const OpRegistry& ops() const { return runtime->ops(); }
};

}  // namespace millrace::python
