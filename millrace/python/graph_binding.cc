// Part of bindings.h: GraphCore, the C++ half of a front-end graph. Nodes are known by number,
// outputs by (node, index), types by their number (plus 100 for references).
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "millrace/base/str_cat.h"
#include "millrace/graph/function.h"
#include "millrace/graph/function_of.h"
#include "millrace/python/attr_conversion.h"
#include "millrace/python/bindings.h"
#include "millrace/python/graph_core.h"
#include "millrace/python/graph_view.h"
#include "millrace/python/importable_nodes.h"
#include "millrace/python/numpy_tensor.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

int type_number(const ArgType& type) {
  return static_cast<int>(type.dtype) + (type.is_ref ? kRefOffset : 0);
}

const Node& node_at(const GraphCore& core, NodeId id) {
  if (id >= core.graph().size()) throw py::index_error("there is no node " + std::to_string(id));
  return core.graph()[id];
}

Endpoint output_at(const GraphCore& core, NodeId id, int output) {
  const Node& node = node_at(core, id);
  if (output < 0 || output >= node.num_outputs())
    throw py::index_error(str_cat("'", node.name, "' has no output ", output));
  return {id, output};
}

std::vector<std::pair<NodeId, int32_t>> inputs(const GraphCore& core, NodeId id) {
  std::vector<std::pair<NodeId, int32_t>> made;
  for (const Endpoint input : node_at(core, id).inputs) made.emplace_back(input.node, input.output);
  return made;
}

// The nodes that read an output, each once, in the order in which they were made.
std::vector<NodeId> consumers(const GraphCore& core, NodeId id, int output) {
  const Endpoint wanted = output_at(core, id, output);
  std::vector<NodeId> made;
  for (const Node& node : core.graph().nodes())
    if (std::ranges::find(node.inputs, wanted) != node.inputs.end()) made.push_back(node.id);
  return made;
}

py::object attr(const GraphCore& core, NodeId id, const std::string& name) {
  const AttrValue* value = node_at(core, id).attr_view().find(name);
  return value ? attr_to_python(*value) : py::none();
}

py::dict attrs(const GraphCore& core, NodeId id) {
  py::dict made;
  for (const auto& [name, value] : node_at(core, id).attrs())
    made[py::str(name)] = attr_to_python(value);
  return made;
}

py::object constant(const GraphCore& core, NodeId id, int output) {
  auto value = core.builder->constant(output_at(core, id, output));
  return value ? to_numpy(std::move(*value)) : py::none();
}

// The nodes from number `first` on, as the bytes of a GraphDef.
py::bytes graph_def(const GraphCore& core, NodeId first) {
  return wire::serialize_graph_def(core.export_from(first));
}

// (name, op, device, inputs, {attribute: what `convert` makes of it}) of each node.
py::list nodes_to_python(std::span<const wire::NodeDef> nodes,
                         py::object (*convert)(const AttrValue&)) {
  py::list made;
  for (const wire::NodeDef& node : nodes) {
    py::dict attrs;
    for (const auto& [name, value] : node.attrs) attrs[py::str(name)] = convert(value);
    made.append(py::make_tuple(node.name, node.op, node.device, node.inputs, attrs));
  }
  return made;
}

wire::GraphDef parsed(const py::bytes& data) {
  return check_argument(wire::parse_graph_def(std::string_view(data)));
}

// The nodes of a GraphDef that this program may take over, in an order to add them. `mapped` has
// (name, node that is read instead, type of its output) of inputs that come from elsewhere.
py::list nodes_to_import(const OpLibrary& library, const py::bytes& data,
                         const std::vector<std::tuple<std::string, std::string, int>>& mapped) {
  std::vector<MappedInput> inputs;
  for (const auto& [name, source, type] : mapped)
    inputs.push_back({name, source, {static_cast<DType>(type % kRefOffset), type >= kRefOffset}});
  auto nodes = importable_nodes(parsed(data), inputs, library.ops());
  // To TensorFlow's programs, an op that is not there is no wrong value.
  if (nodes.status().code() == Code::not_found) throw_error(nodes.status());
  return nodes_to_python(check_argument(std::move(nodes)),
                         [](const AttrValue& value) { return py::cast(value); });
}

using Outputs = std::vector<std::pair<NodeId, int>>;

std::vector<Endpoint> outputs_at(const GraphCore& core, const Outputs& endpoints) {
  std::vector<Endpoint> made;
  for (const auto& [node, output] : endpoints) made.push_back(output_at(core, node, output));
  return made;
}

// Writes the nodes of `core` down as a function of `target`.
void define_function(const GraphCore& core, const std::string& name, std::vector<NodeId> arguments,
                     const Outputs& returns, std::vector<NodeId> control_returns,
                     GraphCore& target) {
  const FunctionOutline outline{name, std::move(arguments), outputs_at(core, returns),
                                std::move(control_returns)};
  check_argument(add_function(target.functions, check_argument(function_of(core.graph(), outline)),
                              core.graph().ops()));
}

