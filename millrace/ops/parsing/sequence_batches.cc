// Part of families.h: register_sequence_batches.
#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/parsing/example_parser.h"
#include "millrace/ops/parsing/families.h"
#include "millrace/ops/parsing/feature_lists.h"

namespace millrace {
namespace {

Status check_count(const AttrView& attrs, std::string_view name, size_t types) {
  if (attrs.find(name) == nullptr) return {};
  MR_ASSIGN(const int64_t said, attrs.integer(name));
  if (said == static_cast<int64_t>(types)) return {};
  return invalid(name, " is ", said, ", but there are ", types, " types");
}

Result<std::vector<Shape>> known_shapes(const AttrView& attrs, std::string_view name,
                                        size_t types) {
  MR_ASSIGN(const std::vector<PartialShape> shapes, attrs.shapes(name));
  if (shapes.size() != types)
    return invalid("len(", name, ") is ", shapes.size(), ", but there are ", types, " types");
  std::vector<Shape> known;
  for (const PartialShape& shape : shapes) {
    const auto whole = shape.to_shape();
    if (!whole) return invalid("Shape ", shape.to_string(), " is not fully defined");
    known.push_back(*whole);
  }
  return known;
}

// The columns of one half of a message: its context, or its lists.
struct Half {
  std::vector<DType> lists, dense, ragged, splits;
  std::vector<Shape> shapes;

  static Result<Half> read(const AttrView& attrs, const std::string& prefix,
                           std::string_view dense_types) {
    Half half;
    MR_ASSIGN(half.lists, attrs.types(prefix + "_sparse_types"));
    MR_ASSIGN(half.dense, attrs.types(dense_types));
    if (attrs.find(prefix + "_ragged_value_types") != nullptr) {
      MR_ASSIGN(half.ragged, attrs.types(prefix + "_ragged_value_types"));
      MR_ASSIGN(half.splits, attrs.types(prefix + "_ragged_split_types"));
      if (half.ragged.size() != half.splits.size()) {
        return invalid("len(", prefix, "_ragged_value_types) != len(", prefix,
                       "_ragged_split_types)");
      }
    }
    MR_ASSIGN(half.shapes, known_shapes(attrs, prefix + "_dense_shapes", half.dense.size()));
    MR_TRY(check_count(attrs, str_cat("N", prefix, "_sparse"), half.lists.size()));
    MR_TRY(check_count(attrs, str_cat("N", prefix, "_dense"), half.dense.size()));
    return half;
  }
};

struct BatchNode {
  Half context, lists;

