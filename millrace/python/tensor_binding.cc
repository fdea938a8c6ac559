// Part of bindings.h: Tensor, make_tensor and what a dtype is: the values of the module.
#include <string>

#include "millrace/python/attr_conversion.h"
#include "millrace/python/bindings.h"
#include "millrace/python/numpy_tensor.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

DType dtype_of_number(int number) {
  if (const auto dtype = dtype_from_number(number); dtype && *dtype != DType::invalid)
    return *dtype;
  throw py::value_error("there is no type with the number " + std::to_string(number));
}

py::object make_tensor(py::handle value, int dtype) {
  auto tensor = tensor_from(value, dtype_of_number(dtype), Lending::copy);
  return tensor ? py::cast(std::move(*tensor)) : py::none();
}

py::list dtypes() {
  py::list made;
  for (int number = 1; number <= kMaxDType; ++number) {
    const auto dtype = dtype_from_number(number);
    if (!dtype) continue;
    made.append(py::make_tuple(number, std::string(dtype_name(*dtype)), dtype_size(*dtype),
                               numpy_class(*dtype)));
  }
  return made;
}

}  // namespace

void bind_tensor(py::module_& module) {
  py::class_<Tensor>(module, "Tensor", "A value of the runtime; immutable.")
      .def_property_readonly("dtype", [](const Tensor& t) { return static_cast<int>(t.dtype()); })
      .def_property_readonly("shape", [](const Tensor& t) { return shape_to_python(t.shape()); })
      .def(
          "numpy", [](const Tensor& t) { return to_numpy(t); },
          "The value as NumPy has it: an array of its own, a NumPy scalar, or bytes.")
      .def("__repr__", [](const Tensor& t) { return "<Tensor " + t.to_string() + ">"; });
  module.def("make_tensor", &make_tensor, py::arg("value"), py::arg("dtype"),
             "A Tensor from a value that needs no conversion, or None if it needs one.");
  module.def("dtypes", &dtypes,
             "(number, name, bytes per element, class of NumPy's or None) of each element type.");
}

}  // namespace millrace::python
