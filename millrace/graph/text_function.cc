#include "millrace/graph/text_function.h"

#include "millrace/graph/literal.h"
#include "millrace/op/signature.h"

namespace millrace {
namespace {

std::vector<wire::ArgDef> written(const std::vector<ArgDef>& args) {
  std::vector<wire::ArgDef> made;
  for (const ArgDef& arg : args) {
    made.push_back(
        {arg.name, arg.dtype, arg.type_attr, arg.number_attr, arg.type_list_attr, arg.is_ref});
  }
  return made;
}

class FunctionParser {
 public:
  FunctionParser(Cursor& cursor, const OpRegistry& ops) : cursor_(cursor), ops_(ops) {}

  Result<wire::FunctionDef> run() && {
    def_.name = cursor_.word();
    MR_TRY(read_signature());
    def_.is_stateful = cursor_.take_word("stateful");
    MR_TRY(cursor_.expect('{'));
    while (!cursor_.take('}')) {
      const std::string_view name = cursor_.word();
      if (name.empty()) return cursor_.fail("expected a node, 'return' or '}'");
      if (name == "return" && cursor_.peek() != '=') {
        MR_TRY(read_returns());
      } else {
        MR_TRY(read_node(name));
      }
    }
    return std::move(def_);
  }

 private:
  Status read_signature() {
    const size_t at = cursor_.position();
    OpDef op{.name = def_.name, .doc = {}, .signature = {}};
    MR_ASSIGN(op.signature, cursor_.quoted());
    if (Status status = parse_signature(op); !status.ok()) {
      return cursor_.error_at(at, status.message());
    }
    def_.inputs = written(op.inputs);
    def_.outputs = written(op.outputs);
    for (const AttrDef& attr : op.attrs) {
      def_.signature_attrs.push_back({attr.name, attr.kind, attr.default_value, attr.minimum});
    }
    return {};
  }

  // "x", "x:1", "node:out:0"
  std::string reference(std::string_view first) {
    std::string text(first);
    while (cursor_.take(':')) str_append(&text, ":", cursor_.word());
    return text;
  }

  Status read_node(std::string_view name) {
    wire::NodeDef node;
    node.name = name;
    MR_TRY(cursor_.expect('='));
    node.op = cursor_.word();
    MR_TRY(cursor_.expect('('));
    for (bool is_first = true; !cursor_.take(')'); is_first = false) {
      if (!is_first) MR_TRY(cursor_.expect(','));
      MR_TRY(read_argument(is_first, node));
    }
    while (cursor_.take('^')) node.inputs.push_back(str_cat("^", cursor_.word()));
    if (cursor_.take('@')) node.device = cursor_.until_space();
    def_.nodes.push_back(std::move(node));
    return {};
  }

  Status read_argument(bool is_first, wire::NodeDef& node) {
    const size_t at = cursor_.position();
    const std::string_view word = cursor_.word();
    if (!word.empty() && cursor_.take('=')) {
      const OpDef* op = ops_.find(node.op);
      const AttrDef* attr = op ? op->find_attr(word) : nullptr;
      MR_ASSIGN(AttrValue value, parse_attr(cursor_, attr ? std::string_view(attr->kind) : ""));
      node.attrs.emplace_back(word, std::move(value));
      return {};
    }
    if (is_first && node.op == "Const") {
      cursor_.rewind(at);
      MR_ASSIGN(Tensor value, parse_tensor(cursor_));
      node.attrs.emplace_back("dtype", value.dtype());
      node.attrs.emplace_back("value", std::move(value));
      return {};
    }
    if (word.empty()) return cursor_.fail("expected an input or an attribute");
    node.inputs.push_back(reference(word));
    return {};
  }

  Status read_returns() {
    while (cursor_.peek() != '}' && cursor_.peek() != '^') {
      if (!def_.returns.empty()) MR_TRY(cursor_.expect(','));
      const std::string_view name = cursor_.word();
      MR_TRY(cursor_.expect('='));
      const std::string_view source = cursor_.word();
      if (name.empty() || source.empty()) return cursor_.fail("expected 'output = source'");
      def_.returns[std::string(name)] = reference(source);
    }
    while (cursor_.take('^')) {
      const std::string node(cursor_.word());
      def_.control_returns[node] = node;
      def_.control_outputs.push_back(node);
    }
    return {};
  }

  Cursor& cursor_;
  const OpRegistry& ops_;
  wire::FunctionDef def_;
};

std::string args_text(const std::vector<wire::ArgDef>& args) {
  std::string text;
  for (const wire::ArgDef& arg : args) {
    std::string type = !arg.type_attr.empty()        ? arg.type_attr
                       : !arg.type_list_attr.empty() ? arg.type_list_attr
                                                     : std::string(dtype_name(arg.dtype));
    if (arg.is_ref) type = str_cat("ref(", type, ")");
    str_append(&text, text.empty() ? "" : ", ", arg.name, ": ", arg.number_attr,
               arg.number_attr.empty() ? "" : "*", type);
  }
  return text;
}

std::string signature_text(const wire::FunctionDef& function) {
  const std::string inputs = args_text(function.inputs), outputs = args_text(function.outputs);
  std::string text =
      str_cat(inputs, inputs.empty() ? "->" : " ->", outputs.empty() ? "" : " ", outputs);
  for (const wire::AttrDef& attr : function.signature_attrs) {
    str_append(&text, &attr == function.signature_attrs.data() ? " | " : ", ", attr.name, ": ",
               attr.kind);
    if (attr.minimum) str_append(&text, " >= ", *attr.minimum);
    if (!attr.default_value) continue;
    const std::string* quoted = attr.default_value->as_string();
    str_append(&text, " = ", quoted ? str_cat("'", *quoted, "'") : print_attr(*attr.default_value));
  }
  return text;
}

std::string node_text(const wire::NodeDef& node) {
  std::string text = str_cat(node.name, " = ", node.op, "(");
  std::string_view separator = "";
  const auto put = [&](const auto&... parts) {
    str_append(&text, separator, parts...);
    separator = ", ";
  };
  const AttrValue* value = node.op == "Const" ? node.attr("value") : nullptr;
  const Tensor* constant = value ? value->as_tensor() : nullptr;
  if (constant) put(print_tensor(*constant));
  std::string controls;
  for (const std::string& input : node.inputs) {
    if (input.starts_with('^')) {
      str_append(&controls, " ", input);
    } else {
      put(input);
    }
  }
  for (const auto& [name, attr] : node.attrs) {
    if (constant && (name == "dtype" || name == "value")) continue;
    put(name, "=", print_attr(attr));
  }
  str_append(&text, ")", controls);
  if (!node.device.empty()) str_append(&text, " @ ", node.device);
  return text;
}

}  // namespace

Result<wire::FunctionDef> parse_function(Cursor& cursor, const OpRegistry& ops) {
  return FunctionParser(cursor, ops).run();
}

std::string print_function(const wire::FunctionDef& function) {
  std::string text =
      str_cat("function ", function.name, " ", print_attr(AttrValue(signature_text(function))),
              function.is_stateful ? " stateful {\n" : " {\n");
  for (const wire::NodeDef& node : function.nodes) str_append(&text, "  ", node_text(node), "\n");
  if (!function.returns.empty() || !function.control_returns.empty()) {
    text += "  return";
    std::string_view separator = " ";
    for (const auto& [name, source] : function.returns) {
      str_append(&text, separator, name, " = ", source);
      separator = ", ";
    }
    for (const auto& [name, node] : function.control_returns) str_append(&text, " ^", node);
    text += "\n";
  }
  return text + "}";
}

}  // namespace millrace
