// Part of families.h: register_examples.
#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/parsing/example_parser.h"
#include "millrace/ops/parsing/families.h"

namespace millrace {
namespace {

// Inputs and outputs are counted by one attribute and typed by another; both must say the same.
Status check_count(const AttrView& attrs, std::string_view name, size_t types,
                   std::string_view of) {
  if (attrs.find(name) == nullptr) return {};
  MR_ASSIGN(const int64_t said, attrs.integer(name));
  if (said == static_cast<int64_t>(types)) return {};
  return invalid(name, " is ", said, ", but ", of, " has ", types, " types");
}

// Which outputs and attributes a node has, whose keys come as inputs or as attributes.
struct ExampleNode {
  std::vector<DType> list_types, ragged_types, split_types, dense_types;
  std::vector<PartialShape> dense_shapes;

  static Result<ExampleNode> read(const AttrView& attrs) {
    ExampleNode node;
    MR_ASSIGN(node.list_types, attrs.types("sparse_types"));
    MR_ASSIGN(node.dense_types, attrs.types("Tdense"));
    MR_ASSIGN(node.dense_shapes, attrs.shapes("dense_shapes"));
    if (attrs.find("ragged_value_types") != nullptr) {
      MR_ASSIGN(node.ragged_types, attrs.types("ragged_value_types"));
      MR_ASSIGN(node.split_types, attrs.types("ragged_split_types"));
      if (node.ragged_types.size() != node.split_types.size())
        return invalid("len(ragged_value_types) != len(ragged_split_types)");
    }
    MR_TRY(check_count(attrs, "Nsparse", node.list_types.size(), "sparse_types"));
    MR_TRY(check_count(attrs, "num_sparse", node.list_types.size(), "sparse_types"));
    MR_TRY(check_count(attrs, "Ndense", node.dense_types.size(), "Tdense"));
    if (node.dense_shapes.size() != node.dense_types.size()) {
      return invalid("len(dense_keys) != len(dense_shapes): ", node.dense_types.size(), " vs. ",
                     node.dense_shapes.size());
    }
    return node;
  }

  // Shapes of the outputs; of one example there is no axis for the batch.
  void set_outputs(InferContext& context, bool has_batch, int64_t batch) const {
    const int lists = static_cast<int>(list_types.size());
    const int rank = has_batch ? 2 : 1;
    int slot = 0;
    for (int i = 0; i < lists; ++i) context.set_output(slot++, PartialShape{kUnknownDim, rank});
    for (int i = 0; i < lists; ++i) context.set_output(slot++, PartialShape::of_rank(1));
    for (int i = 0; i < lists; ++i) context.set_output(slot++, PartialShape{rank});
    for (const PartialShape& shape : dense_shapes) {
      Shape::Dims dims;
      if (has_batch) dims.push_back(batch);
      dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
      const auto whole = PartialShape::create(dims);
      context.set_output(slot++, shape.has_rank() && whole.ok() ? *whole : PartialShape());
    }
    for (size_t i = 0; i < ragged_types.size(); ++i)
      context.set_output(slot++, PartialShape::of_rank(1));
    for (size_t i = 0; i < ragged_types.size(); ++i)
      context.set_output(slot++, PartialShape{splits_of(has_batch ? batch : kUnknownDim)});
  }
};

// The parser of a node for keys and defaults that are known.
Result<ExampleParser> parser_of(const ExampleNode& node, std::span<const std::string> list_keys,
                                std::span<const std::string> dense_keys,
                                std::span<const std::string> ragged_keys,
                                std::vector<Tensor> defaults) {
  if (list_keys.size() != node.list_types.size())
    return invalid("len(sparse_keys) != len(sparse_types): ", list_keys.size(), " vs. ",
                   node.list_types.size());
  if (dense_keys.size() != node.dense_types.size())
    return invalid("len(dense_keys) != len(dense_types): ", dense_keys.size(), " vs. ",
                   node.dense_types.size());
  if (ragged_keys.size() != node.ragged_types.size())
    return invalid("len(ragged_keys) != len(ragged_value_types): ", ragged_keys.size(), " vs. ",
                   node.ragged_types.size());
  std::vector<DenseColumn> dense;
  for (size_t i = 0; i < dense_keys.size(); ++i) {
    dense.push_back(
        {dense_keys[i], node.dense_types[i], node.dense_shapes[i], std::move(defaults[i])});
  }
  std::vector<ListColumn> lists;
  for (size_t i = 0; i < list_keys.size(); ++i) lists.push_back({list_keys[i], node.list_types[i]});
  for (size_t i = 0; i < ragged_keys.size(); ++i)
    lists.push_back({ragged_keys[i], node.ragged_types[i]});
  return ExampleParser::create(std::move(dense), std::move(lists));
}

// --- Of a batch ---

Result<std::span<const std::string>> batch_names(const Tensor& names, const Tensor& serialized) {
  if (names.num_elements() == 0) return std::span<const std::string>();
  if (names.shape() != serialized.shape()) {
    return invalid("Expected len(names) == len(serialized), but got: ", names.num_elements(),
                   " vs. ", serialized.num_elements());
  }
  return names.flat<std::string>();
}

// ParseExample gives each key as an input of its own, ParseExampleV2 vectors of them.
class ParseBatchKernel final : public Kernel {
 public:
  ParseBatchKernel(ExampleNode node, bool has_vectors)
      : node_(std::move(node)), has_vectors_(has_vectors) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(ExampleNode node, ExampleNode::read(spec.attrs));
    return std::unique_ptr<Kernel>(
        std::make_unique<ParseBatchKernel>(std::move(node), spec.attrs.op().name.ends_with("V2")));
  }

