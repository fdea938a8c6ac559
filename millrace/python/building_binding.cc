// Part of bindings.h: how Python adds nodes to a GraphCore, and the blocks (`with`) that say what
// new nodes get. The rules are the builder's (api/builder.h); Python has the functions that choose
// devices and the objects of conditionals and loops.
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "millrace/api/build_state.h"
#include "millrace/api/scope.h"
#include "millrace/python/attr_conversion.h"
#include "millrace/python/bindings.h"
#include "millrace/python/graph_core.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

using Endpoints = std::vector<std::pair<NodeId, int32_t>>;
using Controls = std::vector<std::shared_ptr<ControlScope>>;

// What stands for the controls of a place in Python: nothing but put back.
struct HeldControls {
  Controls controls;
};

Endpoints endpoints_to_python(const std::vector<Endpoint>& endpoints) {
  Endpoints made;
  for (const Endpoint endpoint : endpoints) made.emplace_back(endpoint.node, endpoint.output);
  return made;
}

std::vector<Endpoint> endpoints_from_python(const Endpoints& endpoints) {
  std::vector<Endpoint> made;
  for (const auto& [node, output] : endpoints) made.push_back({node, output});
  return made;
}

// Calls Python code on behalf of the builder, which knows no exceptions: what it raises waits in
// the core until the builder has returned.
template <class Call>
Status call_python(GraphCore& core, Call&& call) {
  try {
    std::forward<Call>(call)();
    return {};
  } catch (const std::exception&) {
    core.raised = std::current_exception();
    return aborted("Python code that was asked about a new node raised an exception");
  }
}

// Returns the builder's answer, or raises what Python code raised that it called.
template <class T>
T answered(GraphCore& core, Result<T> result) {
  if (core.raised) std::rethrow_exception(std::exchange(core.raised, nullptr));
  return check_argument(std::move(result));
}

// The inside of a conditional or loop, made anew each time that a program enters it: objects of
// Python that held it would never be freed.
class PythonFlow final : public FlowContext {
 public:
  PythonFlow(GraphCore& core, py::function admit, py::function added)
      : core_(core), admit_(std::move(admit)), added_(std::move(added)) {}

  Status admit(std::vector<Endpoint>& inputs, std::vector<NodeId>& before) override {
    return call_python(core_, [&] {
      const py::tuple let_in = admit_(endpoints_to_python(inputs), before);
      inputs = endpoints_from_python(let_in[0].cast<Endpoints>());
      before = let_in[1].cast<std::vector<NodeId>>();
    });
  }
  void added(NodeId node) override {
    // A node that its context does not know of would be taken for one outside.
    const Status status = call_python(core_, [&] { added_(node); });
    static_cast<void>(status);
  }

 private:
  GraphCore& core_;
  const py::function admit_, added_;
};

// (job, replica, task, type, index), None for what is not said.
DeviceName device_from_python(const py::tuple& parts) {
  return {parts[0].cast<std::optional<std::string>>(), parts[1].cast<std::optional<int>>(),
          parts[2].cast<std::optional<int>>(), parts[3].cast<std::optional<std::string>>(),
          parts[4].cast<std::optional<int>>()};
}

void enter_device(GraphCore& core, DeviceStack::Entry entry) {
  DeviceStack& devices = core.builder->current().devices;
  devices = devices.with(std::move(entry));
}

void enter_device_function(GraphCore& core, const py::function& choose) {
  enter_device(core,
               {.kind = DeviceStack::Entry::Kind::function,
                .function = [&core, choose](NodeId node) -> Result<DeviceName> {
                  DeviceName chosen;
                  MR_TRY(call_python(core, [&] { chosen = device_from_python(choose(node)); }));
                  return chosen;
                }});
}

// Adds a node at the program's place; returns its number.
NodeId add(GraphCore& core, const std::string& op, std::string name, const Endpoints& inputs,
           const py::dict& attrs) {
  Builder::NewNode node{.name = std::move(name), .op = op, .inputs = endpoints_from_python(inputs)};
  if (const OpDef* def = core.library->ops().find(op))
    node.attrs = check_argument(attrs_from_python(*def, attrs));
  return answered(core, core.builder->add(std::move(node), core.builder->current()));
}

