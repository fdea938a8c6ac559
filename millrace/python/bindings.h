// What each file of bindings adds to the module `_millrace`. module.cc calls them in this order;
// each says in its own file which Python names it defines.
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

namespace millrace::python {

struct GraphCore;

void bind_tensor(pybind11::module_& module);
void bind_ops(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
// What adds nodes to the class that bind_graph makes; it calls this itself.
void bind_building(pybind11::module_& module,
                   pybind11::class_<GraphCore, std::shared_ptr<GraphCore>>& core);
// What adds gradients to it, likewise.
void bind_gradients(pybind11::class_<GraphCore, std::shared_ptr<GraphCore>>& core);
void bind_cluster(pybind11::module_& module);
void bind_session(pybind11::module_& module);
void bind_files(pybind11::module_& module);
void bind_checkpoints(pybind11::module_& module);
void bind_records(pybind11::module_& module);
void bind_totals(pybind11::module_& module);

}  // namespace millrace::python
