#include "millrace/plan/expanded_size.h"

#include <algorithm>

namespace millrace {
namespace {

uint64_t sum(uint64_t a, uint64_t b) { return std::min(a + b, ExpandedSize::kMany); }

}  // namespace

void ExpandedSize::add_named(std::string_view name, Functions& functions) const {
  if (const auto* function = find_function(&library_, name)) functions.push_back(function);
}

void ExpandedSize::add_called(const AttrValue& value, Functions& functions) const {
  if (const FunctionRef* one = value.as_func()) add_named(one->name, functions);
  if (const auto* several = value.as_list_of<FunctionRef>())
    for (const FunctionRef& function : *several) add_named(function.name, functions);
}

uint64_t ExpandedSize::of_call(const Node& node) {
  Functions functions;
  for (const auto& [name, value] : node.attrs()) add_called(value, functions);
  uint64_t nodes = 0;
  for (const wire::FunctionDef* function : functions) nodes = sum(nodes, of_function(function));
  return nodes;
}

ExpandedSize::Visit ExpandedSize::begin(const wire::FunctionDef* function) const {
  Visit visit{.function = function, .callees = {}, .next = 0, .nodes = function->nodes.size()};
  for (const wire::NodeDef& node : function->nodes) {
    const OpDef* op = ops_.find(node.op);
    if (op == nullptr) {
      add_named(node.op, visit.callees);
    } else if (calls_functions(op->role)) {
      for (const auto& [name, value] : node.attrs) add_called(value, visit.callees);
    }
  }
  return visit;
}

// With a stack of its own: calls go as deep as there are functions.
uint64_t ExpandedSize::of_function(const wire::FunctionDef* function) {
  if (const auto found = known_.find(function); found != known_.end()) return found->second;
  std::vector<Visit> visits;
  const auto enter = [&](const wire::FunctionDef* next) {
    known_.emplace(next, 0);
    visits.push_back(begin(next));
  };
  enter(function);
  while (true) {
    Visit& visit = visits.back();
    if (visit.next == visit.callees.size()) {
      const uint64_t nodes = visit.nodes;
      known_[visit.function] = nodes;
      visits.pop_back();
      if (visits.empty()) return nodes;
      continue;
    }
    const wire::FunctionDef* callee = visit.callees[visit.next];
    if (const auto found = known_.find(callee); found != known_.end()) {
      visit.nodes = sum(visit.nodes, found->second);
      ++visit.next;
    } else {
      enter(callee);
    }
  }
}

}  // namespace millrace
