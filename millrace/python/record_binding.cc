// Part of bindings.h: files of records.
#include "millrace/io/records.h"
#include "millrace/python/bindings.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {

void bind_records(py::module_& module) {
  module.def(
      "record",
      [](const py::bytes& data) { return py::bytes(io::framed_record(std::string_view(data))); },
      "The bytes of a record in a file of records.");
  module.def(
      "records",
      [](const py::bytes& file) {
        py::list made;
        for (const std::string_view data : check_argument(io::records_of(std::string_view(file))))
          made.append(py::bytes(data.data(), data.size()));
        return made;
      },
      "The records of a file; DataLossError if one is damaged.");
}

}  // namespace millrace::python
