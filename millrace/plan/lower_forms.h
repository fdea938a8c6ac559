// The forms of lowering: what takes the place of one node that calls functions. Part of lowering.
#pragma once

#include "millrace/plan/inliner.h"

namespace millrace {

Result<Lowered> lower_call(Inliner& inliner, const Caller& caller);
Result<Lowered> lower_remote_call(Inliner& inliner, const Caller& caller);
Result<Lowered> lower_gradient(Inliner& inliner, const Caller& caller);
Result<Lowered> lower_if(Inliner& inliner, const Caller& caller);
Result<Lowered> lower_case(Inliner& inliner, const Caller& caller);
// RemoteCall whose first input says in each step on which of `devices` (full names) the body runs.
Result<Lowered> lower_choice(Inliner& inliner, const Caller& caller,
                             std::vector<std::string> devices);
Result<Lowered> lower_while(Inliner& inliner, const Caller& caller);
Result<Lowered> lower_for(Inliner& inliner, const Caller& caller);

// True for a node whose parts may run on their own (see lower.h).
bool asks_for_lowering(const Node& node);
Result<FunctionRef> function_attr(const Node& node, std::string_view name);
// `value`, or what it counts as if it is not a bool.
Result<Endpoint> as_bool(Inliner& inliner, const Caller& caller, Endpoint value);

}  // namespace millrace
