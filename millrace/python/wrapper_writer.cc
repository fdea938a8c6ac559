#include "millrace/python/wrapper_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <vector>

#include "millrace/base/str_cat.h"

namespace millrace::python {
namespace {

constexpr std::array<std::string_view, 37> kReserved = {
    "False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
    "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
    "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
    "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
    "while",   "with",     "yield",    "name",   "self"};

// TensorFlow's names for ops whose own names differ; a name here wins over an op of that name. They
// stand here alone: the front-end's modules take them from the wrappers.
struct OtherName {
  std::string_view op;
  std::string_view name;
};
constexpr std::array<OtherName, 8> kOtherNames = {{
    {"BatchMatMulV2", "batch_matmul"},
    {"FloorDiv", "floordiv"},
    {"FloorMod", "floormod"},
    {"FloorMod", "mod"},
    {"RealDiv", "realdiv"},
    {"Reciprocal", "inv"},
    {"TruncateDiv", "truncatediv"},
    {"TruncateMod", "truncatemod"},
}};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

std::string not_reserved(std::string name) {
  if (std::ranges::find(kReserved, name) != kReserved.end()) name += '_';
  return name;
}

std::string quoted(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      made += '\\';
      made += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      made += escape;
    } else {
      made += c;
    }
  }
  return made + '"';
}

// The front-end's name of a type.
std::string type_name(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "float16";
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    default:
      return std::string(dtype_name(dtype));
  }
}

std::string literal(const std::string& value) { return quoted(value); }
std::string literal(int64_t value) { return str_cat(value); }
std::string literal(bool value) { return value ? "True" : "False"; }
std::string literal(DType value) { return str_cat("_types.", type_name(value)); }
std::string literal(float value) {
  if (!std::isfinite(value)) return str_cat("float(\"", value, "\")");
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(value));
  // The shortest form that reads back as the same float: 0.1 rather than 0.100000001.
  for (int precision = 1; precision < 9; ++precision) {
    char shorter[32];
    std::snprintf(shorter, sizeof shorter, "%.*g", precision, static_cast<double>(value));
    if (std::strtof(shorter, nullptr) == value) {
      std::copy(std::begin(shorter), std::end(shorter), digits);
      break;
    }
  }
  std::string text = digits;
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
std::string literal(const PartialShape& value) {
  if (!value.has_rank()) return "None";
  std::string made = "[";
  for (const int64_t dim : value.dims()) {
    if (made.size() > 1) made += ", ";
    made += dim == kUnknownDim ? "None" : str_cat(dim);
  }
  return made + "]";
}
std::string literal(const Tensor&) { return "None"; }  // none of our ops has such a default
std::string literal(const FunctionRef& value) { return quoted(value.name); }

std::string wrapped(std::string_view text, std::string_view indent) {
  constexpr size_t kWidth = 100;
  std::string made, line(indent);
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find(' ', begin);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (line.size() > indent.size() && line.size() + 1 + word.size() > kWidth) {
      made += line + "\n";
      line = str_cat(indent, "    ");
    } else if (line.size() > indent.size()) {
      line += ' ';
    }
    line += word;
  }
  return made + line + "\n";
}

std::string type_list(const std::vector<DType>& types) {
  std::string made;
  for (const DType dtype : types) str_append(&made, made.empty() ? "" : ", ", type_name(dtype));
  return made;
}

// What an argument is, for the docstring.
std::string describe(const OpDef& op, const ArgDef& arg) {
  if (!arg.type_list_attr.empty()) return "a list of Tensors of any types";
  std::string type = type_name(arg.dtype);
  if (!arg.type_attr.empty()) {
    const AttrDef* attr = op.find_attr(arg.type_attr);
    type = str_cat("type ", arg.type_attr);
    if (attr != nullptr && !attr->allowed_types.empty())
      str_append(&type, " (", type_list(attr->allowed_types), ")");
  }
  if (!arg.number_attr.empty()) return str_cat("a list of Tensors of ", type);
  if (arg.is_ref) return str_cat("a mutable Tensor of ", type);
  return str_cat("a Tensor of ", type);
}

std::string describe(const AttrDef& attr) {
  std::string made = attr.kind == "type" ? "a DType" : str_cat("of kind ", attr.kind);
  if (!attr.allowed_types.empty()) str_append(&made, ", one of ", type_list(attr.allowed_types));
  if (!attr.allowed_strings.empty()) {
    std::string choices;
    for (const auto& text : attr.allowed_strings)
      str_append(&choices, choices.empty() ? "" : ", ", quoted(text));
    str_append(&made, ", one of ", choices);
  }
  if (attr.minimum) str_append(&made, ", at least ", *attr.minimum);
  return made;
}

std::set<std::string, std::less<>> decided_by_inputs(const OpDef& op) {
  std::set<std::string, std::less<>> decided;
  for (const ArgDef& arg : op.inputs)
    decided.insert({arg.type_attr, arg.type_list_attr, arg.number_attr});
  return decided;
}

// The attributes that are arguments: those without a default first.
std::vector<const AttrDef*> argument_attrs(const OpDef& op) {
  const auto decided = decided_by_inputs(op);
  std::vector<const AttrDef*> made;
  for (const AttrDef& attr : op.attrs)
    if (!decided.contains(attr.name)) made.push_back(&attr);
  std::stable_partition(made.begin(), made.end(),
                        [](const AttrDef* attr) { return !attr->default_value; });
  return made;
}

