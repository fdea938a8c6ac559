// Part of families.h: register_dataset_pass_ons, datasets that are their input: what TensorFlow's
// clients put around one to have it run in some way, and what leaves out or keeps single elements.
#include <utility>

#include "absl/container/flat_hash_set.h"

#include "millrace/op/infer.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/dataset_variant.h"
#include "millrace/ops/data/families.h"

namespace millrace::data {
namespace {

Result<DatasetPtr> same_dataset(DatasetInputs& inputs) { return inputs.dataset(); }

// Of one that tells how many threads it wants: here it is run by those of the session.
MakeDataset same_with_threads(const char* what) {
  return [what](DatasetInputs& inputs) -> Result<DatasetPtr> {
    MR_ASSIGN(const int64_t threads, inputs.scalar<int64_t>(1, what));
    if (threads < 0) return invalid("`", what, "` must be >= 0, not ", threads);
    return inputs.dataset();
  };
}

// ---- Options
// -------------------------------------------------------------------------------------

class OptionsDataset final : public DerivedDataset {
 public:
  // Messages one after the other are one that is merged of them.
  OptionsDataset(DatasetPtr input, std::string_view options)
      : DerivedDataset(std::move(input)), options_(str_cat(input_->options(), options)) {}
  std::string options() const override { return options_; }
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override { return input_->iterate(host); }

 private:
  const std::string options_;
};

Result<DatasetPtr> make_options(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const std::string options, inputs.attrs().string("serialized_options"));
  return DatasetPtr(std::make_shared<OptionsDataset>(std::move(input), options));
}

// ---- IgnoreErrors
// --------------------------------------------------------------------------------

class IgnoringErrors final : public DatasetIterator {
 public:
  explicit IgnoringErrors(IteratorPtr input) : input_(std::move(input)) {}
  Result<Next> next(Pull& pull, Element* element) override {
    for (;;) {
      Result<Next> next = input_->next(pull, element);
      if (next.ok() || next.status().code() == Code::cancelled) return next;
      if (!pull.go_on()) return Next::pending;
    }
  }

 private:
  const IteratorPtr input_;
};

class IgnoreErrorsDataset final : public DerivedDataset {
 public:
  using DerivedDataset::DerivedDataset;
  int64_t cardinality() const override { return kUnknown; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<IgnoringErrors>(std::move(input)));
  }
};

// ---- Unique
// --------------------------------------------------------------------------------------

// The bytes of a value, by which equal ones are told.
std::string key_of(const Tensor& value) {
  if (value.dtype() == DType::string) return value.item<std::string>();
  return std::string(value.bytes());
}

class Distinct final : public DatasetIterator {
 public:
  explicit Distinct(IteratorPtr input) : input_(std::move(input)) {}
  Result<Next> next(Pull& pull, Element* element) override {
    for (;;) {
      MR_ASSIGN(const Next next, input_->next(pull, element));
      if (next != Next::element) return next;
      if ((*element)[0].num_elements() != 1) return invalid("unique elements must be scalars");
      if (seen_.insert(key_of((*element)[0])).second) return next;
      if (!pull.go_on()) return Next::pending;
    }
  }

 private:
  const IteratorPtr input_;
  absl::flat_hash_set<std::string> seen_;
};

class UniqueDataset final : public DerivedDataset {
 public:
  using DerivedDataset::DerivedDataset;
  int64_t cardinality() const override { return kUnknown; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<Distinct>(std::move(input)));
  }
};

Result<DatasetPtr> make_unique_elements(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  const std::vector<DType>& types = input->components().types;
  const bool fits = types.size() == 1 &&
                    (types[0] == DType::i32 || types[0] == DType::i64 || types[0] == DType::string);
  if (!fits)
    return invalid(
        "UniqueDataset only supports inputs of one component, of type int32, int64 or "
        "string");
  return DatasetPtr(std::make_shared<UniqueDataset>(std::move(input)));
}

template <class D>
Result<DatasetPtr> derived(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  return DatasetPtr(std::make_shared<D>(std::move(input)));
}

// ---- What a dataset says of itself
// ---------------------------------------------------------------

OpDef question(std::string name, std::string doc, std::string signature,
               Result<Tensor> (*answer)(KernelContext&)) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = infer::scalar,
          .cpu = kernel(answer),
          .not_differentiable = "it tells of a dataset, which is no number",
          .foldable = false,
          .cost = Cost::cheap};
}

