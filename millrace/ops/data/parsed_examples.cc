// Part of families.h: register_dataset_parsed_examples.
//
// Such a dataset is a map whose function is C++: several calls may be under way, like those of any
// other map.
#include <algorithm>
#include <map>
#include <utility>

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/mapped.h"
#include "millrace/ops/parsing/example_parser.h"
#include "millrace/tensor/boxes.h"

namespace millrace::data {
namespace {

// What of an Example is wanted, and which component of the elements each feature is: they are in
// the order of their keys.
struct Wanted {
  std::vector<DenseColumn> dense;
  std::vector<ListColumn> lists;  // sparse ones, then ragged ones
  std::vector<DType> splits;      // of the ragged ones
  std::vector<size_t> places;     // of the dense ones, then of the lists

  size_t num_sparse() const { return lists.size() - splits.size(); }
  std::vector<DType> types() const {
    std::vector<DType> made(places.size(), DType::variant);
    for (size_t i = 0; i < dense.size(); ++i) made[places[i]] = dense[i].dtype;
    return made;
  }
};

class Parsing final : public GraphFunction {
 public:
  Parsing(ExampleParser parser, Wanted wanted, Dataset::Components gives, size_t arguments)
      : parser_(std::move(parser)),
        wanted_(std::move(wanted)),
        gives_(std::move(gives)),
        takes_(arguments, DType::string) {}
  const std::vector<DType>& argument_types() const override { return takes_; }
  const std::vector<DType>& result_types() const override { return gives_.types; }
  void run(std::shared_ptr<FunctionRun> run) override {
    Result<Element> made = parsed(run->arguments, run->cancellation);
    if (!made.ok()) return run->ended(std::move(made).status());
    run->results = *std::move(made);
    run->ended({});
  }

 private:
  Result<Element> parsed(const Element& given, Cancellation& cancellation) const {
    CancelProbe probe(cancellation);
    if (given.size() == 1) {
      MR_ASSIGN(ParsedExamples examples, parser_.parse(given[0].flat<std::string>(), probe));
      return element_of(std::move(examples));
    }
    // All strings of all components are one batch.
    std::vector<std::string> all;
    for (const Tensor& component : given) {
      const auto texts = component.flat<std::string>();
      all.insert(all.end(), texts.begin(), texts.end());
    }
    MR_ASSIGN(ParsedExamples examples, parser_.parse(all, probe));
    return element_of(std::move(examples));
  }

  Result<Element> element_of(ParsedExamples examples) const {
    Element made(wanted_.places.size());
    for (size_t i = 0; i < examples.dense.size(); ++i)
      made[wanted_.places[i]] = std::move(examples.dense[i]);
    for (size_t i = 0; i < examples.lists.size(); ++i) {
      MR_ASSIGN(made[wanted_.places[examples.dense.size() + i]], list_of(examples.lists[i], i));
    }
    for (size_t i = 0; i < made.size(); ++i) {
      if (gives_.shapes[i].allows(made[i].shape())) continue;
      return invalid("Got wrong shape for FastParseExample return value ", i, " (expected ",
                     gives_.shapes[i].to_string(), ", got ", made[i].shape().to_string(), ").");
    }
    return made;
  }

  // In variants, as datasets have sparse and ragged tensors.
  Result<Tensor> list_of(const ParsedList& list, size_t index) const {
    if (index < wanted_.num_sparse()) {
      MR_ASSIGN(const SparseOutputs parts, sparse_outputs(list, true));
      return boxed_each({parts.indices, parts.values, parts.shape});
    }
    MR_ASSIGN(Tensor values, list.values.tensor({static_cast<int64_t>(list.values.size())}));
    MR_ASSIGN(Tensor splits,
              row_splits(wanted_.splits[index - wanted_.num_sparse()], list.row_ends));
    MR_ASSIGN(Variant made, boxed(kBoxedRagged, {std::move(splits), std::move(values)}));
    return Tensor::scalar(std::move(made));
  }

  const ExampleParser parser_;
  const Wanted wanted_;
  const Dataset::Components gives_;
  const std::vector<DType> takes_;
};

// The only function there is.
class ParsingSpace final : public FunctionSpace {
 public:
  explicit ParsingSpace(std::shared_ptr<GraphFunction> parsing) : parsing_(std::move(parsing)) {}
  Result<std::shared_ptr<GraphFunction>> instantiate(const FunctionRef&) override {
    return parsing_;
  }

