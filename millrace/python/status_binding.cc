#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {

void throw_error(const Status& status) {
  // Looked up at each error instead of kept: errors are rare, and a kept class would be a global.
  const py::object made =
      py::module_::import("millrace.errors")
          .attr("from_status")(static_cast<int>(status.code()),
                               py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
                                   status.message().data(),
                                   static_cast<Py_ssize_t>(status.message().size()), "replace")),
                               status.is_consequence());
  PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
  throw py::error_already_set();
}

void throw_argument_error(const Status& status) {
  switch (status.code()) {
    case Code::invalid_argument:
    case Code::out_of_range:
    case Code::already_exists:
      throw py::value_error(status.message());
    case Code::not_found:
      throw py::key_error(status.message());
    default:
      throw_error(status);
  }
}

}  // namespace millrace::python
