// The family of ops in this room: calls of functions of the client's program.
#pragma once

#include <memory>

#include "millrace/op/registry.h"
#include "millrace/ops/script/script_host.h"

namespace millrace {

// PyFunc, PyFuncStateless and EagerPyFunc, for a process that has such functions. Without a host
// the ops are known, and say when they run that nobody is there to call.
Status register_script_calls(OpRegistry& ops, std::shared_ptr<ScriptHost> host);

// The same for a process that has none.
inline Status register_script(OpRegistry& ops) { return register_script_calls(ops, nullptr); }

}  // namespace millrace
