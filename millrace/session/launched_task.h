// What the environment of a process says about the server that it is to run: who it is (TF_CONFIG),
// on which socket if a launcher has bound the port already, and where to tell how it is.
//
//   MR_ASSIGN(ServerOptions options, launched_task(std::getenv));
//   MR_ASSIGN(auto server, Server::start(std::move(options)));
//
// Reading the environment is the program's business, so it passes the function that does it.
#pragma once

#include <functional>

#include "millrace/base/result.h"
#include "millrace/session/server.h"

namespace millrace {

// The value of a variable, or null if it is not set.
using Environment = std::function<const char*(const char* name)>;

// The whole of it: identify_task(), choose_socket() and take_report(). Errors: theirs.
Result<ServerOptions> launched_task(const Environment& environment);

// Where a server with these options binds: on the socket that the launcher made for its address;
// else on this machine alone if its address is a loopback one; else on all interfaces. Leaves alone
// what has been chosen already. The socket is there once: a program that starts more servers, or
// other programs, unsets the variables (cluster/inherited_socket.h) when options.listen_fd is set.
// Errors: NOT_FOUND for a task that is not in the cluster; INVALID_ARGUMENT for a bad variable.
Status choose_socket(ServerOptions& options, const Environment& environment);

// Where the task tells how it is (cluster/task_report.h), null if nobody asked for that. Once per
// program, which unsets the variables if it starts other programs. A report that can't be written
// to is no reason not to run: it is logged, and there is none.
std::shared_ptr<TaskReport> take_report(const Environment& environment);

}  // namespace millrace
