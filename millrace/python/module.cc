// The module millrace._millrace: everything of the front-end that is not Python.
#include <pybind11/pybind11.h>

#include "millrace/python/bindings.h"
#include "millrace/python/numpy_tensor.h"
#include "millrace/python/op_library.h"
#include "millrace/python/status_binding.h"

namespace millrace::python {

PYBIND11_MODULE(_millrace, module) {
  module.doc() = "The C++ half of the front-end; programs use the package millrace.";
  load_numpy();
  bind_tensor(module);
  bind_ops(module);
  bind_graph(module);
  // The one library of ops that graphs and sessions of this process use.
  module.attr("ops") = check_argument(OpLibrary::create());
}

}  // namespace millrace::python
