#include "millrace/python/python_functions.h"

#include <utility>

#include "millrace/ops/all.h"
#include "millrace/python/numpy_tensor.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

Tensor returned_tensor(const py::handle& item) {
  const auto [number, array] = item.cast<std::pair<int, py::object>>();
  const auto dtype = dtype_from_number(number);
  if (!dtype) throw py::type_error("no type has the number " + std::to_string(number));
  auto tensor = tensor_from(array, *dtype, Lending::copy);
  if (!tensor) throw py::type_error("a function returned what is no array of a tensor's type");
  return *std::move(tensor);
}

}  // namespace

Result<std::vector<Tensor>> PythonFunctions::call(const std::string& token,
                                                  std::vector<Tensor> inputs) {
  // A step may outlive the program that ran it.
  if (!Py_IsInitialized()) return cancelled("'", token, "' is not called: Python has ended");
  py::gil_scoped_acquire gil;
  try {
    return call_with_gil(token, std::move(inputs));
  } catch (const std::exception& error) {
    return invalid("calling '", token, "': ", error.what());
  }
}

Result<std::vector<Tensor>> PythonFunctions::call_with_gil(const std::string& token,
                                                           std::vector<Tensor> inputs) {
  if (caller_.is_none()) return cancelled("'", token, "' is not called: the program has ended");
  py::list arrays;
  for (Tensor& input : inputs) arrays.append(to_numpy(std::move(input)));
  const py::object answer = caller_(token, std::move(arrays));
  if (py::isinstance<py::tuple>(answer)) {
    const auto [code, message] = answer.cast<std::pair<int, std::string>>();
    return Status(static_cast<Code>(code), message);
  }
  std::vector<Tensor> outputs;
  for (const py::handle item : answer) outputs.push_back(returned_tensor(item));
  return outputs;
}

std::shared_ptr<const OpRegistry> ops_that_call(std::shared_ptr<PythonFunctions> functions) {
  auto ops = std::make_shared<OpRegistry>();
  check(register_all_ops(*ops, std::move(functions)));
  return ops;
}

}  // namespace millrace::python