  static Result<BatchNode> read(const AttrView& attrs) {
    BatchNode node;
    MR_ASSIGN(node.context, Half::read(attrs, "context", "Tcontext_dense"));
    MR_ASSIGN(node.lists, Half::read(attrs, "feature_list", "feature_list_dense_types"));
    return node;
  }
};

struct HalfKeys {
  std::vector<std::string> sparse, dense, ragged;
};

struct Keys {
  HalfKeys context, lists;
  std::vector<bool> may_be_missing;  // of the dense lists
};

Status check_keys(const HalfKeys& keys, const Half& half, std::string_view prefix) {
  if (keys.sparse.size() != half.lists.size()) {
    return invalid("Expected len(", prefix, "_sparse_keys) to match N", prefix,
                   "_sparse: ", keys.sparse.size(), " vs. ", half.lists.size());
  }
  if (keys.dense.size() != half.dense.size()) {
    return invalid("Expected len(", prefix, "_dense_keys) to match N", prefix,
                   "_dense: ", keys.dense.size(), " vs. ", half.dense.size());
  }
  if (keys.ragged.size() != half.ragged.size()) {
    return invalid("Expected len(", prefix, "_ragged_keys) to match len(", prefix,
                   "_ragged_value_types): ", keys.ragged.size(), " vs. ", half.ragged.size());
  }
  for (const std::string& key : keys.ragged) {
    if (std::ranges::find(keys.sparse, key) == keys.sparse.end()) continue;
    return invalid(prefix == "context" ? "Context feature " : "Sequence feature ", key,
                   " cannot be both ragged and sparse");
  }
  return {};
}

Status check_keys(const Keys& keys, const BatchNode& node) {
  MR_TRY(check_keys(keys.context, node.context, "context"));
  MR_TRY(check_keys(keys.lists, node.lists, "feature_list"));
  if (keys.may_be_missing.size() != node.lists.dense.size()) {
    return invalid(
        "Expected len(feature_list_dense_missing_assumed_empty) to match "
        "Nfeature_list_dense: ",
        keys.may_be_missing.size(), " vs. ", node.lists.dense.size());
  }
  return {};
}

// The attributes of ParseSequenceExample; those of ParseSequenceExampleV2 are inputs.
Result<Keys> keys_in(const AttrView& attrs) {
  const auto texts = [&](std::string_view name) -> Result<std::vector<std::string>> {
    const AttrValue* value = attrs.find(name);
    const auto* list = value == nullptr ? nullptr : value->as_list_of<std::string>();
    if (list == nullptr) return invalid("attribute '", name, "' must be a list of strings");
    return std::vector<std::string>(list->begin(), list->end());
  };
  Keys keys;
  MR_ASSIGN(keys.context.sparse, texts("context_sparse_keys"));
  MR_ASSIGN(keys.context.dense, texts("context_dense_keys"));
  MR_ASSIGN(keys.lists.sparse, texts("feature_list_sparse_keys"));
  MR_ASSIGN(keys.lists.dense, texts("feature_list_dense_keys"));
  MR_ASSIGN(const auto missing, texts("feature_list_dense_missing_assumed_empty"));
  for (const std::string& key : keys.lists.dense)
    keys.may_be_missing.push_back(std::ranges::find(missing, key) != missing.end());
  return keys;
}

Keys keys_in(const KernelContext& context) {
  const auto texts = [&](int slot) {
    const auto all = context.input(slot).flat<std::string>();
    return std::vector<std::string>(all.begin(), all.end());
  };
  Keys keys{{texts(2), texts(3), texts(4)}, {texts(5), texts(6), texts(7)}, {}};
  for (const bool may : context.input(8).flat<bool>()) keys.may_be_missing.push_back(may);
  return keys;
}

// --- the kernel ---

class ParseSequencesKernel final : public Kernel {
 public:
  explicit ParseSequencesKernel(BatchNode node, std::optional<Keys> keys)
      : node_(std::move(node)), keys_(std::move(keys)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(BatchNode node, BatchNode::read(spec.attrs));
    std::optional<Keys> keys;
    if (!spec.attrs.op().name.ends_with("V2")) {
      MR_ASSIGN(keys, keys_in(spec.attrs));
      MR_TRY(check_keys(*keys, node));
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<ParseSequencesKernel>(std::move(node), std::move(keys)));
  }

  Status run(KernelContext& context) override {
    const Tensor &serialized = context.input(0), &debug = context.input(1);
    if (serialized.shape().rank() > 1) {
      return invalid("Expected serialized to be a scalar or vector, got shape: ",
                     serialized.shape().to_string());
    }
    if (debug.num_elements() != 0 && debug.num_elements() != serialized.num_elements()) {
      return invalid("example_names must be empty or have the correct number of elements: ",
                     debug.num_elements(), " names of ", serialized.num_elements(), " messages");
    }
    const Keys keys = keys_ ? *keys_ : keys_in(context);
    if (!keys_) MR_TRY(check_keys(keys, node_));
    CancelProbe probe(context);
    MR_ASSIGN(const int next, set_context(context, keys.context, probe));
    return set_lists(context, keys, probe, next);
  }

