// Part of text.h: parse_graph, from text to a graph.
#include <charconv>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/function.h"
#include "millrace/graph/literal.h"
#include "millrace/graph/text.h"
#include "millrace/graph/text_function.h"
#include "millrace/graph/typing.h"

namespace millrace {
namespace {

struct Reference {
  size_t at;              // in the text
  std::string_view name;  // of a node
  int32_t output;         // -1 for a control input
};

struct Statement {
  size_t at = 0;
  std::string_view name, op;
  std::vector<Reference> inputs, control_inputs;
  Attrs attrs;
  std::string requested_device, device;
  const wire::FunctionDef* function = nullptr;  // if the op is one
  std::shared_ptr<const OpDef> signature;       // its
};

// Statements are read first and made nodes afterwards, since they may refer to later ones.
class GraphParser {
 public:
  GraphParser(std::string_view text, const OpRegistry& ops) : cursor_(text), graph_(ops) {}

  Result<Graph> run() && {
    MR_TRY(read_versions());
    while (!cursor_.at_end()) {
      MR_ASSIGN(const bool was_function, read_function());
      if (was_function) continue;
      MR_TRY(read_statement());
      const Statement& last = statements_.back();
      const auto id = static_cast<NodeId>(statements_.size() - 1);
      if (!ids_.emplace(to_absl(last.name), id).second) {
        return cursor_.error_at(last.at, str_cat("there is a node '", last.name, "' already"));
      }
    }
    graph_.reserve(statements_.size());
    for (Statement& statement : statements_) MR_TRY(add_node(statement));
    for (NodeId id = 0; id < graph_.size(); ++id) MR_TRY(close_edges(id));
    return std::move(graph_);
  }

 private:
  Status read_versions() {
    const size_t start = cursor_.position();
    if (!cursor_.take_word("versions")) return {};
    if (cursor_.peek() == '=') return cursor_.rewind(start), Status();  // a node of that name
    GraphVersions versions;
    for (;;) {
      const size_t begin = cursor_.position();
      const std::string_view word = cursor_.word();
      int* number = word == "producer"       ? &versions.producer
                    : word == "min_consumer" ? &versions.min_consumer
                                             : nullptr;
      if ((number == nullptr && word != "bad_consumer") || !cursor_.take('=')) {
        cursor_.rewind(begin);  // the name of the first node
        break;
      }
      if (number == nullptr) number = &versions.bad_consumers.emplace_back();
      const std::string_view digits = cursor_.word();
      if (std::from_chars(digits.data(), digits.data() + digits.size(), *number).ec !=
          std::errc()) {
        return cursor_.error_at(begin, "expected a number");
      }
    }
    graph_.set_versions(std::move(versions));
    return {};
  }

  // False if what comes is no function.
  Result<bool> read_function() {
    const size_t at = cursor_.position();
    if (!cursor_.take_word("function")) return false;
    if (cursor_.peek() == '=') return cursor_.rewind(at), false;  // a node of that name
    MR_ASSIGN(wire::FunctionDef function, parse_function(cursor_, graph_.ops()));
    auto functions = std::make_shared<FunctionLibrary>();
    if (graph_.functions()) *functions = *graph_.functions();
    const Status added = add_function(*functions, std::move(function), graph_.ops());
    if (!added.ok()) return cursor_.error_at(at, added.message());
    graph_.set_functions(std::move(functions));
    return true;
  }

  Status read_statement() {
    Statement statement;
    statement.at = cursor_.position();
    statement.name = cursor_.word();
    if (statement.name.empty()) return cursor_.fail("expected the name of a node");
    MR_TRY(cursor_.expect('='));
    const size_t op_at = cursor_.position();
    statement.op = cursor_.word();
    const OpDef* op = graph_.ops().find(statement.op);
    if (op == nullptr && graph_.functions()) {
      statement.function = find_function(graph_.functions().get(), statement.op);
      if (statement.function) {
        statement.signature = std::make_shared<const OpDef>(signature_of(*statement.function));
        op = statement.signature.get();
      }
    }
    if (op == nullptr) {
      std::string hint;
      for (const std::string& known : graph_.ops().suggestions(statement.op)) {
        str_append(&hint, hint.empty() ? "; did you mean " : ", ", known);
      }
      return cursor_.error_at(op_at, str_cat("there is no op '", statement.op, "'", hint));
    }
    MR_TRY(cursor_.expect('('));
    for (bool is_first = true; !cursor_.take(')'); is_first = false) {
      if (!is_first) MR_TRY(cursor_.expect(','));
      MR_TRY(read_argument(*op, is_first, statement));
    }
    MR_TRY(read_suffixes(statement));
    statements_.push_back(std::move(statement));
    return {};
  }