  Status run(KernelContext& context) override {
    int slot = 2;
    MR_ASSIGN(const auto list_keys, keys(context, slot, node_.list_types.size()));
    MR_ASSIGN(const auto dense_keys, keys(context, slot, node_.dense_types.size()));
    std::vector<std::string> ragged_keys;
    if (has_vectors_) {
      MR_ASSIGN(ragged_keys, keys(context, slot, node_.ragged_types.size()));
    }
    std::vector<Tensor> defaults;
    while (slot < context.num_inputs()) defaults.push_back(context.input(slot++));
    MR_ASSIGN(const ExampleParser parser,
              parser_of(node_, list_keys, dense_keys, ragged_keys, std::move(defaults)));
    const Tensor& serialized = context.input(0);
    if (serialized.shape().is_scalar() && has_vectors_) {
      CancelProbe probe(context);
      MR_ASSIGN(ParsedExamples one, parser.parse_one(serialized.item<std::string>(), probe));
      MR_ASSIGN(int end, set_parsed(context, std::move(one), node_.split_types, false));
      // One example alone has no rows, and its ragged features no splits.
      for (size_t i = node_.split_types.size(); i-- > 0;) {
        MR_ASSIGN(Tensor none, Tensor::allocate(node_.split_types[i], {0}));
        context.set_output(--end, std::move(none));
      }
      return {};
    }
    if (serialized.shape().rank() != 1) {
      return invalid("Expected serialized to be a vector, got shape: ",
                     serialized.shape().to_string());
    }
    MR_ASSIGN(const auto names, batch_names(context.input(1), serialized));
    MR_ASSIGN(ParsedExamples parsed, parser.parse(context, serialized.flat<std::string>(), names));
    return set_parsed(context, std::move(parsed), node_.split_types, true).status();
  }

 private:
  Result<std::vector<std::string>> keys(KernelContext& context, int& slot, size_t count) const {
    std::vector<std::string> found;
    for (size_t i = 0; i < (has_vectors_ ? 1 : count); ++i) {
      const Tensor& key = context.input(slot++);
      if (!has_vectors_ && key.num_elements() != 1)
        return invalid("Expected each key to be one string, got shape: ", key.shape().to_string());
      const auto texts = key.flat<std::string>();
      found.insert(found.end(), texts.begin(), texts.end());
    }
    return found;
  }

  const ExampleNode node_;
  const bool has_vectors_;
};

Status infer_batch(InferContext& context) {
  MR_ASSIGN(const ExampleNode node, ExampleNode::read(context.attrs()));
  const PartialShape& serialized = context.input(0);
  if (context.attrs().op().name.ends_with("V2") &&
      (!serialized.has_rank() || serialized.rank() == 0)) {
    if (serialized.has_rank()) node.set_outputs(context, false, kUnknownDim);
    return {};
  }
  MR_ASSIGN(const PartialShape batch, context.input_of_rank(0, 1));
  node.set_outputs(context, true, batch.has_rank() ? batch.dim(0) : kUnknownDim);
  return {};
}

// --- Of one ---

class ParseOneKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    auto made = std::make_unique<ParseOneKernel>();
    MR_ASSIGN(made->node_, ExampleNode::read(spec.attrs));
    MR_ASSIGN(made->list_keys_, keys_of(spec.attrs, "sparse_keys"));
    MR_ASSIGN(made->dense_keys_, keys_of(spec.attrs, "dense_keys"));
    return std::unique_ptr<Kernel>(std::move(made));
  }

  Status run(KernelContext& context) override {
    const Tensor& serialized = context.input(0);
    if (!serialized.shape().is_scalar()) {
      return invalid("Expected serialized to be a scalar, got shape: ",
                     serialized.shape().to_string());
    }
    std::vector<Tensor> defaults;
    for (int slot = 1; slot < context.num_inputs(); ++slot) defaults.push_back(context.input(slot));
    MR_ASSIGN(const ExampleParser parser,
              parser_of(node_, list_keys_, dense_keys_, {}, std::move(defaults)));
    CancelProbe probe(context);
    MR_ASSIGN(ParsedExamples parsed, parser.parse_one(serialized.item<std::string>(), probe));
    return set_parsed(context, std::move(parsed), {}, false).status();
  }

 private:
  ExampleNode node_;
  std::vector<std::string> list_keys_, dense_keys_;
};

