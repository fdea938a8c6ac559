#include "millrace/ops/data/dataset_kernel.h"

#include <algorithm>

#include "millrace/op/infer.h"
#include "millrace/ops/data/dataset_variant.h"

namespace millrace::data {
namespace {

class DatasetKernel final : public Kernel, public FunctionCaller {
 public:
  DatasetKernel(const KernelSpec& spec, MakeDataset make)
      : node_{std::string(spec.node_name), &spec.attrs.op(), spec.attrs.attrs(), nullptr},
        make_(std::move(make)) {}

  void give_functions(std::shared_ptr<FunctionSpace> functions) override {
    node_.functions = std::move(functions);
  }
  Status run(KernelContext& context) override {
    int depth = 1;
    for (int slot = 0; slot < context.num_inputs(); ++slot)
      depth = std::max(depth, depth_in(context.input(slot)) + 1);
    if (depth > kMostDeep)
      return invalid("'", node_.name, "' makes a dataset in which others lie ", depth,
                     " deep in each other; ", kMostDeep, " is the most that is supported");
    DatasetInputs inputs(context, node_);
    MR_ASSIGN(DatasetPtr made, make_(inputs));
    context.set_output(0, to_variant(std::move(made), depth));
    return {};
  }

 private:
  DatasetNode node_;  // constant after give_functions
  const MakeDataset make_;
};

}  // namespace

Result<Dataset::Components> DatasetInputs::components(std::string_view types) const {
  Dataset::Components made;
  MR_ASSIGN(made.types, attrs().types(types));
  MR_ASSIGN(made.shapes, attrs().shapes("output_shapes"));
  if (made.types.size() == made.shapes.size()) return made;
  return invalid("'", node_.name, "': output_shapes has ", made.shapes.size(), " shapes for ",
                 made.types.size(), " types; each component has one of both");
}

Result<DatasetPtr> DatasetInputs::dataset(int slot) const {
  return dataset_in(context_.input(slot));
}

Result<std::vector<Tensor>> DatasetInputs::list(std::string_view input) const {
  const OpDef& op = *node_.op;
  MR_ASSIGN(const std::vector<int> offsets, arg_offsets(op, op.inputs, node_.attrs));
  std::vector<Tensor> made;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].name != input) continue;
    for (int slot = offsets[i]; slot < offsets[i + 1]; ++slot) {
      // The dataset outlives the step that it is made in.
      MR_ASSIGN(Tensor kept, context_.input(slot).kept());
      made.push_back(std::move(kept));
    }
  }
  return made;
}

Result<CapturedPtr> DatasetInputs::function(std::string_view attr,
                                            std::string_view captured) const {
  const AttrValue* value = attrs().find(attr);
  const FunctionRef* named = value != nullptr ? value->as_func() : nullptr;
  if (named == nullptr) return invalid("attribute '", attr, "' names no function");
  MR_ASSIGN(std::vector<Tensor> tensors, list(captured));
  return std::make_shared<const CapturedFunction>(
      CapturedFunction{node_.functions, *named, std::move(tensors)});
}

KernelFactory dataset_kernel(MakeDataset make) {
  return [make](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(std::make_unique<DatasetKernel>(spec, make));
  };
}

namespace {

bool has_metadata(std::string_view name) {
  constexpr std::string_view kWithout[] = {"OptimizeDataset",
                                           "OptimizeDatasetV2",
                                           "ModelDataset",
                                           "FinalizeDataset",
                                           "AssertNextDataset",
                                           "MaxIntraOpParallelismDataset",
                                           "IgnoreErrorsDataset",
                                           "PrivateThreadPoolDataset",
                                           "RewriteDataset",
                                           "AssertCardinalityDataset",
                                           "RebatchDatasetV2",
                                           "NonSerializableDataset",
                                           "BytesProducedStatsDataset",
                                           "LatencyStatsDataset",
                                           "DirectedInterleaveDataset",
                                           "CSVDataset",
                                           "CSVDatasetV2",
                                           "ParseExampleDataset",
                                           "ParseExampleDatasetV2",
                                           "SparseTensorSliceDataset",
                                           "DenseToSparseBatchDataset",
                                           "GroupByReducerDataset",
                                           "MatchingFilesDataset",
                                           "SleepDataset",
                                           "RebatchDataset",
                                           "AutoShardDataset"};
  return !name.starts_with("Experimental") &&
         std::ranges::find(kWithout, name) == std::end(kWithout);
}

}  // namespace

OpDef dataset_op(std::string name, std::string doc, const std::string& inputs,
                 const std::string& attrs, MakeDataset make, Kind kind) {
  std::string signature = str_cat(inputs, " -> handle: variant");
  const bool tells_more = has_metadata(name);
  if (tells_more || !attrs.empty()) str_append(&signature, " | ", attrs);
  if (tells_more) str_append(&signature, attrs.empty() ? "" : ", ", "metadata: string = ''");
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = infer::scalar,
          .cpu = dataset_kernel(std::move(make)),
          .not_differentiable = "it gives a dataset, which is no number",
          .stateful = kind == Kind::source,
          .foldable = false,
          .cost = Cost::cheap};
}

}  // namespace millrace::data
