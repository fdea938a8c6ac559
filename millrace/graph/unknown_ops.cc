#include "millrace/graph/unknown_ops.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr size_t kMostOps = 10, kMostPlaces = 3, kMostName = 100;
constexpr size_t kWithNodes = 1600, kWithNames = 2600;  // bytes of the text up to which it is so

std::string with_nodes(const OpRegistry& ops, const UnknownOp& unknown) {
  std::string text = str_cat("Op type not registered '", unknown.op.substr(0, kMostName), "'");
  std::string hint;
  for (const std::string& known : ops.suggestions(unknown.op)) {
    str_append(&hint, hint.empty() ? " (did you mean " : ", ", known);
  }
  str_append(&text, hint, hint.empty() ? ", used by " : "), used by ");
  const size_t told = std::min(unknown.nodes.size(), kMostPlaces);
  for (size_t i = 0; i < told; ++i) {
    str_append(&text, i ? ", '" : "'", unknown.nodes[i].substr(0, kMostName), "'");
  }
  if (unknown.nodes.size() > told) {
    str_append(&text, " and ", unknown.nodes.size() - told, " more nodes");
  }
  return text;
}

// No program writes these: TensorFlow's master puts them for several ops of the client's graph.
bool comes_of_rewriting(const UnknownOp& unknown) { return unknown.op.starts_with('_'); }

}  // namespace

std::string unknown_ops_text(const OpRegistry& ops, std::span<const UnknownOp> unknown) {
  std::string text;
  size_t told = 0;
  for (; told < std::min(unknown.size(), kMostOps); ++told) {
    const std::string each = with_nodes(ops, unknown[told]);
    if (told > 0 && text.size() + each.size() > kWithNodes) break;
    str_append(&text, told ? "; " : "", each);
  }
  for (std::string_view before = "; also not registered: '"; told < unknown.size(); ++told) {
    const std::string_view op = unknown[told].op.substr(0, kMostName);
    if (text.size() + op.size() > kWithNames) break;
    str_append(&text, before, op, "'");
    before = ", '";
  }
  if (told < unknown.size()) str_append(&text, "; and ", unknown.size() - told, " more ops");
  if (std::ranges::any_of(unknown, comes_of_rewriting)) {
    text +=
        "; ops whose names begin with '_' come of rewriting graphs: set "
        "graph_options.rewrite_options.disable_meta_optimizer in the session's ConfigProto";
  }
  return text;
}

}  // namespace millrace
