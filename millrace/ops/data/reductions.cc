// Part of families.h: register_dataset_reductions, one value out of a whole dataset.
#include <span>
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/dataset_variant.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/function_walk.h"
#include "millrace/ops/data/iterator.h"
#include "millrace/ops/data/iterator_node.h"

namespace millrace::data {
namespace {

// ---- Reduce
// --------------------------------------------------------------------------------------

class Reducing final : public DatasetIterator {
 public:
  Reducing(IteratorPtr input, WalkFunction function, Element state)
      : input_(std::move(input)), function_(std::move(function)), state_(std::move(state)) {}
  Result<Next> next(Pull& pull, Element* result) override {
    if (is_over_) return Next::end;
    for (;;) {
      if (!call_.is_under_way()) {
        if (!pull.go_on(Pull::kDear)) return Next::pending;
        Element element;
        MR_ASSIGN(const Next next, input_->next(pull, &element));
        if (next == Next::pending) return next;
        if (next == Next::end) {
          is_over_ = true;
          *result = std::move(state_);
          return Next::element;
        }
        Element arguments = state_;
        std::ranges::move(element, std::back_inserter(arguments));
        function_.start(call_, std::move(arguments));
      }
      MR_ASSIGN(const bool is_there, call_.poll(pull, &state_));
      if (!is_there) return Next::pending;
    }
  }

 private:
  const IteratorPtr input_;
  const WalkFunction function_;
  Element state_;
  Call call_;
  bool is_over_ = false;
};

// A dataset of one element, the reduction of its input.
class Reduction final : public DerivedDataset {
 public:
  Reduction(Components components, DatasetPtr input, CapturedPtr function, Element initial)
      : DerivedDataset(std::move(components), std::move(input)),
        function_(std::move(function)),
        initial_(std::move(initial)) {}
  int64_t cardinality() const override { return 1; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    const size_t arguments = initial_.size() + input_->components().types.size();
    MR_ASSIGN(WalkFunction function,
              WalkFunction::create(host, function_, arguments, components().types));
    return IteratorPtr(std::make_unique<Reducing>(std::move(input), std::move(function), initial_));
  }

 private:
  const CapturedPtr function_;
  const Element initial_;
};

// ---- DatasetToSingleElement
// ----------------------------------------------------------------------

class OnlyElement final : public DatasetIterator {
 public:
  explicit OnlyElement(IteratorPtr input) : input_(std::move(input)) {}
  Result<Next> next(Pull& pull, Element* result) override {
    for (;;) {
      Element element;
      MR_ASSIGN(const Next next, input_->next(pull, &element));
      if (next == Next::pending) return next;
      if (next == Next::element) {
        if (std::exchange(has_one_, true)) return invalid("Dataset had more than one element.");
        only_ = std::move(element);
        continue;
      }
      if (!has_one_) return invalid("Dataset was empty.");
      *result = std::move(only_);
      return Next::element;
    }
  }

 private:
  const IteratorPtr input_;
  Element only_;
  bool has_one_ = false;
};

class OnlyElementDataset final : public DerivedDataset {
 public:
  using DerivedDataset::DerivedDataset;
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<OnlyElement>(std::move(input)));
  }
};

// ---- GetElementAtIndex
// ---------------------------------------------------------------------------

class ElementAt final : public DatasetIterator {
 public:
  ElementAt(IteratorPtr input, int64_t index) : input_(std::move(input)), left_(index) {}
  Result<Next> next(Pull& pull, Element* result) override {
    for (;; --left_) {
      if (!pull.go_on()) return Next::pending;
      MR_ASSIGN(const Next next, input_->next(pull, result));
      if (next == Next::end)
        return error(Code::out_of_range, "the dataset has ended ", left_ + 1,
                     " elements too early");
      if (next == Next::pending || left_ == 0) return next;
    }
  }

 private:
  const IteratorPtr input_;
  int64_t left_;  // to be passed over
};

// The element that a walk along the input comes to after `index` others.
class ElementAtDataset final : public DerivedDataset {
 public:
  ElementAtDataset(DatasetPtr input, int64_t index)
      : DerivedDataset(std::move(input)), index_(index) {}
  int64_t cardinality() const override { return 1; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<ElementAt>(std::move(input), index_));
  }

 private:
  const int64_t index_;
};

// ---- Their kernels: a walk of the step's own, along a dataset of one element
// ---------------------

using MakeSingle = Result<DatasetPtr> (*)(DatasetInputs&);

