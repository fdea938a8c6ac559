// Part of function.h: instantiate, from the definition of a function to a graph.
#include <algorithm>
#include <charconv>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/function.h"
#include "millrace/graph/typing.h"
#include "millrace/graph/validate.h"

namespace millrace {
namespace {

// What a name in the body stands for: an argument, whose tensors are nodes in a row, or a node,
// whose outputs have names.
struct ValueSource {
  struct Output {
    std::string name;
    int begin, end;
  };
  NodeId node = kNoNode;
  int num_arg_tensors = -1;  // of an argument; -1 for a node
  std::vector<Output> outputs;
};

class BodyBuilder {
 public:
  BodyBuilder(const FunctionLibrary& library, const wire::FunctionDef& def, const Attrs& attrs,
              const OpRegistry& ops)
      : library_(library),
        def_(def),
        attrs_(attrs),
        signature_(signature_of(def)),
        body_{.graph = Graph(ops), .num_args = 0, .returns = {}, .control_returns = {}} {}

  Result<FunctionBody> build() && {
    MR_TRY(check_attrs(signature_, attrs_));
    MR_TRY(add_args());
    std::vector<Graph::NewNode> nodes;
    for (const wire::NodeDef& node : def_.nodes) {
      MR_ASSIGN(Graph::NewNode prepared, prepare(node).with(str_cat("node '", node.name, "'")));
      nodes.push_back(std::move(prepared));
    }
    std::vector<std::vector<Endpoint>> inputs(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      MR_TRY(read_inputs(def_.nodes[i], inputs[i]));
      nodes[i].inputs.resize(inputs[i].size());
      MR_TRY(body_.graph.add_with_back_edges(std::move(nodes[i])));
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      const NodeId id = static_cast<NodeId>(body_.num_args + i);
      for (size_t slot = 0; slot < inputs[i].size(); ++slot) {
        MR_TRY(body_.graph.set_input(id, static_cast<int>(slot), inputs[i][slot]));
      }
      MR_ASSIGN(std::vector<NodeId> before, read_control_inputs(def_.nodes[i]));
      body_.graph.set_control_inputs(id, std::move(before));
    }
    MR_TRY(take_returns());
    MR_TRY(validate(body_.graph));
    return std::move(body_);
  }

 private:
  Status claim(std::string_view name, ValueSource source) {
    if (sources_.emplace(to_absl(name), std::move(source)).second) return {};
    return invalid("'", name, "' is defined twice");
  }

  Status add_args() {
    MR_ASSIGN(const std::vector<ArgType> types,
              resolve_args(signature_, signature_.inputs, attrs_));
    MR_ASSIGN(const std::vector<int> offsets, arg_offsets(signature_, signature_.inputs, attrs_));
    body_.num_args = types.size();
    for (size_t i = 0; i < signature_.inputs.size(); ++i) {
      const ArgDef& arg = signature_.inputs[i];
      const int count = offsets[i + 1] - offsets[i];
      MR_TRY(claim(arg.name, {.node = static_cast<NodeId>(offsets[i]), .num_arg_tensors = count}));
      const bool is_list = !arg.number_attr.empty() || !arg.type_list_attr.empty();
      for (int k = 0; k < count; ++k) {
        const DType dtype = types[static_cast<size_t>(offsets[i]) + static_cast<size_t>(k)].dtype;
        MR_TRY(body_.graph.add({.name = is_list ? str_cat(arg.name, ".", k) : arg.name,
                                .op = "Placeholder",
                                .attrs = {{"dtype", dtype}, {"shape", PartialShape()}}}));
      }
    }
    return {};
  }

