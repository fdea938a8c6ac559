// OpLibrary: the ops that graphs of this process may use, the runtime that runs them, the functions
// of the program that they may call, and what its main thread looks after while it waits. The
// module makes one when it is imported; every graph and session keeps it alive.
#pragma once

#include <memory>

#include "millrace/python/python_functions.h"
#include "millrace/python/python_signals.h"
#include "millrace/session/runtime.h"

namespace millrace::python {

struct OpLibrary {
  std::shared_ptr<PythonFunctions> functions = std::make_shared<PythonFunctions>();
  std::shared_ptr<Runtime> runtime = Runtime::create({.ops = ops_that_call(functions)});
  std::shared_ptr<PythonSignals> signals = std::make_shared<PythonSignals>();

  const OpRegistry& ops() const { return runtime->ops(); }
};

}  // namespace millrace::python
