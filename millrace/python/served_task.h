// ServedTask: what Python holds of a server: made first, bound when it is started, maybe stopped.
//
// Needs the GIL; calls that wait give it up meanwhile.
#pragma once

#include <memory>
#include <string>

#include "millrace/python/op_library.h"
#include "millrace/session/server.h"

namespace millrace::python {

class ServedTask {
 public:
  ServedTask(std::shared_ptr<OpLibrary> library, ServerOptions options)
      : library_(std::move(library)), options_(std::move(options)) {}
  ~ServedTask();

  // Has the server keep what asks to be kept (durable=True), and nothing else, whatever the
  // environment says. Before start().
  void keep_what_asks() { options_.state_keeps = Keep::asked; }
  // Binds the task's address, or takes over the socket that a launcher has bound for it, and
  // serves.
  void start();
  std::string target() const;
  // Blocks until the server is stopped (true) or `seconds` are over (false); throws if it has
  // stopped by itself.
  bool wait(double seconds);
  // Puts what it waits for into the log.
  void log_waits() const;
  // The program is over and went well: nobody waits for this task any more.
  void end();
  void stop();

  // The server of a task that was started; throws otherwise.
  Server& server() const;

 private:
  const std::shared_ptr<OpLibrary> library_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

}  // namespace millrace::python