  // Op, attributes and device of a node, and the names of its outputs.
  Result<Graph::NewNode> prepare(const wire::NodeDef& def) {
    Graph::NewNode node{.name = def.name, .op = def.op, .device = def.device};
    for (const auto& [name, value] : def.attrs) {
      MR_ASSIGN(AttrValue filled, filled_in(value, 0).with(str_cat("attribute '", name, "'")));
      node.attrs.set(name, std::move(filled));
    }
    const OpDef* op = body_.graph.ops().find(def.op);
    const wire::FunctionDef* function = op ? nullptr : find_function(&library_, def.op);
    if (op == nullptr && function == nullptr) {
      return not_found("Op type not registered '", def.op.substr(0, 200), "'");
    }
    const OpDef callee = function ? signature_of(*function) : OpDef{};
    const OpDef& named = op ? *op : callee;
    ValueSource source{.node = static_cast<NodeId>(body_.num_args + num_prepared_++)};
    MR_ASSIGN(const std::vector<int> offsets, arg_offsets(named, named.outputs, node.attrs));
    for (size_t i = 0; i < named.outputs.size(); ++i) {
      source.outputs.push_back({named.outputs[i].name, offsets[i], offsets[i + 1]});
    }
    MR_TRY(count(static_cast<size_t>(offsets.back()), "outputs"));
    MR_TRY(claim(def.name, std::move(source)));
    if (function) {
      MR_ASSIGN(FunctionCall call, call_of(*function, node.attrs));
      node.op = call.op;
      node.attrs = std::move(call.attrs);
    }
    return node;
  }

  // A number in an attribute makes inputs and outputs by the million, which cost the sender
  // nothing.
  Status count(size_t more, std::string_view what) {
    constexpr size_t kFree = 1'000'000, kPerNode = 100;
    num_ends_ += more;
    if (num_ends_ <= kFree + kPerNode * def_.nodes.size()) return {};
    return error(Code::resource_exhausted, "its ", def_.nodes.size(), " nodes have more than ",
                 kFree + kPerNode * def_.nodes.size(), " ", what);
  }

  // The value, with what the function was called with in place of "$name".
  Result<AttrValue> filled_in(const AttrValue& value, int depth) const {
    if (const AttrPlaceholder* placeholder = value.as_placeholder()) {
      const AttrValue* given = AttrView(signature_, attrs_).find(placeholder->name);
      if (given == nullptr)
        return invalid("the function has no attribute '", placeholder->name, "'");
      const FunctionRef* function = given->as_func();
      // A function that is an argument of its own arguments doubles at every call.
      if (depth == 0 || function == nullptr || function->attrs.empty()) return *given;
      return unimplemented("'", placeholder->name,
                           "' is a function with attributes, and can't be one of another function");
    }
    if (const FunctionRef* function = value.as_func()) {
      MR_ASSIGN(FunctionRef filled, filled_in(*function, depth));
      return AttrValue(std::move(filled));
    }
    const auto* functions = value.as_list_of<FunctionRef>();
    if (functions == nullptr || functions->empty()) return value;
    std::vector<FunctionRef> filled;
    for (const FunctionRef& function : *functions) {
      MR_ASSIGN(FunctionRef one, filled_in(function, depth));
      filled.push_back(std::move(one));
    }
    return AttrValue(std::move(filled));
  }

  Result<FunctionRef> filled_in(const FunctionRef& function, int depth) const {
    FunctionRef filled{function.name, {}};
    for (const auto& [name, value] : function.attrs) {
      MR_ASSIGN(AttrValue inner, filled_in(value, depth + 1));
      filled.attrs.emplace_back(name, std::move(inner));
    }
    return filled;
  }

  static bool is_control(std::string_view input) { return input.starts_with('^'); }

  Status read_inputs(const wire::NodeDef& node, std::vector<Endpoint>& inputs) {
    for (const std::string& input : node.inputs) {
      if (is_control(input)) continue;
      MR_TRY(resolve(input, inputs)
                 .with(str_cat("input '", input.substr(0, 200), "' of node '", node.name, "'")));
    }
    return {};
  }

  Result<std::vector<NodeId>> read_control_inputs(const wire::NodeDef& node) const {
    std::vector<NodeId> before;
    for (const std::string& input : node.inputs) {
      if (!is_control(input)) continue;
      const std::string_view name = std::string_view(input).substr(1);
      const auto found = sources_.find(to_absl(name));
      if (found == sources_.end() || found->second.num_arg_tensors == 0) {
        return invalid("node '", node.name, "': there is no '", name.substr(0, 200), "'");
      }
      before.push_back(found->second.node);
    }
    return before;
  }