// Adds a node as C++ code does that derives nodes from nodes: through a Scope at the program's
// place.
NodeId add_through_scope(GraphCore& core, const std::string& op, const Endpoints& inputs) {
  const auto state = std::make_shared<BuildState>(core.builder);
  std::vector<Output> outputs;
  for (const auto& [node, output] : inputs) outputs.emplace_back(Operation(state, node), output);
  const Operation made = Scope(state, core.builder->current()).add(op, std::move(outputs), Attrs());
  return answered(core, state->error.ok() ? Result<NodeId>(made.id()) : state->error);
}

// The full name for a new node that the program calls `name`.
std::string op_name(GraphCore& core, const std::string& name) {
  if (name.ends_with('/')) return name.substr(0, name.size() - 1);  // an open scope's own
  const Surroundings& around = core.builder->current();
  if (around.name_scope.empty() && !is_program_name(name))
    throw py::value_error("'" + name + "' is not a valid node name");
  return core.builder->claim_name(around.inside(name));
}

std::string swap_name_scope(GraphCore& core, std::string scope) {
  return std::exchange(core.builder->current().name_scope, std::move(scope));
}

// Binds a field of what surrounds the program.
template <class Core, class T>
void bind_field(Core& core, const char* name, T Surroundings::*field) {
  core.def_property(
      name, [field](const GraphCore& self) { return self.builder->current().*field; },
      [field](GraphCore& self, T value) { self.builder->current().*field = std::move(value); });
}

}  // namespace

void bind_building(py::module_& module, py::class_<GraphCore, std::shared_ptr<GraphCore>>& core) {
  py::class_<ControlScope, std::shared_ptr<ControlScope>>(module, "ControlScope")
      .def(py::init([](std::vector<NodeId> nodes) {
        return std::make_shared<ControlScope>(ControlScope{std::move(nodes)});
      }));
  const py::class_<HeldControls> held(module, "HeldControls");
  const py::class_<DeviceStack> devices(module, "DeviceStack");
  const py::class_<FlowContext, std::shared_ptr<FlowContext>> flow(module, "FlowContext");
  core.def("add", &add)
      .def("add_through_scope", &add_through_scope)
      .def("op_name", &op_name)
      .def("claim_name",
           [](GraphCore& self, const std::string& name) {
             return self.builder->claim_name(self.builder->current().inside(name));
           })
      .def("free_name",
           [](const GraphCore& self, const std::string& name) {
             return self.builder->free_name(self.builder->current().inside(name));
           })
      .def("swap_name_scope", &swap_name_scope)
      .def("colocation_groups",
           [](const GraphCore& self, NodeId node) {
             py::list made;
             for (const std::string& group : self.builder->colocation_groups(node))
               made.append(py::bytes(group));
             return made;
           })
      .def("enter_device",
           [](GraphCore& self, const py::tuple& parts) {
             enter_device(
                 self, {.kind = DeviceStack::Entry::Kind::spec, .spec = device_from_python(parts)});
           })
      .def("enter_device_function", &enter_device_function)
      .def("forget_devices", [](GraphCore& self) { enter_device(self, {}); })
      .def("clear_devices", [](GraphCore& self) { self.builder->current().devices = {}; })
      .def("enter_controls",
           [](GraphCore& self, std::shared_ptr<ControlScope> scope) {
             self.builder->current().controls.push_back(std::move(scope));
           })
      .def("enter_flow",
           [](GraphCore& self, py::function admit, py::function added) {
             self.builder->current().flow =
                 std::make_shared<PythonFlow>(self, std::move(admit), std::move(added));
           })
      .def_property(
          "controls",
          [](const GraphCore& self) { return HeldControls{self.builder->current().controls}; },
          [](GraphCore& self, HeldControls held) {
            self.builder->current().controls = std::move(held.controls);
          })
      .def("clear_controls", [](GraphCore& self) { self.builder->current().controls.clear(); })
      .def("has_controls",
           [](const GraphCore& self) { return !self.builder->current().controls.empty(); });
  bind_field(core, "name_scope", &Surroundings::name_scope);
  bind_field(core, "devices", &Surroundings::devices);
  bind_field(core, "colocated_with", &Surroundings::colocated_with);
  bind_field(core, "groups", &Surroundings::groups);
  bind_field(core, "flow", &Surroundings::flow);
  bind_field(core, "is_plumbing", &Surroundings::is_plumbing);
}

}  // namespace millrace::python