 private:
  const std::shared_ptr<GraphFunction> parsing_;
};

// ---- Their ops
// -----------------------------------------------------------------------------------

Status check_counts(size_t keys, size_t types, std::string_view what) {
  if (keys == types) return {};
  return invalid("there are ", keys, " ", what, "_keys and ", types, " types of them");
}

Status read_dense(DatasetInputs& inputs, Wanted& wanted) {
  const AttrView attrs = inputs.attrs();
  MR_ASSIGN(const auto keys, keys_of(attrs, "dense_keys"));
  MR_ASSIGN(const auto types, attrs.types("Tdense"));
  MR_ASSIGN(const auto shapes, attrs.shapes("dense_shapes"));
  MR_ASSIGN(std::vector<Tensor> defaults, inputs.list("dense_defaults"));
  if (defaults.size() != keys.size())
    return invalid("Expected len(dense_defaults) == len(dense_keys) but got: ", defaults.size(),
                   " vs. ", keys.size());
  if (shapes.size() != keys.size())
    return invalid("there are ", keys.size(), " dense_keys and ", shapes.size(), " dense_shapes");
  for (size_t i = 0; i < keys.size(); ++i)
    wanted.dense.push_back({keys[i], types[i], shapes[i], std::move(defaults[i])});
  return {};
}

Status read_lists(const AttrView& attrs, Wanted& wanted) {
  MR_ASSIGN(const auto sparse, keys_of(attrs, "sparse_keys"));
  MR_ASSIGN(const auto types, attrs.types("sparse_types"));
  MR_TRY(check_counts(sparse.size(), types.size(), "sparse"));
  for (size_t i = 0; i < sparse.size(); ++i) wanted.lists.push_back({sparse[i], types[i]});
  if (attrs.find("ragged_keys") == nullptr) return {};
  MR_ASSIGN(const auto ragged, keys_of(attrs, "ragged_keys"));
  MR_ASSIGN(const auto values, attrs.types("ragged_value_types"));
  MR_ASSIGN(wanted.splits, attrs.types("ragged_split_types"));
  MR_TRY(check_counts(ragged.size(), values.size(), "ragged"));
  MR_TRY(check_counts(ragged.size(), wanted.splits.size(), "ragged"));
  for (size_t i = 0; i < ragged.size(); ++i) wanted.lists.push_back({ragged[i], values[i]});
  return {};
}

Result<Wanted> wanted_by(DatasetInputs& inputs) {
  Wanted wanted;
  MR_TRY(read_dense(inputs, wanted));
  MR_TRY(read_lists(inputs.attrs(), wanted));
  std::map<std::string, size_t> by_key;
  std::vector<std::string> keys;
  for (const DenseColumn& column : wanted.dense) keys.push_back(column.key);
  for (const ListColumn& column : wanted.lists) keys.push_back(column.key);
  for (const std::string& key : keys) {
    if (!by_key.emplace(key, 0).second) return invalid("Duplicate key not allowed: ", key);
  }
  size_t next = 0;
  for (auto& [key, place] : by_key) place = next++;
  for (const std::string& key : keys) wanted.places.push_back(by_key[key]);
  return wanted;
}

Status check_outputs(const Dataset::Components& components, const Wanted& wanted) {
  const std::vector<DType> types = wanted.types();
  if (types.size() != components.types.size())
    return invalid("there are ", types.size(), " features and ", components.types.size(),
                   " output_types");
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == components.types[i]) continue;
    return invalid("Got wrong type for FastParseExample return value ", i, " (expected ",
                   dtype_name(components.types[i]), ", got ", dtype_name(types[i]), ").");
  }
  return {};
}

Result<DatasetPtr> make_parsed(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  const std::vector<DType>& given = input->components().types;
  if (std::ranges::any_of(given, [](DType type) { return type != DType::string; }))
    return invalid("Examples are parsed from strings; the input dataset has elements of ",
                   given.size(), " components, not all of which are strings");
  MR_ASSIGN(auto components, inputs.components());
  Parallel parallel{.out_of_range = OutOfRange::is_error, .rows = Rows::kept};
  MR_ASSIGN(const int64_t calls, inputs.scalar<int64_t>(1, "num_parallel_calls"));
  MR_ASSIGN(parallel.calls, calls_of(calls));
  MR_ASSIGN(parallel.order, order_of(inputs.attrs()));
  MR_ASSIGN(Wanted wanted, wanted_by(inputs));
  MR_TRY(check_outputs(components, wanted));
  MR_ASSIGN(ExampleParser parser, ExampleParser::create(wanted.dense, wanted.lists));
  auto parsing =
      std::make_shared<Parsing>(std::move(parser), std::move(wanted), components, given.size());
  auto function = std::make_shared<const CapturedFunction>(CapturedFunction{
      std::make_shared<ParsingSpace>(std::move(parsing)), FunctionRef{"parse_example", {}}, {}});
  return mapped(std::move(components), std::move(input), std::move(function), parallel);
}

OpDef parsed_op(std::string name, const std::string& order, bool has_ragged) {
  const std::string lists = "list({float, int64, string}) >= 0";
  std::string attrs =
      "sparse_keys: list(string) >= 0, dense_keys: list(string) >= 0, "
      "sparse_types: " +
      lists + ", Tdense: " + lists + ", dense_shapes: list(shape) >= 0, " + kOutputs + ", " + order;
  if (has_ragged)
    attrs += ", ragged_keys: list(string) >= 0 = {}, ragged_value_types: " + lists +
             " = {}, ragged_split_types: list({int32, int64}) >= 0 = {}";
  return dataset_op(
      std::move(name),
      "Features of the tf.train.Examples of each element, in the order of their keys; several "
      "elements are parsed at once.",
      "input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense", attrs,
      make_parsed);
}

}  // namespace

Status register_dataset_parsed_examples(OpRegistry& ops) {
  const std::string sloppy = "sloppy: bool = false";
  MR_TRY(ops.add(parsed_op("ParseExampleDataset", sloppy, true)));
  MR_TRY(ops.add(parsed_op("ParseExampleDatasetV2", "deterministic: string = 'default'", true)));
  return ops.add(parsed_op("ExperimentalParseExampleDataset", sloppy, false));
}

}  // namespace millrace::data
