// Part of families.h: register_sequences.
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
    std::vector<ListedColumn> columns;
    for (const DType dtype : node_.lists) {
      MR_ASSIGN(std::string key, key_at(context, slot++));
      columns.push_back({std::move(key), dtype});
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
    MR_ASSIGN(const int output, set_parsed(context, std::move(parsed), {}, false));
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

  Status set_lists(KernelContext& context, std::string_view bytes,
                   const std::vector<ListedColumn>& columns, std::string_view name,
                   CancelProbe& probe, int output) const {
    MR_ASSIGN(const ListedBytes found, listed_bytes(bytes));
    const int lists = static_cast<int>(node_.lists.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      ListedSteps steps(columns[i].dtype);
      MR_TRY(append_list(columns[i], found, name, probe, steps));
      if (columns[i].shape) {
        MR_ASSIGN(Tensor dense, dense_steps(steps, *columns[i].shape, false));
        context.set_output(output + 2 * lists + static_cast<int>(i), std::move(dense));
        continue;
      }
      MR_ASSIGN(ListedSparse made, sparse_steps(steps, false));
      const int slot = output + static_cast<int>(i);
      context.set_output(slot, std::move(made.indices));
      context.set_output(slot + lists, std::move(made.values));
      context.set_output(slot + 2 * lists, std::move(made.shape));
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
