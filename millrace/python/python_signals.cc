#include "millrace/python/python_signals.h"

#include <utility>

namespace py = pybind11;

namespace millrace::python {

PythonSignals::PythonSignals()
    : main_thread_(py::module_::import("threading")
                       .attr("main_thread")()
                       .attr("ident")
                       .cast<unsigned long>()) {}

bool PythonSignals::applies() { return PyThread_get_thread_ident() == main_thread_; }

Status PythonSignals::ask() {
  py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return {};
  caught_ = std::make_unique<py::error_already_set>();
  return cancelled("a signal handler ended the wait");
}

void PythonSignals::raise_caught() {
  if (!applies() || caught_ == nullptr) return;
  const std::unique_ptr<py::error_already_set> caught = std::move(caught_);
  throw py::error_already_set(*caught);
}

}  // namespace millrace::python
