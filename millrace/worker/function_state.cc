#include "millrace/worker/function_state.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

namespace millrace {
namespace {

constexpr std::array<std::string_view, 8> kNotCounted = {"Assert",
                                                         "Case",
                                                         "If",
                                                         "LookupTableFindV2",
                                                         "LookupTableSizeV2",
                                                         "PrintV2",
                                                         "StatefulPartitionedCall",
                                                         "While"};

bool makes_dataset(const OpDef& op) {
  const bool is_named_so = op.name.ends_with("Dataset") || op.name.ends_with("DatasetV2");
  return is_named_so && op.outputs.size() == 1 && op.outputs[0].dtype == DType::variant;
}

bool has_state(const OpDef& op) {
  return op.stateful && !makes_dataset(op) &&
         std::ranges::find(kNotCounted, op.name) == kNotCounted.end();
}

// Functions that are still to be looked at, each once.
class Waiting {
 public:
  void add(const std::string& function) {
    if (seen_.insert(function).second) waiting_.push_back(function);
  }
  void add_named_by(const wire::NodeDef& node) {
    add(node.op);
    for (const auto& [name, value] : node.attrs) {
      if (const FunctionRef* one = value.as_func()) add(one->name);
      if (const auto* some = value.as_list_of<FunctionRef>()) {
        for (const FunctionRef& each : *some) add(each.name);
      }
    }
  }
  bool is_empty() const { return waiting_.empty(); }
  std::string take() {
    std::string last = std::move(waiting_.back());
    waiting_.pop_back();
    return last;
  }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> waiting_;
};

}  // namespace

Status check_stateless(const FunctionLibrary* library, const OpRegistry& ops,
                       const std::string& function) {
  Waiting waiting;
  waiting.add(function);
  while (!waiting.is_empty()) {
    const std::string name = waiting.take();
    const wire::FunctionDef* def = find_function(library, name);
    if (def == nullptr) continue;
    for (const wire::NodeDef& node : def->nodes) {
      const OpDef* op = ops.find(node.op);
      if (op != nullptr && has_state(*op)) {
        return failed_precondition(node.op, " is stateful. It is node '", node.name,
                                   "' of function '", name,
                                   "'; what it keeps, or reads elsewhere, is not kept with it");
      }
      waiting.add_named_by(node);
    }
  }
  return {};
}

}  // namespace millrace
