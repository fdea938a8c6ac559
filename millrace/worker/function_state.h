// Whether functions keep or ask for anything beyond their arguments.
#pragma once

#include <string>

#include "millrace/graph/function.h"

namespace millrace {

// Of a function of `library`, which may be null, and all that it names.
// Errors: FAILED_PRECONDITION, in TensorFlow's words, if one of them has an op with state in it.
// Not counted, as there, are ops that only must not be dropped (checks, prints), that read tables,
// that make datasets, and calls: what these call is looked at itself.
Status check_stateless(const FunctionLibrary* library, const OpRegistry& ops,
                       const std::string& function);

}  // namespace millrace
