#include "millrace/autodiff/scope_gradients.h"

#include <optional>
#include <utility>

#include "millrace/api/build_state.h"

namespace millrace {
namespace {

// None, after an error has been kept, if an output is no value of the scope's graph.
std::optional<std::vector<Endpoint>> endpoints_of(const Scope& scope,
                                                  const std::vector<Output>& outputs,
                                                  std::string_view what, bool may_lack) {
  std::vector<Endpoint> made;
  for (const Output& output : outputs) {
    if (!output.has_value() && may_lack) {
      made.emplace_back();
      continue;
    }
    if (!output.has_value() || output.op().state() != scope.state()) {
      scope.fail(invalid("one of ", what,
                         output.has_value() ? " belongs to another graph" : " is no value"),
                 "gradients");
      return std::nullopt;
    }
    made.push_back(output.endpoint());
  }
  return made;
}

}  // namespace

std::vector<ScopeGradient> gradients(const Scope& scope, const std::vector<Output>& ys,
                                     const std::vector<Output>& xs,
                                     const ScopeGradientOptions& options) {
  std::vector<ScopeGradient> by_xs(xs.size());
  if (!scope.status().ok()) return by_xs;
  const auto from = endpoints_of(scope, ys, "ys", false);
  const auto by = endpoints_of(scope, xs, "xs", false);
  const auto given = endpoints_of(scope, options.grad_ys, "grad_ys", true);
  const auto stops = endpoints_of(scope, options.stop_gradients, "stop_gradients", false);
  if (!from || !by || !given || !stops) return by_xs;
  Builder& builder = *scope.state()->builder;
  Surroundings around = scope.surroundings();
  std::swap(builder.current(), around);
  const Result<std::vector<Gradient>> made =
      add_gradients(builder, *from, *by,
                    {.grad_ys = *given,
                     .stop_gradients = *stops,
                     .aggregation = options.aggregation,
                     .colocate_with_ops = options.colocate_with_ops,
                     .gate_gradients = options.gate_gradients,
                     .zeros_if_unconnected = options.zeros_if_unconnected});
  std::swap(builder.current(), around);
  if (!made.ok()) {
    scope.fail(made.status(), "gradients");
    return by_xs;
  }
  const auto output = [&](Endpoint of) {
    return Output(Operation(scope.state(), of.node), of.output);
  };
  for (size_t i = 0; i < xs.size(); ++i) {
    const Gradient& gradient = (*made)[i];
    if (!gradient.has_value()) continue;
    if (!gradient.slices) {
      by_xs[i].values = output(gradient.dense);
    } else {
      by_xs[i] = {output(gradient.slices->values), output(gradient.slices->indices),
                  output(gradient.slices->dense_shape)};
    }
  }
  return by_xs;
}

}  // namespace millrace
