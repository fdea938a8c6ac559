// How a launcher hands a bound socket to a task: two environment variables (environment.h).
//
//   MILLRACE_LISTEN_FD=3                      the descriptor: bound, not listening
//   MILLRACE_LISTEN_ADDRESS=127.0.0.1:40123   the address it is bound to, as the cluster spells it
//
// The task that serves at that address takes the descriptor over instead of binding: nobody could
// take the port meanwhile. It is there for one server: whoever took it over removes the variables,
// or remembers, so that a second server of the process and programs started by it bind by
// themselves.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

// The descriptor for a server at `address` ("host:port"), from the values of the two variables
// (null: not set). Nothing if none was handed over, or one for another address. Errors:
// INVALID_ARGUMENT for a descriptor that is no number.
Result<std::optional<int>> inherited_socket(const char* descriptor,
                                            const char* address_of_descriptor,
                                            std::string_view address);

}  // namespace millrace
