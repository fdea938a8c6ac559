// OpLibrary: the ops that graphs of this process may use, and the runtime that runs them. The module
// makes one when it is imported; every graph and session keeps it alive.
#pragma once

#include <memory>

#ifdef MILLRACE_HAS_SESSION
#include "millrace/session/runtime.h"
#else
#include "millrace/ops/all.h"
#endif

namespace millrace::python {

struct OpLibrary {
#ifdef MILLRACE_HAS_SESSION
  std::shared_ptr<Runtime> runtime = Runtime::create();
#else
  struct Runtime { OpRegistry reg; Runtime(){ (void)register_all_ops(reg);} const OpRegistry& ops() const {return reg;} };
  std::shared_ptr<Runtime> runtime = std::make_shared<Runtime>();
#endif

  const OpRegistry& ops() const { return runtime->ops(); }
};

}  // namespace millrace::python
