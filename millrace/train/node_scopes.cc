#include "millrace/train/node_scopes.h"

#include <map>
#include <utility>

#include "millrace/api/build_state.h"
#include "millrace/api/ops/math.h"

namespace millrace {

Scope within(const Scope& scope, std::string name_scope) {
  Surroundings around = scope.surroundings();
  around.name_scope = std::move(name_scope);
  return Scope(scope.state(), std::move(around));
}

Scope lifted(const Scope& scope) {
  Surroundings around = scope.surroundings();
  around.controls.clear();
  around.flow = nullptr;
  return Scope(scope.state(), std::move(around));
}

std::string claim_inside(const Scope& scope, std::string_view name) {
  return scope.state()->builder->claim_name(scope.surroundings().inside(name));
}

Operation add_claimed(const Scope& scope, std::string full_name, std::string_view op,
                      std::vector<Output> inputs, Attrs attrs) {
  if (!scope.status().ok()) return {};
  Builder::NewNode node{.name = full_name, .op = op, .attrs = std::move(attrs)};
  for (const Output& input : inputs) {
    if (!input.has_value() || input.op().state() != scope.state()) {
      scope.fail(invalid("an input is no value of this graph"), str_cat("node '", full_name, "'"));
      return {};
    }
    node.inputs.push_back(input.endpoint());
  }
  const auto id = scope.state()->builder->add(std::move(node), scope.surroundings());
  if (id.ok()) return Operation(scope.state(), *id);
  scope.fail(id.status(), str_cat("node '", full_name, "'"));
  return {};
}

bool is_given(const Scope& scope, const Output& value, std::string_view what) {
  if (!value.has_value())
    scope.fail(invalid(what, " is no value of a graph"), scope.surroundings().name_scope);
  return value.has_value();
}

Output as_type(const Scope& scope, const Output& values, DType dtype) {
  return !values.has_value() || values.dtype() == dtype ? values : ops::cast(scope, values, dtype);
}

PartialShape shape_of(const Output& output) {
  if (!output.has_value()) return {};
  return output.op().state()->builder->shape(output.endpoint());
}

Output told_shape(const Scope& scope, const Output& output, const PartialShape& first,
                  std::span<const int64_t> last) {
  if (!output.has_value() || !first.has_rank()) return output;
  std::vector<int64_t> dims(first.dims().begin(), first.dims().end());
  dims.insert(dims.end(), last.begin(), last.end());
  const auto shape = PartialShape::create(dims);
  const Status told =
      shape.ok() ? scope.state()->builder->merge_shape(output.endpoint(), *shape) : shape.status();
  if (!told.ok()) scope.fail(told, output.name());
  return output;
}

std::string device_of(const Operation& operation) {
  if (!operation.has_value()) return "";
  return std::string(operation.state()->builder->graph()[operation.id()].requested_device());
}

Operation group(const Scope& scope, std::span<const Operation> operations,
                std::string claimed_name) {
  std::map<std::string, std::vector<Operation>> by_device;
  for (const Operation& operation : operations)
    by_device[device_of(operation)].push_back(operation);
  const auto done = [&](const Scope& where, const std::string& device,
                        std::span<const Operation> all, std::string name) {
    const Scope there = device.empty() ? where : where.device(device);
    return add_claimed(there.after(all), std::move(name), "NoOp", {}, {});
  };
  if (by_device.empty()) return done(scope, "", {}, std::move(claimed_name));
  if (by_device.size() == 1) {
    const auto& [device, members] = *by_device.begin();
    return done(scope, device, members, std::move(claimed_name));
  }
  const Scope inside = within(scope, claimed_name);
  std::vector<Operation> parts;
  for (const auto& [device, members] : by_device)
    parts.push_back(done(inside, device, members, claim_inside(inside, "NoOp")));
  return done(scope, "", parts, std::move(claimed_name));
}

}  // namespace millrace
