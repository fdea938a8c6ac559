// Part of families.h: register_sequences.
#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/parsing/example_parser.h"
#include "millrace/ops/parsing/families.h"

namespace millrace {
namespace {

// A list of features that is asked for: all of one shape, or any number of values each.
struct SequenceColumn {
  std::string key;
  DType dtype;
  std::optional<Shape> shape;  // none: sparse
  bool may_be_missing = true;
};

struct SequenceNode {
  std::vector<DType> context_lists, context_dense, lists, dense;
  std::vector<PartialShape> context_shapes, shapes;

  static Result<SequenceNode> read(const AttrView& attrs) {
    SequenceNode node;
    MR_ASSIGN(node.context_lists, attrs.types("context_sparse_types"));
    MR_ASSIGN(node.context_dense, attrs.types("Tcontext_dense"));
    MR_ASSIGN(node.lists, attrs.types("feature_list_sparse_types"));
    MR_ASSIGN(node.dense, attrs.types("feature_list_dense_types"));
    MR_ASSIGN(node.context_shapes, attrs.shapes("context_dense_shapes"));
    MR_ASSIGN(node.shapes, attrs.shapes("feature_list_dense_shapes"));
    if (node.context_shapes.size() != node.context_dense.size())
      return invalid("len(context_dense_keys) != len(context_dense_shapes)");
    if (node.shapes.size() != node.dense.size())
      return invalid("len(feature_list_dense_keys) != len(feature_list_dense_shapes)");
    for (const auto& [name, count] : {std::pair("Ncontext_sparse", node.context_lists.size()),
                                      {"Ncontext_dense", node.context_dense.size()},
                                      {"Nfeature_list_sparse", node.lists.size()},
                                      {"Nfeature_list_dense", node.dense.size()}}) {
      MR_ASSIGN(const int64_t said, attrs.integer(name));
      if (said != static_cast<int64_t>(count))
        return invalid(name, " is ", said, ", but there are ", count, " types");
    }
    for (const PartialShape& shape : node.shapes) {
      if (!shape.to_shape())
        return invalid("feature_list_dense_shapes must be known, but one is ", shape.to_string());
    }
    return node;
  }
};

std::string place_of(std::string_view name, std::string_view key, size_t index) {
  return str_cat("Name: ", name.empty() ? "<unknown>" : name, ", Feature list: ", key,
                 ", Index: ", index, ".  ");
}

// The steps of one list, one after another.
Result<ParsedList> read_steps(const SequenceColumn& column,
                              std::span<const std::string_view> feature_list, std::string_view name,
                              CancelProbe& probe) {
  ParsedList steps{FeatureValues(column.dtype), {}, 0};
  for (const std::string_view bytes : feature_list) {
    const size_t index = steps.row_ends.size();
    MR_ASSIGN(const Feature feature, Feature::read(bytes).with(column.key));
    if (feature.dtype != column.dtype && (feature.dtype != DType::invalid || column.shape)) {
      return invalid(place_of(name, column.key, index),
                     "Data types don't match. Expected type: ", dtype_name(column.dtype),
                     ", the feature has ",
                     feature.dtype == DType::invalid ? "none" : dtype_name(feature.dtype));
    }
    MR_ASSIGN(const size_t count, feature.append_to(steps.values));
    if (column.shape && static_cast<int64_t>(count) != column.shape->num_elements()) {
      return invalid(place_of(name, column.key, index), "Number of ", dtype_name(column.dtype),
                     " values != expected.  values size: ", count,
                     " but output shape: ", column.shape->to_string());
    }
    steps.longest = std::max(steps.longest, static_cast<int64_t>(count));
    steps.row_ends.push_back(static_cast<int64_t>(steps.values.size()));
    if (!probe.go_on(static_cast<int64_t>(1 + bytes.size() / 16))) return probe.status();
  }
  return steps;
}

class ParseSequenceKernel final : public Kernel {
 public:
  explicit ParseSequenceKernel(SequenceNode node) : node_(std::move(node)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(SequenceNode node, SequenceNode::read(spec.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<ParseSequenceKernel>(std::move(node)));
  }

  Status run(KernelContext& context) override {
    const Tensor& serialized = context.input(0);
    if (!serialized.shape().is_scalar()) {
      return invalid("Expected serialized to be a scalar, got shape: ",
                     serialized.shape().to_string());
    }
    const std::string& bytes = serialized.item<std::string>();
    const Tensor& debug = context.input(context.num_inputs() - 1);
    const std::string name = debug.num_elements() == 1 ? debug.item<std::string>() : "";
    const auto missing = context.input(1).flat<std::string>();
    int slot = 2;
    MR_ASSIGN(const ExampleParser parser, context_parser(context, slot));
    std::vector<SequenceColumn> columns;
    for (const DType dtype : node_.lists) {
      MR_ASSIGN(std::string key, key_at(context, slot++));
      columns.push_back({std::move(key), dtype, std::nullopt});
    }
    for (size_t i = 0; i < node_.dense.size(); ++i) {
      MR_ASSIGN(std::string key, key_at(context, slot++));
      const bool may_be_missing = std::ranges::find(missing, key) != missing.end();
      columns.push_back(
          {std::move(key), node_.dense[i], *node_.shapes[i].to_shape(), may_be_missing});
    }
    CancelProbe probe(context);
    MR_ASSIGN(const auto features, messages_in(bytes, 1).with("Could not parse the sequence"));
    MR_ASSIGN(ParsedExamples parsed, parser.parse_features(features, name, probe));
    int output = 0;
    MR_TRY(set_context(context, std::move(parsed), output));
    return set_lists(context, bytes, columns, name, probe, output);
  }

 private:
  static Result<std::string> key_at(const KernelContext& context, int slot) {
    if (context.input(slot).num_elements() != 1)
      return invalid("Expected each key to be one string, got shape: ",
                     context.input(slot).shape().to_string());
    return context.input(slot).item<std::string>();
  }

  Result<ExampleParser> context_parser(KernelContext& context, int& slot) const {
    std::vector<ListColumn> lists;
    for (const DType dtype : node_.context_lists) {
      MR_ASSIGN(std::string key, key_at(context, slot++));
      lists.push_back({std::move(key), dtype});
    }
    std::vector<DenseColumn> dense;
    // The defaults stand behind all keys.
    const int defaults = context.num_inputs() - 1 - static_cast<int>(node_.context_dense.size());
    for (size_t i = 0; i < node_.context_dense.size(); ++i) {
      MR_ASSIGN(std::string key, key_at(context, slot++));
      dense.push_back({std::move(key), node_.context_dense[i], node_.context_shapes[i],
                       context.input(defaults + static_cast<int>(i))});
    }
    return ExampleParser::create(std::move(dense), std::move(lists));
  }

  Status set_context(KernelContext& context, ParsedExamples parsed, int& output) const {
    const int lists = static_cast<int>(node_.context_lists.size());
    for (int i = 0; i < lists; ++i)
      MR_TRY(set_sparse(context, parsed.lists[static_cast<size_t>(i)], false, output + i, lists));
    output += 3 * lists;
    for (Tensor& dense : parsed.dense) context.set_output(output++, std::move(dense));
    return {};
  }

  static Status set_sparse(KernelContext& context, const ParsedList& list, bool has_steps, int slot,
                           int apart) {
    MR_ASSIGN(SparseOutputs made, sparse_outputs(list, has_steps));
    context.set_output(slot, std::move(made.indices));
    context.set_output(slot + apart, std::move(made.values));
    context.set_output(slot + 2 * apart, std::move(made.shape));
    return {};
  }

  Status set_lists(KernelContext& context, std::string_view bytes,
                   const std::vector<SequenceColumn>& columns, std::string_view name,
                   CancelProbe& probe, int output) const {
    absl::flat_hash_map<std::string_view, std::string_view> found;
    MR_ASSIGN(const auto maps, messages_in(bytes, 2));
    for (const std::string_view map : maps) {
      MR_TRY(each_entry(map, [&](std::string_view key, std::string_view value) -> Status {
        found[key] = value;
        return {};
      }));
    }
    const int lists = static_cast<int>(node_.lists.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      const SequenceColumn& column = columns[i];
      const auto place = found.find(column.key);
      if (place == found.end() && !column.may_be_missing) {
        return invalid("Name: ", name.empty() ? "<unknown>" : name, ", Feature list '", column.key,
                       "' is required but could not be found.  Did you mean to include it in "
                       "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?");
      }
      MR_ASSIGN(const auto features,
                messages_in(place == found.end() ? std::string_view() : place->second, 1));
      MR_ASSIGN(const ParsedList steps, read_steps(column, features, name, probe));
      if (!column.shape) {
        MR_TRY(set_sparse(context, steps, true, output + static_cast<int>(i), lists));
        continue;
      }
      Shape::Dims dims{static_cast<int64_t>(steps.row_ends.size())};
      dims.insert(dims.end(), column.shape->dims().begin(), column.shape->dims().end());
      MR_ASSIGN(const Shape shape, Shape::create(dims));
      MR_ASSIGN(Tensor dense, steps.values.tensor(shape));
      context.set_output(output + 2 * lists + static_cast<int>(i), std::move(dense));
    }
    return {};
  }

  const SequenceNode node_;
};

Status infer_sequence(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 0));
  MR_ASSIGN(const SequenceNode node, SequenceNode::read(context.attrs()));
  int slot = 0;
  const auto set_sparse = [&](size_t count, int rank) {
    for (size_t i = 0; i < count; ++i) context.set_output(slot++, PartialShape{kUnknownDim, rank});
    for (size_t i = 0; i < count; ++i) context.set_output(slot++, PartialShape::of_rank(1));
    for (size_t i = 0; i < count; ++i) context.set_output(slot++, PartialShape{rank});
  };
  set_sparse(node.context_lists.size(), 1);
  for (const PartialShape& shape : node.context_shapes) context.set_output(slot++, shape);
  set_sparse(node.lists.size(), 2);
  for (const PartialShape& shape : node.shapes) {
    Shape::Dims dims{kUnknownDim};
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    MR_TRY(context.set_output(slot++, PartialShape::create(dims)));
  }
  return {};
}

}  // namespace

