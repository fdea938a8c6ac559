// Writes the C++ functions of all ops, so that what is known of an op stands in one place only.
//
//   generate_cc_ops FOLDER ROOM...
//
// For each room of ops a header and a source, and one header that includes all of them. One
// function per op in namespace millrace::ops: inputs first, then attributes that nothing else
// decides, then a struct of those that have a default. Names are the op's in snake_case; a C++
// keyword gets a trailing underscore. Ops whose names begin with "_" belong to the planner and are
// left out, and so are those that call functions: graphs made here have none.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "millrace/op/registry.h"
#include "millrace/ops/all.h"

namespace millrace {
namespace {

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

// MatMul -> mat_mul, FIFOQueueV2 -> fifo_queue_v2, Conv2D -> conv2d, L2Loss -> l2_loss
std::string snake_case(std::string_view camel) {
  std::string snake;
  for (size_t i = 0; i < camel.size(); ++i) {
    const bool begins_word =
        is_upper(camel[i]) && i > 0 && camel[i - 1] != '_' &&
        (is_lower(camel[i - 1]) || (i + 1 < camel.size() && is_lower(camel[i + 1])));
    if (begins_word) snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(camel[i])));
  }
  return snake;
}

std::string identifier(const std::string& name) {
  static const std::set<std::string> kTaken = {
      "and",     "assert",   "auto",     "bool",     "break",  "case",     "catch",   "char",
      "class",   "const",    "default",  "delete",   "do",     "double",   "else",    "enum",
      "exit",    "explicit", "export",   "extern",   "false",  "float",    "for",     "if",
      "inline",  "int",      "long",     "new",      "not",    "operator", "options", "or",
      "private", "public",   "register", "requires", "return", "scope",    "short",   "signed",
      "static",  "struct",   "switch",   "template", "this",   "throw",    "true",    "try",
      "union",   "unsigned", "using",    "virtual",  "void",   "while",    "xor"};
  return kTaken.contains(name) ? name + "_" : name;
}

std::string cpp_type(const std::string& kind) {
  if (kind == "type") return "DType";
  if (kind == "int") return "int64_t";
  if (kind == "float") return "float";
  if (kind == "bool") return "bool";
  if (kind == "string") return "std::string";
  if (kind == "shape") return "PartialShape";
  if (kind == "tensor") return "Tensor";
  if (kind == "func") return "FunctionRef";
  if (kind.starts_with("list("))
    return "std::vector<" + cpp_type(kind.substr(5, kind.size() - 6)) + ">";
  return "AttrValue";
}

bool is_list(const ArgDef& arg) { return !arg.number_attr.empty() || !arg.type_list_attr.empty(); }

// What one op's function is made of.
struct Signature {
  std::string name;    // of the function
  std::string result;  // its type
  std::vector<const AttrDef*> required, optional;
};

Signature signature_of(const OpDef& op) {
  Signature made;
  made.name = identifier(snake_case(op.name));
  std::set<std::string> decided;
  for (const ArgDef& arg : op.inputs)
    decided.insert({arg.type_attr, arg.type_list_attr, arg.number_attr});
  for (const AttrDef& attr : op.attrs) {
    if (decided.contains(attr.name)) continue;
    (attr.default_value ? made.optional : made.required).push_back(&attr);
  }
  if (op.outputs.empty()) {
    made.result = "Operation";
  } else if (op.outputs.size() == 1) {
    made.result = is_list(op.outputs[0]) ? "std::vector<Output>" : "Output";
  } else {
    made.result = op.name + "Outputs";
  }
  return made;
}

std::string parameters(const OpDef& op, const Signature& signature,
                       std::string_view options_default) {
  std::string text = "const Scope& scope";
  for (const ArgDef& arg : op.inputs)
    str_append(&text, ", const ", is_list(arg) ? "InputList" : "Input", "& ", identifier(arg.name));
  for (const AttrDef* attr : signature.required)
    str_append(&text, ", ", cpp_type(attr->kind), " ", identifier(attr->name));
  if (!signature.optional.empty())
    str_append(&text, ", ", op.name, "Options options", options_default);
  return text;
}

void comment(std::ostream& out, const std::string& text) {
  std::istringstream words(text);
  std::string line = "//";
  for (std::string word; words >> word;) {
    if (line.size() + word.size() > 98) {
      out << line << "\n";
      line = "//";
    }
    line += " " + word;
  }
  if (line != "//") out << line << "\n";
}

void declare(std::ostream& out, const OpDef& op) {
  const Signature signature = signature_of(op);
  if (!signature.optional.empty()) {
    out << "struct " << op.name << "Options {\n";
    for (const AttrDef* attr : signature.optional) {
      out << "  std::optional<" << cpp_type(attr->kind) << "> " << identifier(attr->name)
          << " = {};  // " << attr->default_value->to_string().substr(0, 60) << "\n";
    }
    out << "};\n";
  }
  if (op.outputs.size() > 1) {
    out << "struct " << signature.result << " {\n  Operation op;\n";
    for (const ArgDef& arg : op.outputs)
      out << "  " << (is_list(arg) ? "std::vector<Output> " : "Output ") << identifier(arg.name)
          << ";\n";
    out << "};\n";
  }
  comment(out, op.doc);
  out << signature.result << " " << signature.name << "(" << parameters(op, signature, " = {}")
      << ");\n\n";
}