std::string docstring(const OpDef& op, const std::vector<const AttrDef*>& attrs) {
  std::string doc = op.doc.empty() ? str_cat("Adds a node of the op ", op.name, ".") : op.doc;
  std::ranges::replace(doc, '\n', ' ');
  std::ranges::replace(doc, '\\', '/');  // not an escape in the middle of a docstring
  std::string made = str_cat("    \"\"\"", wrapped(doc, "    ").substr(4), "\n    Args:\n");
  for (const ArgDef& arg : op.inputs)
    made += wrapped(str_cat(not_reserved(arg.name), ": ", describe(op, arg), "."), "      ");
  for (const AttrDef* attr : attrs)
    made += wrapped(str_cat(not_reserved(attr->name), ": ", describe(*attr), "."), "      ");
  made += "      name: a name for the node.\n\n    Returns:\n";
  if (op.outputs.empty()) made += "      the Operation.\n";
  for (const ArgDef& arg : op.outputs)
    made += wrapped(str_cat(arg.name, ": ", describe(op, arg), "."), "      ");
  return made + "    \"\"\"\n";
}

}  // namespace

std::string function_name(std::string_view op_name) {
  std::string made;
  for (size_t i = 0; i < op_name.size(); ++i) {
    const char c = op_name[i];
    const bool starts_word =
        is_upper(c) && i > 0 &&
        (is_lower(op_name[i - 1]) || (i + 1 < op_name.size() && is_lower(op_name[i + 1])));
    if (starts_word) made += '_';
    made += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return not_reserved(made);
}

std::string python_literal(const AttrValue& value) {
  if (const auto* held = value.as_string()) return literal(*held);
  if (const auto* held = value.as_int()) return literal(*held);
  if (const auto* held = value.as_float()) return literal(*held);
  if (const auto* held = value.as_bool()) return literal(*held);
  if (const auto* held = value.as_type()) return literal(*held);
  if (const auto* held = value.as_shape()) return literal(*held);
  if (const auto* held = value.as_tensor()) return literal(*held);
  if (const auto* held = value.as_func()) return literal(*held);
  const auto* list = value.as_list();
  if (list == nullptr) return "None";
  std::string made = "[";
  std::visit(
      [&](const auto& items) {
        using T = typename std::decay_t<decltype(items)>::value_type;
        for (const T& item : items) str_append(&made, made.size() > 1 ? ", " : "", literal(item));
      },
      *list);
  return made + "]";
}

std::string wrapper_source(const OpDef& op) {
  const auto attrs = argument_attrs(op);
  std::string parameters, values, given;
  for (const ArgDef& arg : op.inputs) {
    const std::string name = not_reserved(arg.name);
    str_append(&parameters, name, ", ");
    str_append(&values, name, ", ");
  }
  for (const AttrDef* attr : attrs) {
    const std::string name = not_reserved(attr->name);
    str_append(&parameters, name);
    if (attr->default_value) str_append(&parameters, "=", python_literal(*attr->default_value));
    parameters += ", ";
    str_append(&given, given.empty() ? "" : ", ", quoted(attr->name), ": ", name);
  }
  if (op.inputs.size() > 1) values.resize(values.size() - 2);
  if (op.inputs.size() == 1) values.pop_back();
  return str_cat("def ", function_name(op.name), "(", parameters, "name=None):\n",
                 docstring(op, attrs), "    return _apply(", quoted(op.name), ", (", values, "), {",
                 given, "}, name)\n");
}

// Graphs made in Python have no functions to call.
static bool has_wrapper(const OpDef& op) {
  return !op.name.starts_with('_') && !calls_functions(op.role);
}

std::string wrapper_module(const OpRegistry& ops) {
  std::string made =
      "\"\"\"One function per op, written from the op registry when Millrace was built.\n\n"
      "Each adds a node to the default graph. Inputs are what tf.convert_to_tensor "
      "takes.\n\"\"\"\n\n"
      "from millrace._graph.apply import apply_op as _apply\n"
      "from millrace._values import dtypes as _types\n";
  std::string table = "\n\nBY_OP = {\n";
  std::string others;
  for (const OpDef* op : ops.all()) {
    if (!has_wrapper(*op)) continue;
    const std::string name = function_name(op->name);
    str_append(&made, "\n\n", wrapper_source(*op));
    str_append(&table, "    ", quoted(op->name), ": ", name, ",\n");
    for (const OtherName& other : kOtherNames) {
      if (other.op != op->name) continue;
      str_append(&others, other.name, " = ", name, "\n");
    }
  }
  return str_cat(made, table, "}\n", others);
}

std::string wrapper_index(std::span<const WrapperRoom> rooms) {
  std::string functions, by_op;
  const auto add = [](std::string* table, std::string_view name, std::string_view module) {
    str_append(table, "    ", quoted(name), ": ", quoted(module), ",\n");
  };
  for (const WrapperRoom& room : rooms) {
    for (const OpDef* op : room.ops->all()) {
      if (!has_wrapper(*op)) continue;
      add(&by_op, op->name, room.module);
      add(&functions, function_name(op->name), room.module);
      for (const OtherName& other : kOtherNames)
        if (other.op == op->name) add(&functions, other.name, room.module);
    }
  }
  return str_cat(
      "\"\"\"Which of the modules beside has a function, and which has an op's.\"\"\"\n\n"
      "FUNCTIONS = {\n",
      functions, "}\n\nOPS = {\n", by_op, "}\n");
}

}  // namespace millrace::python