 private:
  // Gives the slot behind it.
  Result<int> set_context(KernelContext& context, const HalfKeys& keys, CancelProbe& probe) const {
    const Half& half = node_.context;
    std::vector<ListColumn> lists;
    for (size_t i = 0; i < keys.sparse.size(); ++i)
      lists.push_back({keys.sparse[i], half.lists[i]});
    for (size_t i = 0; i < keys.ragged.size(); ++i)
      lists.push_back({keys.ragged[i], half.ragged[i]});
    std::vector<DenseColumn> dense;
    const int defaults = context.num_inputs() - static_cast<int>(keys.dense.size());
    for (size_t i = 0; i < keys.dense.size(); ++i) {
      dense.push_back({keys.dense[i], half.dense[i], half.shapes[i],
                       context.input(defaults + static_cast<int>(i))});
    }
    MR_ASSIGN(const ExampleParser parser,
              ExampleParser::create(std::move(dense), std::move(lists)));
    const auto messages = context.input(0).flat<std::string>();
    const auto names = context.input(1).flat<std::string>();
    // A SequenceExample's context has the number of an Example's features.
    if (context.input(0).shape().rank() == 1) {
      MR_ASSIGN(ParsedExamples parsed, parser.parse(context, messages, names));
      return set_parsed(context, std::move(parsed), half.splits, true);
    }
    MR_ASSIGN(const auto features, messages_in(messages[0], 1).with("Could not parse the context"));
    MR_ASSIGN(ParsedExamples parsed,
              parser.parse_features(features, names.empty() ? "" : names[0], probe));
    return set_parsed(context, std::move(parsed), half.splits, false);
  }

  std::vector<ListedColumn> columns(const Keys& keys) const {
    std::vector<ListedColumn> all;
    for (size_t i = 0; i < keys.lists.sparse.size(); ++i)
      all.push_back({keys.lists.sparse[i], node_.lists.lists[i]});
    for (size_t i = 0; i < keys.lists.dense.size(); ++i) {
      all.push_back({keys.lists.dense[i], node_.lists.dense[i], node_.lists.shapes[i],
                     keys.may_be_missing[i]});
    }
    for (size_t i = 0; i < keys.lists.ragged.size(); ++i)
      all.push_back({keys.lists.ragged[i], node_.lists.ragged[i]});
    return all;
  }

  Status set_lists(KernelContext& context, const Keys& keys, CancelProbe& probe, int slot) const {
    const std::vector<ListedColumn> all = columns(keys);
    std::vector<ListedSteps> steps;
    for (const ListedColumn& column : all) steps.emplace_back(column.dtype);
    const auto messages = context.input(0).flat<std::string>();
    const auto names = context.input(1).flat<std::string>();
    for (size_t i = 0; i < messages.size() && !all.empty(); ++i) {
      const std::string_view name = names.empty() ? std::string_view() : names[i];
      MR_ASSIGN(const ListedBytes lists,
                listed_bytes(messages[i]).with(str_cat("Could not parse sequence ", i)));
      for (size_t k = 0; k < all.size(); ++k)
        MR_TRY(append_list(all[k], lists, name, probe, steps[k]));
    }
    const bool has_batch = context.input(0).shape().rank() == 1;
    return set_steps(context, steps, has_batch, slot);
  }

  Status set_steps(KernelContext& context, const std::vector<ListedSteps>& steps, bool has_batch,
                   int slot) const {
    const Half& half = node_.lists;
    const int sparse = static_cast<int>(half.lists.size()),
              dense = static_cast<int>(half.dense.size());
    const int ragged = static_cast<int>(half.ragged.size());
    auto next = steps.begin();
    for (int i = 0; i < sparse; ++i, ++slot) {
      MR_ASSIGN(ListedSparse made, sparse_steps(*next++, has_batch));
      context.set_output(slot, std::move(made.indices));
      context.set_output(slot + sparse, std::move(made.values));
      context.set_output(slot + 2 * sparse, std::move(made.shape));
    }
    slot += 2 * sparse;
    for (int i = 0; i < dense; ++i, ++slot, ++next) {
      MR_ASSIGN(Tensor made, dense_steps(*next, half.shapes[static_cast<size_t>(i)], has_batch));
      context.set_output(slot, std::move(made));
      MR_TRY(context.set_output(slot + dense, lengths(*next, has_batch)));
    }
    slot += dense;
    for (int i = 0; i < ragged; ++i, ++slot, ++next) {
      const DType type = half.splits[static_cast<size_t>(i)];
      const auto number = static_cast<int64_t>(next->values.size());
      MR_TRY(context.set_output(slot, next->values.tensor({number})));
      MR_TRY(context.set_output(slot + ragged, row_splits(type, next->list_ends)));
      MR_TRY(context.set_output(slot + 2 * ragged, row_splits(type, next->step_ends)));
    }
    return {};
  }

