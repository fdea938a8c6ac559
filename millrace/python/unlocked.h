// Unlocked: the GIL is not held for as long as it lives.
//
// When a program ends, Python has each other thread that asks for the GIL exit, by unwinding its
// stack (pthread_exit). Threads that fill queues are often waiting in a step then, and come here to
// get the GIL back; an unwinding that meets a destructor aborts the process. So such a thread stops
// here for good, and ends with the process; from Python 3.14 on it does so by itself.
#pragma once

#include <unistd.h>

#include <pybind11/pybind11.h>

namespace millrace::python {

class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      // Leaving this handler would go on unwinding, or abort.
      for (;;) pause();
    }
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* const state_;
};

}  // namespace millrace::python
