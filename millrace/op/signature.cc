#include "millrace/op/signature.h"

#include <array>
#include <set>
#include <span>

#include "millrace/op/scanner.h"

namespace millrace {
namespace {

// Ordered so that each set is the beginning of the next.
constexpr std::array kNumbers = {DType::bf16, DType::f16, DType::f32, DType::f64, DType::i8,
                                 DType::i16,  DType::i32, DType::i64, DType::u8,  DType::u16,
                                 DType::u32,  DType::u64, DType::c64, DType::c128};
constexpr std::span<const DType> kAll = kNumbers;
constexpr std::array<std::pair<std::string_view, std::span<const DType>>, 3> kTypeSets = {{
    {"floating", kAll.first(4)},
    {"real", kAll.first(12)},
    {"number", kAll},
}};
constexpr std::array<std::string_view, 8> kKinds = {"type",   "int",   "float",  "bool",
                                                    "string", "shape", "tensor", "func"};

// An argument as it is written; what its type names is known only once the attributes are read.
struct WrittenArg {
  std::string_view name, number, type;
  bool is_ref = false;
  size_t name_at = 0, number_at = 0, type_at = 0;
};

class Parser : private Scanner {
 public:
  explicit Parser(OpDef& op)
      : Scanner(str_cat("signature of op ", op.name), op.signature), op_(op) {}

  Status parse() {
    std::vector<WrittenArg> inputs, outputs;
    MR_TRY(parse_args(inputs));
    MR_TRY(expect("->", "',' or '->' after the inputs"));
    MR_TRY(parse_args(outputs));
    if (take("|")) {
      do {
        MR_TRY(parse_attr());
      } while (take(","));
    }
    if (!at_end()) return fail(at(), "',' or the end");
    MR_TRY(resolve(inputs, op_.inputs));
    return resolve(outputs, op_.outputs);
  }

 private:
  Status claim(std::string_view name, size_t at) {
    return names_.insert(name).second ? Status() : fail(at, "a name that is not taken yet");
  }

  // --- arguments ---
  Status parse_args(std::vector<WrittenArg>& args) {
    if (peek_name().empty()) return {};
    do {
      WrittenArg arg;
      MR_ASSIGN(arg.name, name("the name of an argument"));
      arg.name_at = at() - arg.name.size();
      MR_TRY(claim(arg.name, arg.name_at));
      MR_TRY(expect(":", "':' after the argument's name"));
      MR_TRY(parse_arg_type(arg));
      args.push_back(arg);
    } while (take(","));
    return {};
  }

  Status parse_arg_type(WrittenArg& arg) {
    MR_ASSIGN(arg.type, name("a type, an attribute, or ref(...)"));
    arg.type_at = at() - arg.type.size();
    if (take("*")) {
      arg.number = arg.type;
      arg.number_at = arg.type_at;
      MR_ASSIGN(arg.type, name("a type, an attribute, or ref(...)"));
      arg.type_at = at() - arg.type.size();
    }
    if (arg.type != "ref" || !take("(")) return {};
    arg.is_ref = true;
    MR_ASSIGN(arg.type, name("a type or an attribute"));
    arg.type_at = at() - arg.type.size();
    return expect(")", "')' after the type of a reference");
  }

  Status resolve(const std::vector<WrittenArg>& written, std::vector<ArgDef>& args) {
    args.clear();
    for (const WrittenArg& from : written) {
      ArgDef arg;
      arg.name = from.name;
      arg.is_ref = from.is_ref;
      if (!from.number.empty()) {
        const AttrDef* count = op_.find_attr(from.number);
        if (count == nullptr || count->kind != "int")
          return fail(from.number_at, "an int attribute");
        arg.number_attr = from.number;
      }
      const AttrDef* attr = op_.find_attr(from.type);
      if (attr != nullptr && attr->kind == "type") {
        arg.type_attr = from.type;
      } else if (attr != nullptr && attr->kind == "list(type)" && from.number.empty()) {
        arg.type_list_attr = from.type;
      } else if (const auto dtype = dtype_from_name(from.type); dtype && attr == nullptr) {
        arg.dtype = *dtype;
      } else {
        return fail(from.type_at, "a type or a type attribute");
      }
      args.push_back(std::move(arg));
    }
    return {};
  }

  // --- attributes ---
  Status parse_attr() {
    AttrDef attr;
    MR_ASSIGN(const std::string_view attr_name, name("the name of an attribute"));
    MR_TRY(claim(attr_name, at() - attr_name.size()));
    attr.name = attr_name;
    MR_TRY(expect(":", "':' after the attribute's name"));
    MR_TRY(parse_kind(attr));
    if (take(">=")) {
      MR_ASSIGN(attr.minimum, integer("a whole number"));
    }
    if (take("=")) {
      MR_ASSIGN(attr.default_value, literal(attr.kind));
    }
    op_.attrs.push_back(std::move(attr));
    return {};
  }

  Status parse_kind(AttrDef& attr) {
    if (take("list(")) {
      MR_TRY(parse_kind(attr));
      if (attr.kind.starts_with("list(")) return fail(at(), "a kind that is not a list itself");
      attr.kind = str_cat("list(", attr.kind, ")");
      return expect(")", "')' after the kind of a list");
    }
    if (take("{")) return parse_choice(attr);
    if (const auto types = type_set(peek_name()); !types.empty()) {
      attr.kind = "type";
      return parse_types(attr);
    }
    MR_ASSIGN(const std::string_view kind, name("a kind"));
    const size_t begin = at() - kind.size();
    attr.kind = kind;
    for (const std::string_view known : kKinds) {
      if (kind == known) return {};
    }
    return fail(begin,
                "a kind (type, int, float, bool, string, shape, tensor, func, list(...), {...})");
  }

  static std::span<const DType> type_set(std::string_view word) {
    for (const auto& [set, types] : kTypeSets) {
      if (word == set) return types;
    }
    return {};
  }

  // Adds a type, or a set of them.
  Status parse_types(AttrDef& attr) {
    const auto types = type_set(peek_name());
    attr.allowed_types.insert(attr.allowed_types.end(), types.begin(), types.end());
    if (!types.empty()) return name("a set of types").status();
    MR_ASSIGN(attr.allowed_types.emplace_back(), type());
    return {};
  }

  // What follows "{": types or texts to choose from.
  Status parse_choice(AttrDef& attr) {
    do {
      if (next() == '\'') {
        attr.kind = "string";
        MR_ASSIGN(attr.allowed_strings.emplace_back(), quoted());
      } else {
        attr.kind = "type";
        MR_TRY(parse_types(attr));
      }
    } while (take(","));
    return expect("}", "',' or '}' in a choice");
  }

  OpDef& op_;
  std::set<std::string_view> names_;
};

}  // namespace

Status parse_signature(OpDef& op) {
  op.inputs.clear();
  op.outputs.clear();
  op.attrs.clear();
  return Parser(op).parse();
}

}  // namespace millrace