  static Result<Tensor> lengths(const ListedSteps& steps, bool has_batch) {
    if (!has_batch) return Tensor::scalar(steps.longest_list);
    std::vector<int64_t> all;
    for (size_t i = 0; i < steps.list_ends.size(); ++i)
      all.push_back(steps.list_ends[i] - steps.first_step(i));
    return Tensor::vector<int64_t>(std::span<const int64_t>(all));
  }

  const BatchNode node_;
  const std::optional<Keys> keys_;  // none: they are inputs
};

// --- the rule ---

Status infer_sequences(InferContext& context) {
  MR_ASSIGN(const BatchNode node, BatchNode::read(context.attrs()));
  const PartialShape& serialized = context.input(0);
  if (!serialized.has_rank()) return {};
  if (serialized.rank() > 1) {
    return invalid("Expected serialized to be a scalar or vector, got shape: ",
                   serialized.to_string());
  }
  const bool has_batch = serialized.rank() == 1;
  const int64_t batch = has_batch ? serialized.dim(0) : kUnknownDim;
  const Shape::Dims lead = has_batch ? Shape::Dims{batch} : Shape::Dims{};
  int slot = 0;
  const auto set_sparse = [&](size_t count, int64_t rank) {
    for (size_t i = 0; i < count; ++i) context.set_output(slot++, PartialShape{kUnknownDim, rank});
    for (size_t i = 0; i < count; ++i) context.set_output(slot++, PartialShape::of_rank(1));
    for (size_t i = 0; i < count; ++i) context.set_output(slot++, PartialShape{rank});
  };
  const auto set_dense = [&](const std::vector<Shape>& shapes, Shape::Dims dims) -> Status {
    const size_t rank = dims.size();
    for (const Shape& shape : shapes) {
      dims.resize(rank);
      dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
      MR_TRY(context.set_output(slot++, PartialShape::create(dims)));
    }
    return {};
  };
  const auto set_vectors = [&](size_t count, int64_t length) {
    for (size_t i = 0; i < count; ++i) context.set_output(slot++, PartialShape{length});
  };
  const int64_t splits = splits_of(batch);
  set_sparse(node.context.lists.size(), has_batch ? 2 : 1);
  MR_TRY(set_dense(node.context.shapes, lead));
  set_vectors(node.context.ragged.size(), kUnknownDim);
  set_vectors(node.context.ragged.size(), splits);
  set_sparse(node.lists.lists.size(), has_batch ? 3 : 2);
  Shape::Dims steps = lead;
  steps.push_back(kUnknownDim);
  MR_TRY(set_dense(node.lists.shapes, steps));
  MR_TRY(set_dense(std::vector<Shape>(node.lists.dense.size()), lead));  // lengths
  set_vectors(node.lists.ragged.size(), kUnknownDim);
  set_vectors(node.lists.ragged.size(), splits);
  set_vectors(node.lists.ragged.size(), kUnknownDim);
  return {};
}

// What both forms give; those with ragged columns have two more lists in each half.
std::string outputs_of(std::string_view ragged_context, std::string_view ragged_lists) {
  return str_cat(
      "context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: "
      "context_sparse_types, context_sparse_shapes: Ncontext_sparse*int64, "
      "context_dense_values: Tcontext_dense, ",
      ragged_context,
      "feature_list_sparse_indices: Nfeature_list_sparse*int64, feature_list_sparse_values: "
      "feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse*int64, "
      "feature_list_dense_values: feature_list_dense_types, "
      "feature_list_dense_lengths: Nfeature_list_dense*int64",
      ragged_lists);
}

Status add_sequences(OpRegistry& ops, std::string name, std::string doc, std::string signature,
                     std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = std::move(signature),
      .infer = infer_sequences,
      .cpu = kernel_class<ParseSequencesKernel>(),
      .not_differentiable = "bytes have no gradient",
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_sequence_batches(OpRegistry& ops) {
  const std::string types = ": list({float, int64, string}) >= 0 = {}";
  const std::string splits = ": list({int32, int64}) >= 0 = {}";
  const std::string shapes = ": list(shape) >= 0 = {}";
  const std::string common = str_cat(
      "Ncontext_sparse: int >= 0 = 0, Nfeature_list_sparse: int >= 0 = 0, "
      "Nfeature_list_dense: int >= 0 = 0, context_sparse_types",
      types, ", Tcontext_dense", types, ", feature_list_dense_types", types,
      ", context_dense_shapes", shapes, ", feature_list_sparse_types", types,
      ", feature_list_dense_shapes", shapes);
  MR_TRY(add_sequences(
      ops, "ParseSequenceExample",
      "Features and lists of features of one or of a vector of tf.train.SequenceExample messages, "
      "as dense and sparse tensors.",
      str_cat("serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense -> ",
              outputs_of("", ""),
              " | feature_list_dense_missing_assumed_empty: list(string) >= 0, "
              "context_sparse_keys: list(string) >= 0, context_dense_keys: list(string) >= 0, "
              "feature_list_sparse_keys: list(string) >= 0, "
              "feature_list_dense_keys: list(string) >= 0, Ncontext_dense: int >= 0 = 0, ",
              common),
      // No message at all is a SequenceExample without features.
      "['' ''], [], [7] -> [[7] [7]], [[] []], [0 0] | Ncontext_dense = 1, "
      "Tcontext_dense = {float}, context_dense_shapes = {[1]}, context_sparse_keys = {}, "
      "context_dense_keys = {'c'}, Nfeature_list_dense = 1, feature_list_dense_types = {int64}, "
      "feature_list_dense_shapes = {[]}, feature_list_dense_keys = {'d'}, "
      "feature_list_sparse_keys = {}, feature_list_dense_missing_assumed_empty = {'d'}"));
  return add_sequences(
      ops, "ParseSequenceExampleV2",
      "Features and lists of features of one or of a vector of tf.train.SequenceExample messages, "
      "as dense, sparse and ragged tensors.",
      str_cat("serialized: string, debug_name: string, context_sparse_keys: string, "
              "context_dense_keys: string, context_ragged_keys: string, "
              "feature_list_sparse_keys: string, feature_list_dense_keys: string, "
              "feature_list_ragged_keys: string, "
              "feature_list_dense_missing_assumed_empty: bool, "
              "context_dense_defaults: Tcontext_dense -> ",
              outputs_of("context_ragged_values: context_ragged_value_types, "
                         "context_ragged_row_splits: context_ragged_split_types, ",
                         ", feature_list_ragged_values: feature_list_ragged_value_types, "
                         "feature_list_ragged_outer_splits: feature_list_ragged_split_types, "
                         "feature_list_ragged_inner_splits: feature_list_ragged_split_types"),
              " | ", common, ", context_ragged_value_types", types, ", context_ragged_split_types",
              splits, ", feature_list_ragged_value_types", types,
              ", feature_list_ragged_split_types", splits),
      "['' ''], [], [], ['c'], ['r'], [], [], ['s'], [], [7] -> [[7] [7]], [], [0 0 0], [], "
      "[0 0 0], [0] | Tcontext_dense = {float}, context_dense_shapes = {[1]}, "
      "context_ragged_value_types = {int64}, context_ragged_split_types = {int64}, "
      "feature_list_ragged_value_types = {string}, feature_list_ragged_split_types = {int32}, "
      "Ncontext_sparse = 0, Nfeature_list_sparse = 0, Nfeature_list_dense = 0");
}

}  // namespace millrace