  // Appends what "x", "x:1", "node:out" or "node:out:0" stands for.
  Status resolve(std::string_view reference, std::vector<Endpoint>& endpoints) {
    const size_t colon = reference.find(':');
    const auto found = sources_.find(to_absl(reference.substr(0, colon)));
    if (found == sources_.end()) return invalid("there is no such node or argument");
    const ValueSource& source = found->second;
    std::string_view rest =
        colon == std::string_view::npos ? std::string_view() : reference.substr(colon + 1);
    int begin = 0, end = source.num_arg_tensors;
    if (source.num_arg_tensors < 0) {
      const std::string_view name = rest.substr(0, rest.find(':'));
      const auto output = std::ranges::find(source.outputs, name, &ValueSource::Output::name);
      if (output == source.outputs.end()) {
        return invalid("the node has no output argument '", name, "'");
      }
      begin = output->begin;
      end = output->end;
      rest = name.size() == rest.size() ? std::string_view() : rest.substr(name.size() + 1);
    }
    if (!rest.empty()) {
      int index = -1;
      const auto [last, code] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
      const bool is_number = code == std::errc() && last == rest.data() + rest.size();
      if (!is_number || index < 0 || index >= end - begin) {
        return invalid("there are ", end - begin, " tensors to choose from");
      }
      begin += index;
      end = begin + 1;
    }
    MR_TRY(count(static_cast<size_t>(end - begin), "inputs"));
    for (int i = begin; i < end; ++i) {
      endpoints.push_back(source.num_arg_tensors < 0
                              ? Endpoint{source.node, i}
                              : Endpoint{source.node + static_cast<NodeId>(i), 0});
    }
    return {};
  }

  Status take_returns() {
    for (const ArgDef& output : signature_.outputs) {
      const auto found = def_.returns.find(output.name);
      if (found == def_.returns.end()) return invalid("output '", output.name, "' is not returned");
      MR_TRY(resolve(found->second, body_.returns)
                 .with(str_cat("output '", output.name, "', which is '",
                               found->second.substr(0, 200), "'")));
    }
    MR_ASSIGN(const std::vector<ArgType> types,
              resolve_args(signature_, signature_.outputs, attrs_));
    if (types.size() != body_.returns.size()) {
      return invalid("the signature has ", types.size(), " outputs, but ", body_.returns.size(),
                     " are returned");
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const Endpoint source = body_.returns[i];
      const ArgType have =
          body_.graph[source.node].output_types()[static_cast<size_t>(source.output)];
      if (have.dtype == types[i].dtype) continue;
      return invalid("output ", i, " is ", type_name(types[i]), " by the signature, but ",
                     type_name(have), " is returned from '", body_.graph[source.node].name, "'");
    }
    for (const auto& [name, node] : def_.control_returns) {
      const auto found = sources_.find(to_absl(node));
      if (found == sources_.end() || found->second.num_arg_tensors >= 0) {
        return invalid("control output '", name, "' is '", node.substr(0, 200),
                       "', which is no node");
      }
      body_.control_returns.push_back(found->second.node);
    }
    return {};
  }

  const FunctionLibrary& library_;
  const wire::FunctionDef& def_;
  const Attrs& attrs_;
  const OpDef signature_;
  absl::flat_hash_map<absl::string_view, ValueSource> sources_;
  size_t num_prepared_ = 0;
  size_t num_ends_ = 0;  // inputs and outputs
  FunctionBody body_;
};

}  // namespace

Result<FunctionBody> instantiate(const FunctionLibrary& library, const FunctionRef& function,
                                 const OpRegistry& ops) {
  const wire::FunctionDef* def = find_function(&library, function.name);
  if (def == nullptr) {
    return not_found("Function ", function.name.substr(0, 200),
                     " is not defined: the graph came with ", library.size(), " functions");
  }
  const Attrs attrs(function.attrs);
  return BodyBuilder(library, *def, attrs, ops)
      .build()
      .with(str_cat("function '", function.name.substr(0, 200), "'"));
}

}  // namespace millrace
