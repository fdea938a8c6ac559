// PythonSignals: lets Python handle signals while its main thread waits in a session, so that
// Ctrl-C ends the wait with KeyboardInterrupt, and any handler of the program runs.
//
// Only the main thread runs Python's signal handlers. While it waits without the GIL, the session
// asks ten times a second; an exception of a handler is kept, ends the wait, and is raised by
// `raise_caught`.
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

#include "millrace/session/interrupt.h"

namespace millrace::python {

class PythonSignals final : public Interrupt {
 public:
  // Needs the GIL.
  PythonSignals();

  // Without the GIL.
  bool applies() override;
  Status ask() override;

  // Needs the GIL. Throws what a handler raised meanwhile, if the calling thread is the main one.
  void raise_caught();

 private:
  const unsigned long main_thread_;
  // Touched by the main thread only.
  std::unique_ptr<pybind11::error_already_set> caught_;
};

}  // namespace millrace::python
