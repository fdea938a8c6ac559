#include "millrace/session/retry_graph.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "millrace/base/str_cat.h"
#include "millrace/op/once_factory.h"

namespace millrace {
namespace {

constexpr std::string_view kNameNode = "_retry/name";

// Ops with state that a step may run twice. They read; make what is there already; write the same
// again; draw other numbers; or what they change ends with the step. By the name without its
// version ("V2"). In order.
constexpr std::string_view kHarmless[] = {
    "AllCandidateSampler",
    "Assert",
    "CheckNumerics",
    "ConditionalAccumulator",
    "DatasetToSingleElement",
    "DeepCopy",
    "DestroyTemporaryVariable",
    "DeviceIndex",
    "DisableCopyOnRead",
    "Empty",
    "FIFOQueue",
    "FixedUnigramCandidateSampler",
    "GetSessionTensor",
    "GuaranteeConst",
    "HashTable",
    "InitializeTable",
    "InitializeTableFromTextFile",
    "IsVariableInitialized",
    "Iterator",
    "IteratorFromStringHandle",
    "IteratorToStringHandle",
    "LearnedUnigramCandidateSampler",
    "LeaseForStep",
    "LoadAndRemapMatrix",
    "LogUniformCandidateSampler",
    "LookupTableExport",
    "LookupTableFind",
    "LookupTableSize",
    "MakeIterator",
    "Multinomial",
    "MutableDenseHashTable",
    "MutableHashTable",
    "MutableHashTableOfTensors",
    "NonDeterministicInts",
    "OneShotIterator",
    "PaddingFIFOQueue",
    "ParameterizedTruncatedNormal",
    "Print",
    "PriorityQueue",
    "QueueEndLease",
    "QueueExtendLease",
    "QueueIsClosed",
    "QueueLeases",
    "QueueLend",
    "QueueSize",
    "RandomGamma",
    "RandomPoisson",
    "RandomShuffle",
    "RandomShuffleQueue",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "ReadVariableOp",
    "ResourceConditionalAccumulator",
    "ResourceGather",
    "ResourceGatherNd",
    "Restore",
    "RestoreSlice",
    "SampleDistortedBoundingBox",
    "Save",
    "SaveSlices",
    "SparseConditionalAccumulator",
    "StatelessRandomGetAlg",
    "StepLease",
    "TemporaryVariable",
    "ThreadUnsafeUnigramCandidateSampler",
    "Timestamp",
    "TruncatedNormal",
    "UniformCandidateSampler",
    "VarHandleOp",
    "VarIsInitializedOp",
    "Variable",
    "VariableShape",
    "WriteFile",
};
static_assert(std::ranges::is_sorted(kHarmless));

std::string_view without_version(std::string_view op) {
  const size_t at = op.rfind('V');
  const bool has_version = at != std::string_view::npos && at > 0 && at + 2 == op.size() &&
                           op[at + 1] >= '2' && op[at + 1] <= '9';
  return has_version ? op.substr(0, at) : op;
}

bool is_harmless(const OpDef& op) {
  if (!op.stateful || calls_functions(op.role)) return true;
  const std::string_view name = without_version(op.name);
  // Of the step: its stacks and lists; a dataset is only how elements will be made.
  if (name.starts_with("TensorArray") || name.starts_with("Stack")) return true;
  return name.ends_with("Dataset") || std::ranges::binary_search(kHarmless, name);
}

}  // namespace

wire::GraphDef RetryGraph::own_nodes() const {
  wire::GraphDef made;
  made.nodes.push_back({.name = std::string(kNameNode),
                        .op = "Placeholder",
                        .device = {},
                        .inputs = {},
                        .attrs = {{"dtype", DType::string}, {"shape", PartialShape::scalar()}}});
  made.nodes.push_back({.name = std::string(kStepNode),
                        .op = "StepLease",
                        .device = {},
                        .inputs = {std::string(kNameNode)},
                        .attrs = {}});
  return made;
}

RetryGraph::StepKind RetryGraph::kind_of(const StepRequestNames& names) const {
  bool has_lease = false;
  std::vector<std::string> updates;  // of the graph itself
  std::vector<std::string> callers;  // likewise: where functions take their places
  bool updates_in_function = false;
  std::string named_update;  // of all
  std::string why;
  const auto never = [&why](std::string_view name, std::string_view what, std::string_view reason) {
    if (why.empty()) why = str_cat("'", name, "' (", what, ") ", reason);
  };
  graph_.visit(names, [&](const NamedGraph::Needed& needed) {
    const OpDef* const op = needed.node.op;
    if (!graph_.knows_calls_of(needed.node)) {
      never(needed.name, op == nullptr ? needed.node.calls.front() : op->name,
            "calls what the session does not know");
    }
    if (!needed.is_in_function && !needed.node.calls.empty()) callers.emplace_back(needed.name);
    if (op == nullptr) return;
    has_lease |= op->name == "StepLease";
    if (!is_made_once(*op)) {
      if (!is_harmless(*op)) never(needed.name, op->name, "changes what can't be changed once");
      return;
    }
    named_update = needed.name;
    if (!needed.is_plain)
      never(needed.name, op->name, "updates from inside of a loop or a dataset");
    updates_in_function |= needed.is_in_function;
    if (!needed.is_in_function) updates.emplace_back(needed.name);
  });
  // Which of them calls the function that updates is not told.
  if (updates_in_function) updates.insert(updates.end(), callers.begin(), callers.end());
  if (why.empty() && graph_.is_any_in_loop(updates))
    why = "it updates from inside of a loop, where one update can't be told from the next";
  if (!why.empty()) return {Again::never, std::move(why)};
  return {named_update.empty() || has_lease ? Again::as_it_is : Again::under_name, {}};
}

}  // namespace millrace