Result<Tensor> cardinality_of(KernelContext& context) {
  MR_ASSIGN(const DatasetPtr dataset, dataset_in(context.input(0)));
  return Tensor::scalar(dataset->cardinality());
}

Result<Tensor> batch_size_of(KernelContext& context) {
  MR_ASSIGN(const DatasetPtr dataset, dataset_in(context.input(0)));
  return Tensor::scalar(dataset->batch_size());
}

Result<Tensor> options_of(KernelContext& context) {
  MR_ASSIGN(const DatasetPtr dataset, dataset_in(context.input(0)));
  return Tensor::scalar(dataset->options());
}

Result<Tensor> same_variant(KernelContext& context) {
  if (!context.input(0).shape().is_scalar())
    return invalid("Dataset tensor must be a scalar of dtype DT_VARIANT, not of shape ",
                   context.input(0).shape().to_string());
  return context.take_input(0);
}

}  // namespace

Status register_dataset_pass_ons(OpRegistry& ops) {
  const std::string input = "input_dataset: variant";
  const std::string doc =
      "The same dataset: what it asks for is how it is run here, or changes nothing.";
  MR_TRY(ops.add(dataset_op("OptionsDataset", "The same dataset with options.", input,
                            str_cat("serialized_options: string, ", kOutputs), make_options)));
  const auto add_same = [&](const char* name, const std::string& more_inputs,
                            const std::string& more_attrs) {
    return ops.add(dataset_op(name, doc, input + more_inputs, kOutputs + more_attrs, same_dataset));
  };
  MR_TRY(add_same("OptimizeDataset", ", optimizations: string",
                  ", optimization_configs: list(string) = {}"));
  MR_TRY(add_same("OptimizeDatasetV2",
                  ", optimizations_enabled: string, optimizations_disabled: string, "
                  "optimizations_default: string",
                  ", optimization_configs: list(string) = {}"));
  MR_TRY(add_same("ModelDataset", "",
                  ", algorithm: int = 0, cpu_budget: int = 0, ram_budget: int = 0"));
  MR_TRY(add_same("FinalizeDataset", "", ", has_captured_ref: bool = false"));
  MR_TRY(add_same("AssertNextDataset", ", transformations: string", ""));
  for (const auto& [name, what] :
       {std::pair("MaxIntraOpParallelismDataset", "max_intra_op_parallelism"),
        std::pair("PrivateThreadPoolDataset", "num_threads")}) {
    MR_TRY(ops.add(dataset_op(name, doc, str_cat(input, ", ", what, ": int64"), kOutputs,
                              same_with_threads(what))));
  }
  MR_TRY(add_same("RewriteDataset", ", rewrite_name: string", ""));
  for (const char* name : {"IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"}) {
    MR_TRY(ops.add(dataset_op(name, "The elements that do not fail.", input,
                              str_cat(kOutputs, ", log_warning: bool = false"),
                              derived<IgnoreErrorsDataset>)));
  }
  for (const char* name : {"UniqueDataset", "ExperimentalUniqueDataset"}) {
    MR_TRY(ops.add(dataset_op(name, "Each element once, where it comes first.", input, kOutputs,
                              make_unique_elements)));
  }
  MR_TRY(ops.add(question(
      "DatasetCardinality",
      "How many elements a dataset has; -1 for no end, -2 if that is not known.",
      input + " -> cardinality: int64 | cardinality_options: string = ''", cardinality_of)));
  MR_TRY(
      ops.add(question("ExperimentalDatasetCardinality",
                       "How many elements a dataset has; -1 for no end, -2 if that is not known.",
                       input + " -> cardinality: int64", cardinality_of)));
  MR_TRY(ops.add(question(
      "ComputeBatchSize",
      "How many rows the batches of a dataset have; -1 if it has none, or of several sizes.",
      input + " -> batch_size: int64", batch_size_of)));
  MR_TRY(ops.add(question("GetOptions", "The options that a dataset was given.",
                          input + " -> serialized_options: string", options_of)));
  MR_TRY(ops.add(question("WrapDatasetVariant", "The same dataset.",
                          "input_handle: variant -> output_handle: variant", same_variant)));
  return ops.add(question("UnwrapDatasetVariant", "The same dataset.",
                          "input_handle: variant -> output_handle: variant", same_variant));
}

}  // namespace millrace::data
