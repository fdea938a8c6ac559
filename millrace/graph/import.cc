#include "millrace/graph/import.h"

#include <algorithm>
#include <optional>

#include "millrace/base/shown.h"
#include "millrace/graph/foreign_nodes.h"
#include "millrace/graph/function.h"
#include "millrace/graph/op_search.h"
#include "millrace/graph/unknown_ops.h"

namespace millrace {
namespace {

Status check_versions(const wire::VersionDef& versions) {
  if (versions.producer < 0 || versions.min_consumer < 0) {
    return invalid("GraphDef producer version ", versions.producer, " and min consumer version ",
                   versions.min_consumer, " must not be negative");
  }
  if (versions.min_consumer > kGraphDefVersion) {
    return invalid("GraphDef min consumer version ", versions.min_consumer,
                   " above current version ", kGraphDefVersion, ": update the server");
  }
  if (std::ranges::count(versions.bad_consumers, kGraphDefVersion) > 0) {
    return invalid("GraphDef disallows consumer version ", kGraphDefVersion,
                   ": its writer counts this version as broken");
  }
  return {};
}

// Adds the nodes of one GraphDef to a graph: first all of them with open inputs, so that their
// names are known, then the edges.
class Importer {
 public:
  Importer(Graph& graph, const wire::GraphDef& def, Foreign foreign)
      : graph_(graph),
        def_(def),
        takes_foreign_(foreign == Foreign::taken),
        first_(static_cast<NodeId>(graph.size())) {}

  Status run() {
    MR_TRY(merge_functions());
    MR_TRY(check_functions());
    graph_.reserve(graph_.size() + def_.nodes.size());
    for (const wire::NodeDef& node : def_.nodes) {
      Status status = add(node);
      if (status.ok()) continue;
      // Only a graph that fails is searched for all its unknown ops.
      MR_TRY(search_ops());
      return status;
    }
    for (size_t begin = 0; begin < def_.nodes.size(); begin += kBlock) MR_TRY(connect(begin));
    merge_versions();
    return {};
  }

 private:
  static constexpr size_t kBlock = 64;

  static bool is_control(std::string_view input) { return input.starts_with('^'); }

  Status add(const wire::NodeDef& node) {
    const auto num_data = std::ranges::find_if(node.inputs, is_control) - node.inputs.begin();
    Graph::NewNode spec{.name = node.name, .op = node.op, .device = node.device};
    spec.inputs.resize(static_cast<size_t>(num_data));
    spec.attrs = Attrs(node.attrs);
    spec.def = graph_.ops().find(node.op);
    if (spec.def == nullptr) {
      if (const wire::FunctionDef* function = find_function(graph_.functions().get(), node.op)) {
        auto call = call_of(*function, spec.attrs);
        if (!call.ok())
          return call.status().with(str_cat("Node '", node.name, "' (", node.op, ")"));
        spec.op = call->op;
        spec.attrs = std::move(call->attrs);
      } else if (is_for_another(node)) {
        MR_ASSIGN(spec.def, foreign_op(node));
      }
    }
    const Result<NodeId> id = graph_.add_with_back_edges(std::move(spec));
    if (id.ok()) return count_outputs(*id);
    if (id.status().code() != Code::already_exists) return id.status();
    if (graph_.find(node.name)->id >= first_) {
      return invalid("Node '", shown(node.name), "' is not unique");
    }
    return invalid("GraphDef argument to Extend includes node '", shown(node.name),
                   "', which was created by a previous call to Create or Extend in this session.");
  }

  // Of a node whose op nobody here knows.
  bool is_for_another(const wire::NodeDef& node) const {
    return takes_foreign_ && asks_for_task(node);
  }

  Result<const OpDef*> foreign_op(const wire::NodeDef& node) {
    if (!foreign_) foreign_.emplace(def_.nodes, graph_);
    MR_ASSIGN(const OpDef* const op, foreign_->op_of(node));
    if (op != nullptr) return op;
    const UnknownOp unknown{node.op, {node.name}};
    return not_found(
        unknown_ops_text(graph_.ops(), {&unknown, 1}),
        ": nothing that comes with the graph tells what types it takes and gives; read "
        "its results there, or send the graph to a task that has the op");
  }

  Status search_ops() const {
    return check_ops(def_.nodes, graph_.functions().get(), graph_.ops(),
                     [&](const wire::NodeDef& node) { return is_for_another(node); });
  }

