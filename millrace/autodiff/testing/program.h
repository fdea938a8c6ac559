// A program's graph, written as text, in a builder; and what gradients add to it.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/autodiff/gradients.h"
#include "millrace/graph/text.h"
#include "millrace/ops/all.h"

namespace millrace::testing {

inline const OpRegistry& all_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    CHECK(register_all_ops(*made).ok());
    return made;
  }();
  return *kOps;
}

struct Program {
  Builder builder{all_ops()};
  size_t size = 0;

  explicit Program(std::string_view text) {
    const auto graph = parse_graph(text, all_ops());
    REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
    for (const Node& node : graph->nodes()) {
      std::vector<Endpoint> inputs = {node.inputs.begin(), node.inputs.end()};
      for (Endpoint& input : inputs)
        if (input.node >= node.id) input = inputs.front();  // what closes a loop, until it is there
      const auto made = builder.add({.name = builder.claim_name(node.name),
                                     .op = node.op->name,
                                     .inputs = std::move(inputs),
                                     .attrs = node.attrs()},
                                    builder.current());
      REQUIRE_MESSAGE(made.ok(), made.status().to_string());
      for (const NodeId before : node.control_inputs) builder.add_control_input(*made, before);
    }
    for (const Node& node : graph->nodes()) {
      for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot].node < node.id) continue;
        REQUIRE(builder.set_input(node.id, static_cast<int>(slot), node.inputs[slot]).ok());
      }
    }
    size = builder.graph().size();
  }
  // How many nodes of an op gradients have added.
  size_t added_of(std::string_view op) const {
    const auto nodes = builder.graph().nodes().subspan(size);
    return static_cast<size_t>(
        std::ranges::count_if(nodes, [&](const Node& node) { return node.op->name == op; }));
  }

  Endpoint at(std::string_view name) const {
    const auto found = find_endpoint(builder.graph(), name);
    REQUIRE_MESSAGE(found.ok(), found.status().to_string());
    return *found;
  }
  std::vector<Endpoint> all_at(std::initializer_list<std::string_view> names) const {
    std::vector<Endpoint> found;
    for (const std::string_view name : names) found.push_back(at(name));
    return found;
  }
  Result<std::vector<Gradient>> by(std::initializer_list<std::string_view> ys,
                                   std::initializer_list<std::string_view> xs,
                                   const GradientOptions& options = {}) {
    return add_gradients(builder, all_at(ys), all_at(xs), options);
  }
  // The names of the gradients: "none", "name", or "values at indices".
  std::string names(const Result<std::vector<Gradient>>& gradients) const {
    if (!gradients.ok()) return gradients.status().to_string();
    std::string text;
    for (const Gradient& each : *gradients) {
      const auto name = [&](Endpoint of) { return endpoint_name(builder.graph(), of); };
      str_append(&text, text.empty() ? "" : ", ",
                 !each.has_value() ? "none"
                 : each.slices
                     ? str_cat(name(each.slices->values), " at ", name(each.slices->indices))
                     : name(each.dense));
    }
    return text;
  }
  // What was added, a node a line.
  std::string added() const {
    std::string text;
    for (size_t id = size; id < builder.graph().size(); ++id) {
      str_append(&text,
                 to_text(builder.graph(), builder.graph()[static_cast<NodeId>(id)],
                         {.defaults = PrintOptions::Defaults::hidden}),
                 "\n");
    }
    return text;
  }
};

}  // namespace millrace::testing
