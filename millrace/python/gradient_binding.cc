// Part of bindings.h: gradients of a GraphCore's nodes, as the builder adds them for C++ too.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "millrace/autodiff/gradients.h"
#include "millrace/python/bindings.h"
#include "millrace/python/graph_core.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

using Number = std::pair<NodeId, int32_t>;  // of an output

std::vector<Endpoint> endpoints_of(const std::vector<std::optional<Number>>& numbers) {
  std::vector<Endpoint> made;
  for (const std::optional<Number>& number : numbers)
    made.push_back(number ? Endpoint{number->first, number->second} : Endpoint());
  return made;
}

Number number_of(Endpoint endpoint) { return {endpoint.node, endpoint.output}; }

// None, an output, or a tuple of three: values, indices and the dense shape.
py::object gradient_to_python(const Gradient& gradient) {
  if (!gradient.has_value()) return py::none();
  if (!gradient.slices) return py::cast(number_of(gradient.dense));
  const IndexedSlices& slices = *gradient.slices;
  return py::make_tuple(number_of(slices.values), number_of(slices.indices),
                        number_of(slices.dense_shape));
}

Gradient gradient_from_python(const py::handle& given) {
  if (given.is_none()) return {};
  const auto parts = given.cast<py::tuple>();
  const auto endpoint = [](const py::handle& of) {
    const auto [node, output] = of.cast<Number>();
    return Endpoint{node, output};
  };
  if (parts.size() == 2) return {.dense = endpoint(given)};
  return {.slices = IndexedSlices{endpoint(parts[0]), endpoint(parts[1]), endpoint(parts[2])}};
}

// Gradients that Python functions make. What they raise waits in the core until the walk has ended.
class PythonGradients final : public GradientSource {
 public:
  PythonGradients(GraphCore& core, const py::tuple& functions)
      : core_(core), has_(functions[0]), make_(functions[1]) {}

  bool has(NodeId node) override {
    try {
      return has_(node).cast<bool>();
    } catch (const std::exception&) {
      core_.raised = std::current_exception();
      return true;  // the walk ends where it would ask for the gradient
    }
  }
  Result<std::vector<Gradient>> gradients(NodeId node,
                                          std::span<const Gradient> arriving) override {
    if (core_.raised) return aborted("Python code raised an exception");
    try {
      py::list given;
      for (const Gradient& gradient : arriving) given.append(gradient_to_python(gradient));
      std::vector<Gradient> made;
      for (const py::handle each : make_(node, given)) made.push_back(gradient_from_python(each));
      return made;
    } catch (const std::exception&) {
      core_.raised = std::current_exception();
      return aborted("Python code that was asked for a gradient raised an exception");
    }
  }

 private:
  GraphCore& core_;
  const py::function has_, make_;
};

[[noreturn]] void throw_gradient_error(const Status& status) {
  if (status.code() != Code::not_found) throw_argument_error(status);
  PyErr_SetString(PyExc_LookupError, std::string(status.message()).c_str());
  throw py::error_already_set();
}

py::list gradients(GraphCore& core, const std::vector<std::optional<Number>>& ys,
                   const std::vector<std::optional<Number>>& xs,
                   const std::vector<std::optional<Number>>& grad_ys,
                   const std::vector<std::optional<Number>>& stop_gradients,
                   const std::string& name, const py::dict& how) {
  GradientOptions options{.name = name,
                          .grad_ys = endpoints_of(grad_ys),
                          .stop_gradients = endpoints_of(stop_gradients)};
  if (how["tree"].cast<bool>()) options.aggregation = Aggregation::tree;
  options.colocate_with_ops = how["colocate"].cast<bool>();
  options.gate_gradients = how["gate"].cast<bool>();
  options.zeros_if_unconnected = how["zeros"].cast<bool>();
  std::optional<PythonGradients> source;
  if (!how["source"].is_none()) options.source = &source.emplace(core, how["source"]);
  const auto made = add_gradients(*core.builder, endpoints_of(ys), endpoints_of(xs), options);
  if (core.raised) std::rethrow_exception(std::exchange(core.raised, nullptr));
  if (!made.ok()) throw_gradient_error(made.status());
  py::list answer;
  for (const Gradient& gradient : *made) answer.append(gradient_to_python(gradient));
  return answer;
}

}  // namespace

void bind_gradients(py::class_<GraphCore, std::shared_ptr<GraphCore>>& core) {
  core.def("gradients", &gradients);
}

}  // namespace millrace::python