  // Functions that nodes call are searched for unknown ops now: later is when somebody waits for
  // workers.
  Status check_functions() const {
    if (!graph_.functions()) return {};
    const auto calls = [&](const wire::NodeDef& node) {
      const OpDef* op = graph_.ops().find(node.op);
      return op == nullptr || calls_functions(op->role);
    };
    if (std::ranges::none_of(def_.nodes, calls)) return {};
    return search_ops();
  }

  // A number in an attribute makes outputs by the million, which cost the sender nothing.
  Status count_outputs(NodeId id) {
    constexpr size_t kFree = 1'000'000, kPerNode = 100;
    if (graph_.num_outputs() <= kFree + kPerNode * graph_.size()) return {};
    return error(Code::resource_exhausted, "Node '", graph_[id].name, "' (", graph_[id].op->name,
                 ") has ", graph_[id].num_outputs(), " outputs; a graph of ", graph_.size(),
                 " nodes may have ", kFree + kPerNode * graph_.size(), " in all");
  }

  // Sets the inputs of the nodes from number `begin` on, a block at a time: so the names are looked
  // up together, and the nodes are still in the cache when they are read again.
  Status connect(size_t begin) {
    const auto nodes =
        std::span(def_.nodes).subspan(begin, std::min(kBlock, def_.nodes.size() - begin));
    std::vector<TensorName> inputs;
    std::vector<std::string_view> names;
    for (const wire::NodeDef& node : nodes) {
      for (const std::string& input : node.inputs) {
        inputs.push_back(is_control(input) ? TensorName{std::string_view(input).substr(1), -1}
                                           : parse_tensor_name(input));
        names.push_back(inputs.back().node);
      }
    }
    const std::vector<NodeId> sources = graph_.find_all(names);
    size_t next = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const size_t count = nodes[i].inputs.size();
      MR_TRY(connect(static_cast<NodeId>(first_ + begin + i),
                     std::span(inputs).subspan(next, count),
                     std::span(sources).subspan(next, count)));
      next += count;
    }
    return {};
  }

  Status connect(NodeId id, std::span<const TensorName> inputs, std::span<const NodeId> sources) {
    std::vector<NodeId> before;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (sources[i] == kNoNode) {
        return invalid("Node '", shown(graph_[id].name), "': Unknown input node '",
                       shown(inputs[i].node), "'");
      }
      if (inputs[i].output < 0) {
        before.push_back(sources[i]);
      } else if (before.empty()) {
        MR_TRY(graph_.set_input(id, static_cast<int>(i), {sources[i], inputs[i].output}));
      } else {
        return invalid("Node '", shown(graph_[id].name), "': input '", shown(inputs[i].node),
                       "': Control dependencies must come after regular dependencies");
      }
    }
    if (!before.empty()) graph_.set_control_inputs(id, std::move(before));
    return {};
  }

  // The whole library comes with every extension.
  Status merge_functions() {
    if (def_.functions.empty()) return {};
    auto merged = std::make_shared<FunctionLibrary>();
    if (graph_.functions()) *merged = *graph_.functions();
    for (const wire::FunctionDef& function : def_.functions) {
      MR_TRY(add_function(*merged, function, graph_.ops()));
    }
    graph_.set_functions(std::move(merged));
    return {};
  }

  // The first graph with nodes decides; later ones can only ask for more.
  void merge_versions() {
    GraphVersions merged = graph_.versions();
    const wire::VersionDef& added = def_.versions;
    if (first_ == 0) {
      merged = {added.producer, added.min_consumer, added.bad_consumers};
    } else {
      merged.producer = std::min(merged.producer, added.producer);
      merged.min_consumer = std::max(merged.min_consumer, added.min_consumer);
    }
    graph_.set_versions(std::move(merged));
  }

  Graph& graph_;
  const wire::GraphDef& def_;
  const bool takes_foreign_;
  const NodeId first_;                   // of the nodes that are added
  std::optional<ForeignNodes> foreign_;  // once there is one
};

}  // namespace

Result<Graph> import_graph(const wire::GraphDef& def, const OpRegistry& ops, Foreign foreign) {
  Graph graph(ops);
  MR_TRY(extend_graph(graph, def, foreign));
  return graph;
}

Status extend_graph(Graph& graph, const wire::GraphDef& def, Foreign foreign) {
  MR_TRY(check_versions(def.versions));
  const size_t size = graph.size();
  const std::shared_ptr<const FunctionLibrary> functions = graph.functions();
  Status status = Importer(graph, def, foreign).run();
  if (!status.ok()) {
    graph.truncate(size);
    graph.set_functions(functions);
  }
  return status;
}

}  // namespace millrace
