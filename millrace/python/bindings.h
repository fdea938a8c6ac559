// What each file of bindings adds to the module `_millrace`. module.cc calls them in this order;
// each says in its own file which Python names it defines.
#pragma once

#include <pybind11/pybind11.h>

namespace millrace::python {

void bind_tensor(pybind11::module_& module);
void bind_ops(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
void bind_cluster(pybind11::module_& module);
void bind_session(pybind11::module_& module);

}  // namespace millrace::python
