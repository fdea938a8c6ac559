#include "millrace/plan/step_ends.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/shown.h"

namespace millrace {
namespace {

// Its control edges mean "once the value is there", which is the _Recv when it is fed.
bool is_placeholder(const Node& node) { return node.op->source == Source::fed; }

}  // namespace

class StepEndsFinder {
 public:
  StepEndsFinder(const Graph& whole, const StepSignature& signature)
      : whole_(whole), signature_(signature), ends_(whole) {}

  Result<StepEnds> find() && {
    MR_TRY(run());
    return std::move(ends_);
  }

 private:
  Status run() {
    if (signature_.fetches.empty() && signature_.targets.empty()) {
      return invalid("Must specify at least one target to fetch or execute.");
    }
    for (const std::string& feed : signature_.feeds) MR_TRY(resolve_feed(feed));
    for (const TensorConnection& connection : signature_.connections) MR_TRY(connect(connection));
    MR_TRY(find_missing_fetches());
    for (const std::string& fetch : signature_.fetches) MR_TRY(resolve_fetch(fetch));
    std::vector<std::string_view> missing;
    for (const std::string& target : signature_.targets) {
      if (const Node* node = whole_.find(target)) {
        ends_.targets.push_back(node->id);
      } else {
        missing.push_back(target);
      }
    }
    if (missing.empty()) return {};
    return not_found("PruneForTargets: Some target nodes not found: ", listed(missing, " "));
  }

  // All of them at once: who mends one name at a time has to ask for each. An empty name comes
  // last, since it says the least.
  Status find_missing_fetches() const {
    std::vector<std::string_view> missing;
    for (const std::string& fetch : signature_.fetches)
      if (whole_.find(parse_tensor_name(fetch).node) == nullptr) missing.push_back(fetch);
    if (missing.empty()) return {};
    std::stable_partition(missing.begin(), missing.end(),
                          [](std::string_view name) { return !name.empty(); });
    return not_found("FetchOutputs node ", listed(missing, ", nor "), ": not found");
  }

  static std::string listed(std::span<const std::string_view> names, std::string_view between) {
    constexpr size_t kMost = 5;
    std::string text;
    for (const std::string_view name : names.first(std::min(names.size(), kMost))) {
      str_append(&text, text.empty() ? "" : between,
                 name.empty() ? "'' (an empty name)" : shown(name));
    }
    if (names.size() > kMost) str_append(&text, " and ", names.size() - kMost, " more");
    return text;
  }

  // What others read, and is given another value in this step.
  Result<Endpoint> find_replaced(const std::string& feed) const {
    const TensorName name = parse_tensor_name(feed);
    const Node* node = whole_.find(name.node);
    if (node == nullptr) return not_found("FeedInputs: unable to find feed output ", shown(feed));
    if (name.output >= node->num_outputs()) {
      return invalid("FeedInputs: ", feed, " should have output index < ", node->num_outputs());
    }
    const Endpoint found{node->id, name.output};
    if (ends_.is_replaced(found)) return invalid("Endpoint \"", feed, "\" fed more than once.");
    return found;
  }

  Status resolve_feed(const std::string& feed) {
    MR_ASSIGN(const Endpoint source, find_replaced(feed));
    ends_.fed_.emplace(source, ends_.feeds.size());
    ends_.feeds.push_back(source);
    return {};
  }

  Status connect(const TensorConnection& connection) {
    MR_ASSIGN(const Endpoint to, find_replaced(connection.to));
    const TensorName name = parse_tensor_name(connection.from);
    const Node* source = whole_.find(name.node);
    if (source == nullptr)
      return invalid("Requested tensor connection from unknown node: ", shown(connection.from));
    if (name.output >= source->num_outputs()) {
      return invalid("Requested tensor connection from unknown edge: ", shown(connection.from),
                     " (actual number of outputs = ", source->num_outputs(), ").");
    }
    const Endpoint from{source->id, name.output};
    const DType given = source->output_types()[from.output].dtype;
    const DType read = whole_[to.node].output_types()[to.output].dtype;
    if (given != read) {
      return invalid("Requested tensor connection from ", shown(connection.from), " of type ",
                     dtype_name(given), " to ", shown(connection.to), " of type ",
                     dtype_name(read));
    }
    if (ends_.depends_on(from.node, to.node)) {
      return invalid("Requested Tensor connection between nodes ", shown(whole_[to.node].name),
                     " and ", shown(source->name), " would create a cycle.");
    }
    ends_.connected_.emplace(to, from);
    return {};
  }

  Status resolve_fetch(const std::string& fetch) {
    const TensorName name = parse_tensor_name(fetch);
    const Node* node = whole_.find(name.node);
    if (node == nullptr) return not_found("FetchOutputs node ", shown(fetch), ": not found");
    if (node->num_outputs() == 0) {
      return invalid("Tried to fetch data for '", fetch,
                     "', which produces no output.  To run to a "
                     "node but not fetch any data, pass '",
                     fetch,
                     "' as an argument to the "
                     "'target_node_names' argument of the Session::Run API.");
    }
    if (name.output >= node->num_outputs()) {
      return invalid("FetchOutputs ", fetch, ": output index too large, must be < ",
                     node->num_outputs());
    }
    const Endpoint source{node->id, name.output};
    if (ends_.is_replaced(source)) return invalid(fetch, " is both fed and fetched.");
    ends_.fetches.push_back(source);
    return {};
  }

  const Graph& whole_;
  const StepSignature& signature_;
  StepEnds ends_;
};

Result<StepEnds> StepEnds::find(const Graph& whole, const StepSignature& signature) {
  return StepEndsFinder(whole, signature).find();
}

Endpoint StepEnds::source_of(Endpoint input) const {
  if (connected_.empty()) return input;
  for (auto other = connected_.find(input); other != connected_.end();
       other = connected_.find(input)) {
    input = other->second;
  }
  return input;
}

NodeId StepEnds::source_of_control(NodeId before) const {
  if (connected_.empty() || !is_placeholder((*whole_)[before])) return before;
  return source_of({before, 0}).node;
}

const size_t* StepEnds::feed_of(Endpoint source) const {
  if (fed_.empty()) return nullptr;
  const auto found = fed_.find(source);
  return found == fed_.end() ? nullptr : &found->second;
}

const size_t* StepEnds::feed_of_control(NodeId source) const {
  return fed_.empty() || !is_placeholder((*whole_)[source]) ? nullptr : feed_of({source, 0});
}

bool StepEnds::depends_on(NodeId id, NodeId sought) const {
  absl::flat_hash_set<NodeId> seen{id};
  std::vector<NodeId> to_visit{id};
  while (!to_visit.empty()) {
    const NodeId next = to_visit.back();
    if (next == sought) return true;
    to_visit.pop_back();
    for_each_producer((*whole_)[next], [&](NodeId producer) {
      if (seen.insert(producer).second) to_visit.push_back(producer);
    });
  }
  return false;
}

}  // namespace millrace