class SingleKernel final : public Kernel, public FunctionCaller {
 public:
  SingleKernel(const KernelSpec& spec, MakeSingle make)
      : node_{std::string(spec.node_name), &spec.attrs.op(), spec.attrs.attrs(), nullptr},
        make_(make) {}
  void give_functions(std::shared_ptr<FunctionSpace> functions) override {
    node_.functions = std::move(functions);
  }
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    DatasetInputs inputs(context, node_);
    auto dataset = make_(inputs);
    if (!dataset.ok()) return done(dataset.status());
    auto components = inputs.components();
    if (!components.ok()) return done(components.status());
    std::vector<PartialShape> shapes = components->shapes;
    auto walk = std::make_shared<Iterator>(*std::move(components), node_.name);
    const Status begun = walk->begin(*dataset, machine_of(context));
    if (!begun.ok()) return done(begun);
    Iterator& walked = *walk;
    walked.next(context.step().cancellation,
                Done<Element>([&context, walk = std::move(walk), shapes = std::move(shapes),
                               done = std::move(done)](Result<Element> element) mutable {
                  Status status = give(context, std::move(element), shapes);
                  done(std::move(status));
                }));
  }

 private:
  static Status give(KernelContext& context, Result<Element> element,
                     std::span<const PartialShape> shapes) {
    if (!element.ok()) return std::move(element).status();
    if (element->size() != static_cast<size_t>(context.num_outputs()))
      return invalid("an element of ", element->size(), " components where the node has ",
                     context.num_outputs(), " outputs");
    for (int slot = 0; slot < context.num_outputs(); ++slot) {
      Tensor& component = (*element)[static_cast<size_t>(slot)];
      // The initial state of a reduction is what comes out if there is nothing to reduce.
      if (component.dtype() != context.output_dtype(slot))
        return invalid("Data type mismatch at component ", slot, ": expected ",
                       dtype_name(context.output_dtype(slot)), " but got ",
                       dtype_name(component.dtype()), ".");
      const PartialShape& shape = shapes[static_cast<size_t>(slot)];
      if (!shape.allows(component.shape()))
        return invalid("Incompatible shapes at component ", slot, ": expected ", shape.to_string(),
                       " but got ", component.shape().to_string(), ".");
      context.set_output(slot, std::move(component));
    }
    return {};
  }

  DatasetNode node_;  // constant after give_functions
  const MakeSingle make_;
};

Result<DatasetPtr> make_reduction(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(auto components, inputs.components());
  MR_ASSIGN(Element initial, inputs.list("initial_state"));
  MR_ASSIGN(CapturedPtr function, inputs.function());
  return DatasetPtr(std::make_shared<Reduction>(std::move(components), std::move(input),
                                                std::move(function), std::move(initial)));
}

Result<DatasetPtr> make_only_element(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  return DatasetPtr(std::make_shared<OnlyElementDataset>(std::move(input)));
}

Result<DatasetPtr> make_element_at(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const int64_t index, inputs.scalar<int64_t>(1, "index"));
  const int64_t all = input->cardinality();
  if (all < 0) {
    return failed_precondition("the dataset has ", all == kInfinite ? "an infinite" : "an unknown",
                               " cardinality, which does not support random access.");
  }
  if (index < 0 || index >= all)
    return error(Code::out_of_range, "Index out of range [0, ", all, "):", index);
  return DatasetPtr(std::make_shared<ElementAtDataset>(std::move(input), index));
}

Status infer_single(InferContext& context) {
  MR_ASSIGN(const auto shapes, context.attrs().shapes("output_shapes"));
  if (shapes.size() != static_cast<size_t>(context.num_outputs())) return {};
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    context.set_output(slot, shapes[static_cast<size_t>(slot)]);
  return {};
}

OpDef single_op(std::string name, std::string doc, std::string signature, MakeSingle make) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = infer_single,
          .cpu = [make](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
            return std::unique_ptr<Kernel>(std::make_unique<SingleKernel>(spec, make));
          },
          .not_differentiable = "what it gives comes out of a dataset, step by step",
          .stateful = true,
          .foldable = false};
}

}  // namespace

Status register_dataset_reductions(OpRegistry& ops) {
  MR_TRY(ops.add(single_op(
      "ReduceDataset", "f of f of ... initial_state and the first element, and so on to the last.",
      str_cat("input_dataset: variant, initial_state: Tstate, other_arguments: Targuments -> "
              "components: output_types | f: func, Tstate: list(type) >= 1, "
              "Targuments: list(type) >= 0, ",
              kOutputs, ", use_inter_op_parallelism: bool = true, metadata: string = ''"),
      make_reduction)));
  MR_TRY(ops.add(
      single_op("GetElementAtIndex",
                "The element of a dataset with as many before it as index says; a walk along them.",
                str_cat("dataset: variant, index: int64 -> components: output_types | ", kOutputs),
                make_element_at)));
  return ops.add(single_op("DatasetToSingleElement",
                           "The only element of a dataset; an error if it has none, or more.",
                           str_cat("dataset: variant -> components: output_types | ", kOutputs,
                                   ", metadata: string = ''"),
                           make_only_element));
}

}  // namespace millrace::data
