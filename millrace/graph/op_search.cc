#include "millrace/graph/op_search.h"

#include <deque>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "millrace/graph/function.h"
#include "millrace/graph/unknown_ops.h"

namespace millrace {
namespace {

using IsExcused = std::function<bool(const wire::NodeDef&)>;

class OpSearch {
 public:
  OpSearch(const FunctionLibrary* library, const OpRegistry& ops, const IsExcused& is_excused)
      : library_(library), ops_(ops), is_excused_(is_excused) {}

  void search(std::span<const wire::NodeDef> nodes) {
    visit(nodes, "");
    // Grows while it is gone through.
    for (size_t next = 0; next < called_.size(); ++next) {
      const wire::FunctionDef* function = called_[next];
      visit(function->nodes, function->name);
    }
  }

  Status status() const {
    if (unknown_.empty()) return {};
    return not_found(unknown_ops_text(ops_, unknown_));
  }

 private:
  void visit(std::span<const wire::NodeDef> nodes, std::string_view function) {
    for (const wire::NodeDef& node : nodes) {
      const bool is_known = ops_.find(node.op) != nullptr || call(node.op);
      if (!is_known && !(function.empty() && is_excused_(node))) {
        const auto [at, is_new] = number_of_.emplace(to_absl(node.op), unknown_.size());
        if (is_new) unknown_.push_back({node.op, {}});
        unknown_[at->second].nodes.push_back(
            function.empty() ? node.name : names_.emplace_back(str_cat(function, "/", node.name)));
      }
      if (library_ == nullptr) continue;
      for (const auto& [name, value] : node.attrs) visit(value);
    }
  }

  void visit(const AttrValue& value) {
    if (const FunctionRef* function = value.as_func()) visit(*function);
    const AttrValue::ListValue* list = value.as_list();
    const auto* functions = list ? std::get_if<std::vector<FunctionRef>>(list) : nullptr;
    if (functions == nullptr) return;
    for (const FunctionRef& function : *functions) visit(function);
  }

  void visit(const FunctionRef& function) {
    call(function.name);
    for (const auto& [name, value] : function.attrs) visit(value);
  }

  // True if there is such a function.
  bool call(std::string_view name) {
    const wire::FunctionDef* function = find_function(library_, name);
    if (function == nullptr) return false;
    if (is_called_.insert(function).second) called_.push_back(function);
    return true;
  }

  const FunctionLibrary* const library_;
  const OpRegistry& ops_;
  const IsExcused& is_excused_;
  std::vector<const wire::FunctionDef*> called_;
  absl::flat_hash_set<const wire::FunctionDef*> is_called_;
  std::vector<UnknownOp> unknown_;
  std::deque<std::string> names_;  // of nodes in functions
  absl::flat_hash_map<absl::string_view, size_t> number_of_;
};

}  // namespace

Status check_ops(std::span<const wire::NodeDef> nodes, const FunctionLibrary* library,
                 const OpRegistry& ops, const IsExcused& is_excused) {
  OpSearch search(library, ops, is_excused);
  search.search(nodes);
  return search.status();
}

}  // namespace millrace
