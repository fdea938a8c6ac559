// Part of bindings.h: OpLibrary, what the front-end must know of an op to apply it.
#include <string>

#include <pybind11/stl.h>

#include "millrace/op/once_factory.h"
#include "millrace/python/attr_conversion.h"
#include "millrace/python/bindings.h"
#include "millrace/python/op_library.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

// (name, dtype or 0, type attribute, list attribute, number attribute, is a reference)
py::tuple arg_tuple(const ArgDef& arg) {
  return py::make_tuple(arg.name, static_cast<int>(arg.dtype), arg.type_attr, arg.type_list_attr,
                        arg.number_attr, arg.is_ref);
}

// (name, kind, default as (kind, value) or None, allowed types)
py::tuple attr_tuple(const AttrDef& attr) {
  py::list allowed;
  for (const DType dtype : attr.allowed_types) allowed.append(static_cast<int>(dtype));
  const py::object fallback = attr.default_value ? attr_to_python(*attr.default_value) : py::none();
  return py::make_tuple(attr.name, attr.kind, fallback, allowed);
}

template <class T>
py::list list_of(const std::vector<T>& items, py::tuple (*convert)(const T&)) {
  py::list made;
  for (const T& item : items) made.append(convert(item));
  return made;
}

py::object describe_op(const OpLibrary& library, const std::string& name) {
  const OpDef* op = library.ops().find(name);
  if (op == nullptr) return py::none();
  return py::make_tuple(list_of(op->inputs, &arg_tuple), list_of(op->outputs, &arg_tuple),
                        list_of(op->attrs, &attr_tuple), op->stateful);
}

std::vector<std::string> op_names(const OpLibrary& library) {
  std::vector<std::string> made;
  for (const OpDef* op : library.ops().all()) made.push_back(op->name);
  return made;
}

}  // namespace

void bind_ops(py::module_& module) {
  py::class_<OpLibrary, std::shared_ptr<OpLibrary>>(module, "OpLibrary")
      .def("names", &op_names)
      .def("describe", &describe_op, "(inputs, outputs, attributes, stateful) of an op, or None.")
      .def(
          "is_made_once",
          [](const OpLibrary& library, const std::string& name) {
            const OpDef* op = library.ops().find(name);
            return op != nullptr && is_made_once(*op);
          },
          "Whether an op is an update that happens once under a lease.")
      .def("set_function_caller",
           [](const OpLibrary& library, py::object caller) {
             library.functions->set_caller(std::move(caller));
           })
      .def("suggestions", [](const OpLibrary& library, const std::string& name) {
        return library.ops().suggestions(name);
      });
}

}  // namespace millrace::python
