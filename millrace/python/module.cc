// Part of bindings.h: the module millrace._millrace, all of the front-end that is not Python.
#include <pybind11/pybind11.h>

#include "millrace/graph/import.h"
#include "millrace/python/bindings.h"
#include "millrace/python/machine_files.h"
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
  bind_cluster(module);
  bind_session(module);
  bind_files(module);
  bind_checkpoints(module);
  bind_records(module);
  bind_totals(module);
  module.attr("version") = MILLRACE_VERSION;
  module.attr("graph_def_version") = kGraphDefVersion;
  // The one library of ops that graphs and sessions of this process use, and its files.
  const auto library = std::make_shared<OpLibrary>();
  module.attr("ops") = library;
  module.attr("files") = std::make_shared<MachineFiles>(library);
}

}  // namespace millrace::python
