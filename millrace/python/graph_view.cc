#include "millrace/python/graph_view.h"

#include <structmember.h>

#include <cstddef>

#include "millrace/python/bindings.h"
#include "millrace/python/graph_core.h"

namespace py = pybind11;

namespace millrace::python {

PyObject* ViewTable::find(Endpoint endpoint) const {
  const auto found = views_.find(endpoint);
  // Python puts off the end of objects that lie deep in each other: one without a holder has ended.
  if (found == views_.end() || Py_REFCNT(found->second) == 0) return nullptr;
  return Py_NewRef(found->second);
}

void ViewTable::remove(Endpoint endpoint, const PyObject* view) {
  const auto found = views_.find(endpoint);
  if (found != views_.end() && found->second == view) views_.erase(found);
}

namespace {

struct View {
  PyObject_HEAD PyObject* graph;
  PyObject* core;    // keeps the table; null: the view has ended
  ViewTable* table;  // of core
  PyObject* dtype;   // null: of a node
  PyObject* weak_references;
  Endpoint endpoint;
};

View* as_view(PyObject* self) { return reinterpret_cast<View*>(self); }

// Whoever looks in the table must not find what is being taken down.
void leave_table(View& view) {
  if (view.core == nullptr) return;
  view.table->remove(view.endpoint, reinterpret_cast<PyObject*>(&view));
  Py_CLEAR(view.core);
}

PyObject* make_view(PyTypeObject* type, PyObject* arguments, PyObject*) {
  PyObject *graph = nullptr, *core = nullptr, *dtype = nullptr;
  Endpoint endpoint;
  if (!PyArg_ParseTuple(arguments, "OOIi|O:View", &graph, &core, &endpoint.node, &endpoint.output,
                        &dtype))
    return nullptr;
  if (!py::isinstance<GraphCore>(core)) {
    PyErr_SetString(PyExc_TypeError, "a View is made of a graph and its GraphCore");
    return nullptr;
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  View& view = *as_view(self);
  view.graph = Py_NewRef(graph);
  view.core = Py_NewRef(core);
  view.table = &py::handle(core).cast<GraphCore&>().views;
  view.dtype = Py_XNewRef(dtype);
  view.endpoint = endpoint;
  view.table->put(endpoint, self);
  return self;
}

int visit_references(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_view(self)->graph);
  Py_VISIT(as_view(self)->core);
  Py_VISIT(as_view(self)->dtype);
  return 0;
}

int clear_view(PyObject* self) {
  leave_table(*as_view(self));
  Py_CLEAR(as_view(self)->graph);
  Py_CLEAR(as_view(self)->dtype);
  return 0;
}

void end_view(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  leave_table(*as_view(self));
  if (as_view(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear_view(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* endpoint_tuple(PyObject* self, void*) {
  const Endpoint at = as_view(self)->endpoint;
  return Py_BuildValue("(Ii)", at.node, at.output);
}

PyMemberDef view_members[] = {
    {"graph", T_OBJECT_EX, offsetof(View, graph), READONLY, "The Graph that it belongs to."},
    {"node_id", T_UINT, offsetof(View, endpoint) + offsetof(Endpoint, node), READONLY,
     "The number of the node in the graph."},
    {"dtype", T_OBJECT_EX, offsetof(View, dtype), READONLY, "The DType of its elements."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(View, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef view_properties[] = {
    {"endpoint", &endpoint_tuple, nullptr, "(number of the node, value_index).", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

template <class Function>
PyType_Slot type_slot(int number, Function* function) {
  return {number, reinterpret_cast<void*>(function)};
}

}  // namespace

void bind_view(py::module_& module) {
  PyType_Slot slots[] = {type_slot(Py_tp_new, &make_view),
                         type_slot(Py_tp_dealloc, &end_view),
                         type_slot(Py_tp_traverse, &visit_references),
                         type_slot(Py_tp_clear, &clear_view),
                         {Py_tp_members, view_members},
                         {Py_tp_getset, view_properties},
                         {0, nullptr}};
  PyType_Spec spec = {"millrace._millrace.View", sizeof(View), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  module.attr("View") = py::reinterpret_steal<py::object>(type);
}

}  // namespace millrace::python