// Writes down what some outputs need as a function without arguments.
void define_by_value(GraphCore& core, const std::string& name, const Outputs& returns) {
  check_argument(
      add_function(core.functions,
                   check_argument(function_by_value(core.graph(), name, outputs_at(core, returns))),
                   core.graph().ops()));
}

// Takes over the functions of a GraphDef.
void add_functions(GraphCore& core, const py::bytes& data) {
  for (wire::FunctionDef& function : parsed(data).functions)
    check_argument(add_function(core.functions, std::move(function), core.graph().ops()));
}

py::object view(const GraphCore& core, NodeId id, int32_t output) {
  PyObject* held = core.views.find({id, output});
  return held ? py::reinterpret_steal<py::object>(held) : py::none();
}

py::object find(const GraphCore& core, const std::string& name) {
  const Node* node = core.graph().find(name);
  return node ? py::object(py::int_(node->id)) : py::none();
}

}  // namespace

void bind_graph(py::module_& module) {
  bind_view(module);
  py::class_<AttrValue>(module, "AttrValue", "An attribute of a node as it is; immutable.")
      .def("plain", &attr_to_python, "(kind, plain value)");
  module.def("is_program_name", &is_program_name);
  module.def("is_name_part", &is_name_part);
  module.def("check_graph_def", [](const py::bytes& data) { parsed(data); });
  module.def("graph_def_nodes", [](const py::bytes& data) {
    return nodes_to_python(parsed(data).nodes, &attr_to_python);
  });
  module.def("nodes_to_import", &nodes_to_import);
  py::class_<GraphCore, std::shared_ptr<GraphCore>> core(module, "GraphCore");
  core.def(py::init([](std::shared_ptr<OpLibrary> library) {
        return std::make_shared<GraphCore>(std::move(library));
      }))
      .def("__len__", [](const GraphCore& core) { return core.graph().size(); })
      .def("find", &find)
      .def("view", &view, "The View of an endpoint that somebody holds, or None.")
      .def("name", [](const GraphCore& core, NodeId id) { return node_at(core, id).name; })
      .def("type", [](const GraphCore& core, NodeId id) { return node_at(core, id).op->name; })
      .def("num_outputs",
           [](const GraphCore& core, NodeId id) { return node_at(core, id).num_outputs(); })
      .def("output_type",
           [](const GraphCore& core, NodeId id, int output) {
             output_at(core, id, output);
             return type_number(node_at(core, id).output_types()[output]);
           })
      .def("consumers", &consumers)
      .def("inputs", &inputs)
      .def("control_inputs",
           [](const GraphCore& core, NodeId id) {
             const auto& before = node_at(core, id).control_inputs;
             return std::vector<NodeId>(before.begin(), before.end());
           })
      .def("device", [](const GraphCore& core,
                        NodeId id) { return std::string(node_at(core, id).requested_device()); })
      .def("attr", &attr)
      .def("attrs", &attrs)
      .def("shape",
           [](const GraphCore& core, NodeId id, int output) {
             return shape_to_python(core.builder->shape(output_at(core, id, output)));
           })
      .def("constant", &constant)
      .def("graph_def", &graph_def)
      .def("define_function", &define_function)
      .def("define_by_value", &define_by_value)
      .def("add_functions", &add_functions)
      .def("has_function",
           [](const GraphCore& core, const std::string& name) {
             return find_function(&core.functions, name) != nullptr;
           })
      .def("set_input",
           [](GraphCore& core, NodeId id, int slot, NodeId source, int output) {
             check_argument(core.builder->set_input(id, slot, {source, output}));
           })
      .def("add_control_input",
           [](GraphCore& core, NodeId id, NodeId before) {
             node_at(core, id);
             node_at(core, before);
             core.builder->add_control_input(id, before);
           })
      .def("set_device",
           [](GraphCore& core, NodeId id, const std::string& device) {
             node_at(core, id);
             core.builder->set_requested_device(id, device);
           })
      .def("set_attr",
           [](GraphCore& core, NodeId id, const std::string& name, const py::handle& value) {
             py::dict one;
             one[py::str(name)] = value;
             const Attrs converted = check_argument(attrs_from_python(*node_at(core, id).op, one));
             for (const auto& [key, held] : converted)
               check_argument(core.builder->set_attr(id, key, held));
           })
      .def("merge_shape",
           [](GraphCore& core, NodeId id, int output, const py::object& shape) {
             check_argument(core.builder->merge_shape(output_at(core, id, output),
                                                      check_argument(shape_from_python(shape))));
           })
      .def("replace_shape", [](GraphCore& core, NodeId id, int output, const py::object& shape) {
        core.builder->replace_shape(output_at(core, id, output),
                                    check_argument(shape_from_python(shape)));
      });
  bind_building(module, core);
  bind_gradients(core);
}

}  // namespace millrace::python