Status infer_one(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 0));
  MR_ASSIGN(const ExampleNode node, ExampleNode::read(context.attrs()));
  node.set_outputs(context, false, kUnknownDim);
  return {};
}

constexpr const char* kBytes = "bytes have no gradient";
constexpr const char* kLists = "list({float, int64, string}) >= 0";

}  // namespace

Status register_examples(OpRegistry& ops) {
  const std::string lists = kLists;
  MR_TRY(ops.add({
      .name = "ParseExample",
      .doc = "Features of a vector of tf.train.Example messages, as dense and sparse tensors.",
      .signature = "serialized: string, names: string, sparse_keys: Nsparse*string, "
                   "dense_keys: Ndense*string, dense_defaults: Tdense -> "
                   "sparse_indices: Nsparse*int64, sparse_values: sparse_types, "
                   "sparse_shapes: Nsparse*int64, dense_values: Tdense | Nsparse: int >= 0, "
                   "Ndense: int >= 0, sparse_types: " +
                   lists + ", Tdense: " + lists + ", dense_shapes: list(shape) >= 0",
      .infer = infer_batch,
      .cpu = kernel_class<ParseBatchKernel>(),
      .not_differentiable = kBytes,
      // No message at all is an Example without features.
      .examples = {"['' ''], [], 'a', 'b', [7] | Nsparse = 1, Ndense = 1, sparse_types = {int64}, "
                   "Tdense = {float}, dense_shapes = {[1]}"},
  }));
  MR_TRY(ops.add({
      .name = "ParseExampleV2",
      .doc = "Features of one or of a vector of tf.train.Example messages, as dense, sparse and "
             "ragged tensors.",
      .signature =
          "serialized: string, names: string, sparse_keys: string, dense_keys: string, "
          "ragged_keys: string, dense_defaults: Tdense -> "
          "sparse_indices: num_sparse*int64, sparse_values: sparse_types, "
          "sparse_shapes: num_sparse*int64, dense_values: Tdense, "
          "ragged_values: ragged_value_types, ragged_row_splits: ragged_split_types | "
          "Tdense: " +
          lists + ", num_sparse: int >= 0, sparse_types: " + lists + ", ragged_value_types: " +
          lists + ", ragged_split_types: list({int32, int64}) >= 0, dense_shapes: list(shape) >= 0",
      .infer = infer_batch,
      .cpu = kernel_class<ParseBatchKernel>(),
      .not_differentiable = kBytes,
      .examples = {"['' ''], [], [], ['b'], ['r'], [7] -> [[7] [7]], [], [0 0 0] | "
                   "num_sparse = 0, sparse_types = {}, Tdense = {float}, dense_shapes = {[1]}, "
                   "ragged_value_types = {int64}, ragged_split_types = {int64}"},
  }));
  return ops.add({
      .name = "ParseSingleExample",
      .doc = "Features of one tf.train.Example message, as dense and sparse tensors.",
      .signature = "serialized: string, dense_defaults: Tdense -> "
                   "sparse_indices: num_sparse*int64, sparse_values: sparse_types, "
                   "sparse_shapes: num_sparse*int64, dense_values: Tdense | num_sparse: int >= 0, "
                   "sparse_keys: list(string) >= 0, dense_keys: list(string) >= 0, sparse_types: " +
                   lists + ", Tdense: " + lists + ", dense_shapes: list(shape) >= 0",
      .infer = infer_one,
      .cpu = kernel_class<ParseOneKernel>(),
      .not_differentiable = kBytes,
      .examples = {"'', [7 8] -> [7 8] | num_sparse = 0, sparse_keys = {}, dense_keys = {'b'}, "
                   "sparse_types = {}, Tdense = {float}, dense_shapes = {[2]}"},
  });
}

}  // namespace millrace