  // An attribute, a data input, or the value of a Const.
  Status read_argument(const OpDef& op, bool is_first, Statement& statement) {
    const size_t at = cursor_.position();
    const std::string_view word = cursor_.word();
    if (!word.empty() && cursor_.take('=')) {
      const AttrDef* attr = op.find_attr(word);
      MR_ASSIGN(AttrValue value, parse_attr(cursor_, attr ? std::string_view(attr->kind) : ""));
      statement.attrs.set(word, std::move(value));
      return {};
    }
    if (is_first && op.name == "Const") {
      cursor_.rewind(at);
      MR_ASSIGN(Tensor value, parse_tensor(cursor_));
      statement.attrs.set("dtype", value.dtype());
      statement.attrs.set("value", std::move(value));
      return {};
    }
    if (word.empty()) return cursor_.fail("expected an input or an attribute");
    int32_t output = 0;
    if (cursor_.take(':')) {
      const std::string_view index = cursor_.word();
      const auto [end, code] = std::from_chars(index.data(), index.data() + index.size(), output);
      if (code != std::errc() || end != index.data() + index.size() || output < 0) {
        return cursor_.error_at(at, str_cat("'", index, "' is no index of an output"));
      }
    }
    statement.inputs.push_back({at, word, output});
    return {};
  }

  Status read_suffixes(Statement& statement) {
    for (;;) {
      if (cursor_.take('^')) {
        const size_t at = cursor_.position();
        statement.control_inputs.push_back({at, cursor_.word(), -1});
      } else if (cursor_.take('@')) {
        MR_ASSIGN(statement.requested_device, read_device());
      } else if (cursor_.take_word("->")) {
        MR_ASSIGN(statement.device, read_device());
      } else {
        return {};
      }
    }
  }

  Result<std::string> read_device() {
    if (cursor_.peek() == '"') return cursor_.quoted();
    return std::string(cursor_.until_space());
  }

  Result<NodeId> resolve(const Reference& reference) {
    const auto found = ids_.find(to_absl(reference.name));
    if (found != ids_.end()) return found->second;
    const Status why = cursor_.error_at(
        reference.at, str_cat("there is no node '", reference.name, "' in the graph"));
    return Status(Code::not_found, why.message());
  }

  Status add_node(Statement& statement) {
    Graph::NewNode node{.name = std::string(statement.name), .op = statement.op};
    for (const Reference& input : statement.inputs) {
      MR_ASSIGN(const NodeId source, resolve(input));
      node.inputs.push_back(source < graph_.size() ? Endpoint{source, input.output} : Endpoint{});
    }
    node.attrs = std::move(statement.attrs);
    if (statement.function) MR_TRY(make_call(statement, node));
    node.device = statement.requested_device;
    const Result<NodeId> id = graph_.add_with_back_edges(std::move(node));
    if (!id.ok()) return cursor_.error_at(statement.at, id.status().message());
    graph_.set_device(*id, statement.device);
    return {};
  }

  // A node whose op is a function.
  Status make_call(const Statement& statement, Graph::NewNode& node) {
    std::vector<std::optional<ArgType>> given;
    for (const Endpoint& input : node.inputs) {
      given.emplace_back();
      const bool is_there =
          input.node != kNoNode && input.output < graph_[input.node].num_outputs();
      if (is_there) given.back() = graph_[input.node].output_types()[input.output];
    }
    infer_attrs(*statement.signature, given, node.attrs);
    Result<FunctionCall> call = call_of(*statement.function, node.attrs);
    if (!call.ok()) return cursor_.error_at(statement.at, call.status().message());
    node.op = call->op;
    node.attrs = std::move(call->attrs);
    return {};
  }

  Status close_edges(NodeId id) {
    const Statement& statement = statements_[id];
    for (size_t slot = 0; slot < statement.inputs.size(); ++slot) {
      const Reference& input = statement.inputs[slot];
      if (graph_[id].inputs[slot].node != kNoNode) continue;
      MR_ASSIGN(const NodeId source, resolve(input));
      const Status status = graph_.set_input(id, static_cast<int>(slot), {source, input.output});
      if (!status.ok()) return cursor_.error_at(input.at, status.message());
    }
    std::vector<NodeId> before;
    for (const Reference& input : statement.control_inputs) {
      MR_ASSIGN(const NodeId source, resolve(input));
      before.push_back(source);
    }
    graph_.set_control_inputs(id, std::move(before));
    return {};
  }

  Cursor cursor_;
  Graph graph_;
  std::vector<Statement> statements_;
  absl::flat_hash_map<absl::string_view, NodeId> ids_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const OpRegistry& ops) {
  return GraphParser(text, ops).run();
}

}  // namespace millrace