Status register_sequences(OpRegistry& ops) {
  const std::string types = "list({float, int64, string}) >= 0 = {}";
  return ops.add({
      .name = "ParseSingleSequenceExample",
      .doc = "Features and lists of features of one tf.train.SequenceExample message, as dense "
             "and sparse tensors.",
      .signature =
          "serialized: string, feature_list_dense_missing_assumed_empty: string, "
          "context_sparse_keys: Ncontext_sparse*string, "
          "context_dense_keys: Ncontext_dense*string, "
          "feature_list_sparse_keys: Nfeature_list_sparse*string, "
          "feature_list_dense_keys: Nfeature_list_dense*string, "
          "context_dense_defaults: Tcontext_dense, debug_name: string -> "
          "context_sparse_indices: Ncontext_sparse*int64, "
          "context_sparse_values: context_sparse_types, "
          "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: Tcontext_dense, "
          "feature_list_sparse_indices: Nfeature_list_sparse*int64, "
          "feature_list_sparse_values: feature_list_sparse_types, "
          "feature_list_sparse_shapes: Nfeature_list_sparse*int64, "
          "feature_list_dense_values: feature_list_dense_types | "
          "Ncontext_sparse: int >= 0 = 0, Ncontext_dense: int >= 0 = 0, "
          "Nfeature_list_sparse: int >= 0 = 0, Nfeature_list_dense: int >= 0 = 0, "
          "context_sparse_types: " +
          types + ", Tcontext_dense: " + types + ", feature_list_dense_types: " + types +
          ", context_dense_shapes: list(shape) >= 0 = {}, feature_list_sparse_types: " + types +
          ", feature_list_dense_shapes: list(shape) >= 0 = {}",
      .infer = infer_sequence,
      .cpu = kernel_class<ParseSequenceKernel>(),
      .not_differentiable = "bytes have no gradient",
      .examples = {"'', [], 'c', 's', [7], '' | Ncontext_sparse = 0, "
                   "Nfeature_list_dense = 0, Ncontext_dense = 1, "
                   "Tcontext_dense = {float}, context_dense_shapes = {[1]}, "
                   "Nfeature_list_sparse = 1, feature_list_sparse_types = {int64}"},
  });
}

}  // namespace millrace