void define(std::ostream& out, const OpDef& op) {
  const Signature signature = signature_of(op);
  out << signature.result << " " << signature.name << "(" << parameters(op, signature, "")
      << ") {\n"
      << "  Attrs attrs;\n";
  for (const AttrDef* attr : signature.required)
    out << "  attrs.set(\"" << attr->name << "\", std::move(" << identifier(attr->name) << "));\n";
  for (const AttrDef* attr : signature.optional)
    out << "  set_attr(attrs, \"" << attr->name << "\", options." << identifier(attr->name)
        << ");\n";
  out << "  const Operation made = call_op(scope, \"" << op.name << "\", {";
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const std::string name = identifier(op.inputs[i].name);
    out << (i > 0 ? ", " : "") << (is_list(op.inputs[i]) ? name : "{" + name + "}");
  }
  out << "}, std::move(attrs));\n";
  const auto output = [&](size_t index) {
    return str_cat(is_list(op.outputs[index]) ? "outputs_of" : "output_of", "(made, ", index, ")");
  };
  if (op.outputs.empty()) {
    out << "  return made;\n";
  } else if (op.outputs.size() == 1) {
    out << "  return " << output(0) << ";\n";
  } else {
    out << "  return {made";
    for (size_t i = 0; i < op.outputs.size(); ++i) out << ", " << output(i);
    out << "};\n";
  }
  out << "}\n\n";
}

constexpr std::string_view kHeaderOpening =
    R"(// One function per op of one room. Generated from the op registry; change the op instead.
//
// Inputs may be outputs, tensors or literals (input.h). What an op takes besides its inputs and has a
// default for is in a struct: ops::fifo_queue(scope, {DType::string}, {.capacity = 10}).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/api/input.h"
#include "millrace/api/scope.h"

namespace millrace::ops {

)";

constexpr std::string_view kSourceOpening = R"(#include <utility>

#include "millrace/api/op_call.h"

namespace millrace::ops {

)";

// Leaves a file alone that is right already, so that nothing is rebuilt for it.
bool write(const std::string& path, const std::string& text) {
  std::ifstream old_file(path);
  std::stringstream old_text;
  old_text << old_file.rdbuf();
  if (old_file && old_text.str() == text) return true;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "generate_cc_ops: can't write %s\n", path.c_str());
  return static_cast<bool>(file);
}

constexpr std::string_view kAllOpening =
    R"(// The functions of all ops, which stand by rooms in ops/. Generated from the op registry.
#pragma once

)";

bool is_offered(const OpDef& op) { return !op.name.starts_with("_") && !calls_functions(op.role); }

bool write_room(const std::string& folder, std::string_view room, const OpRegistry& ops) {
  std::ostringstream header, source;
  header << kHeaderOpening;
  source
      << "// Generated from the op registry; change the op instead.\n#include \"millrace/api/ops/"
      << room << ".h\"\n\n"
      << kSourceOpening;
  for (const OpDef* op : ops.all()) {
    if (!is_offered(*op)) continue;
    declare(header, *op);
    define(source, *op);
  }
  header << "}  // namespace millrace::ops\n";
  source << "}  // namespace millrace::ops\n";
  const std::string stem = str_cat(folder, "/ops/", room);
  return write(stem + ".h", header.str()) && write(stem + ".cc", source.str());
}

int generate(const std::string& folder, std::set<std::string_view> wanted) {
  std::string all(kAllOpening);
  for (const OpRoom& room : op_rooms()) {
    OpRegistry ops;
    if (const Status status = room.add(ops); !status.ok()) {
      std::fprintf(stderr, "generate_cc_ops: %s\n", status.to_string().c_str());
      return 1;
    }
    const bool offers =
        std::ranges::any_of(ops.all(), [](const OpDef* op) { return is_offered(*op); });
    if (offers != (wanted.erase(room.name) == 1)) {
      std::fprintf(stderr,
                   "generate_cc_ops: the room '%s' has %s ops to offer; see api/CMakeLists.txt\n",
                   std::string(room.name).c_str(), offers ? "some" : "no");
      return 1;
    }
    if (!offers) continue;
    if (!write_room(folder, room.name, ops)) return 1;
    str_append(&all, "#include \"millrace/api/ops/", room.name, ".h\"  // IWYU pragma: export\n");
  }
  if (!wanted.empty()) {
    std::fprintf(stderr, "generate_cc_ops: there is no room '%s'\n",
                 std::string(*wanted.begin()).c_str());
    return 1;
  }
  return write(folder + "/ops.h", all) ? 0 : 1;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: generate_cc_ops FOLDER ROOM...\n");
    return 2;
  }
  return millrace::generate(argv[1], {argv + 2, argv + argc});
}
