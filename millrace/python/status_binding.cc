#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

// Messages quote names that strangers wrote, in bytes that may be no text.
py::str readable(const std::string& text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

[[noreturn]] void throw_as(PyObject* type, const Status& status) {
  PyErr_SetObject(type, readable(status.message()).ptr());
  throw py::error_already_set();
}

}  // namespace

void throw_error(const Status& status) {
  // Looked up at each error instead of kept: errors are rare, and a kept class would be a global.
  const py::object made =
      py::module_::import("millrace.errors")
          .attr("from_status")(static_cast<int>(status.code()), readable(status.message()),
                               status.is_consequence());
  PyErr_SetObject(py::type::handle_of(made).ptr(), made.ptr());
  throw py::error_already_set();
}

void throw_argument_error(const Status& status) {
  switch (status.code()) {
    case Code::invalid_argument:
    case Code::out_of_range:
    case Code::already_exists:
      throw_as(PyExc_ValueError, status);
    case Code::not_found:
      throw_as(PyExc_KeyError, status);
    default:
      throw_error(status);
  }
}

}  // namespace millrace::python
