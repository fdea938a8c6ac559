// Part of families.h: register_iterators, walks along datasets as resources.
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/dataset_variant.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/iterator.h"
#include "millrace/ops/data/iterator_node.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/resource_handle_kernel.h"
#include "millrace/wire/known_variants.h"

namespace millrace::data {
namespace {

constexpr const char* kNoNumber = "it moves elements of datasets, whose gradients nobody asks for";

// ---- Handles
// -------------------------------------------------------------------------------------

// What the node of an iterator says, for ResourceHandleKernel.
struct IteratorNode {
  using Kind = Iterator;
  Dataset::Components components;

  static Result<IteratorNode> read(const KernelSpec& spec) {
    MR_ASSIGN(auto components, components_of(spec.attrs));
    return IteratorNode{std::move(components)};
  }
  Result<std::shared_ptr<Iterator>> make(const std::string& name, KernelContext&) const {
    return std::make_shared<Iterator>(components, name);
  }
  Status check(const Iterator& found) const {
    return check_components(components, found.components());
  }
};

// An iterator that only its handle names: a new one with each run.
class AnonymousIteratorKernel final : public Kernel {
 public:
  AnonymousIteratorKernel(Dataset::Components components)  // NOLINT(google-explicit-constructor)
      : components_(std::move(components)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(auto components, components_of(spec.attrs));
    return std::unique_ptr<Kernel>(
        std::make_unique<AnonymousIteratorKernel>(std::move(components)));
  }
  Status run(KernelContext& context) override {
    ResourceStore& resources = *context.step().device->resources;
    const ResourceName name{resources.default_container(),
                            resources.private_name("AnonymousIterator")};
    MR_TRY(resources.add<Iterator>(name.container, name.name,
                                   std::make_shared<Iterator>(components_, name.name)));
    context.set_output(0, Tensor::scalar(make_handle(context, name, Iterator::kTypeName)));
    if (context.num_outputs() > 1) context.set_output(1, Tensor::scalar(Variant()));
    return {};
  }

 private:
  const Dataset::Components components_;
};

Status delete_iterator(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, Iterator::kTypeName));
  return context.step().device->resources->remove<Iterator>(name.container, name.name);
}

// ---- What is done with one
// -----------------------------------------------------------------------

// The iterator behind input 0, remembered by the very handle: a step that comes again brings the
// same tensor, and nothing has to be looked up or compared.
class IteratorInput {
 public:
  Result<std::shared_ptr<Iterator>> find(KernelContext& context) {
    const uint64_t generation = context.step().device->resources->generation();
    const Tensor& handle = context.input(0);
    {
      MutexLock lock(mutex_);
      if (found_ != nullptr && handle_.buffer() == handle.buffer() && generation_ == generation)
        return found_;
    }
    MR_ASSIGN(auto found, input_.find(context));
    MutexLock lock(mutex_);
    handle_ = handle;
    generation_ = generation;
    found_ = std::move(found);
    return found_;
  }

 private:
  ResourceInput<Iterator> input_;
  Mutex mutex_;
  Tensor handle_ MR_GUARDED_BY(mutex_);  // kept, so that no other can have its address
  uint64_t generation_ MR_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Iterator> found_ MR_GUARDED_BY(mutex_);
};

class MakeIteratorKernel final : public Kernel {
 public:
  explicit MakeIteratorKernel(const KernelSpec&) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(DatasetPtr dataset, dataset_in(context.input(0)));
    MR_ASSIGN(const ResourceName name, named_by_input(context, 1, Iterator::kTypeName));
    MR_ASSIGN(const auto iterator,
              context.step().device->resources->find<Iterator>(name.container, name.name));
    return iterator->begin(std::move(dataset), machine_of(context));
  }
};

class GetNextKernel : public Kernel {
 public:
  explicit GetNextKernel(Dataset::Components components) : components_(std::move(components)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(auto components, components_of(spec.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<GetNextKernel>(std::move(components)));
  }
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto iterator = input_.find(context);
    if (!iterator.ok()) return done(iterator.status());
    Iterator& from = **iterator;
    from.next(context.step().cancellation,
              Done<Element>([this, &context, kept = *std::move(iterator),
                             done = std::move(done)](Result<Element> element) mutable {
                Status status = give(context, std::move(element));
                kept.reset();
                done(std::move(status));
              }));
  }

 protected:
  // What was promised when the graph was made is what its consumers rely on.
  Status check(const Element& element) const {
    if (element.size() != components_.types.size())
      return invalid("Number of components does not match: expected ", components_.types.size(),
                     " types but got ", element.size(), ".");
    for (size_t i = 0; i < element.size(); ++i) {
      if (element[i].dtype() != components_.types[i])
        return invalid("Data type mismatch at component ", i, ": expected ",
                       dtype_name(components_.types[i]), " but got ",
                       dtype_name(element[i].dtype()), ".");
      if (!components_.shapes[i].allows(element[i].shape()))
        return invalid("Incompatible shapes at component ", i, ": expected ",
                       components_.shapes[i].to_string(), " but got ",
                       element[i].shape().to_string(), ".");
    }
    return {};
  }
  virtual Status give(KernelContext& context, Result<Element> element) {
    if (!element.ok()) return std::move(element).status();
    MR_TRY(check(*element));
    for (size_t i = 0; i < element->size(); ++i)
      context.set_output(static_cast<int>(i), std::move((*element)[i]));
    return {};
  }

 private:
  const Dataset::Components components_;
  IteratorInput input_;
};

class GetNextAsOptionalKernel final : public GetNextKernel {
 public:
  using GetNextKernel::GetNextKernel;
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(auto components, components_of(spec.attrs));
    return std::unique_ptr<Kernel>(
        std::make_unique<GetNextAsOptionalKernel>(std::move(components)));
  }

 private:
  Status give(KernelContext& context, Result<Element> element) override {
    Variant made{std::string(wire::kOptionalType), std::string(1, '\0'), {}};
    if (element.ok()) {
      MR_TRY(check(*element));
      made.metadata = std::string(1, '\1');
      made.tensors = *std::move(element);
      MR_TRY(made.settle());
    } else if (element.status().code() != Code::out_of_range) {
      return std::move(element).status();
    }
    context.set_output(0, Tensor::scalar(std::move(made)));
    return {};
  }
};

// ---- Handles as strings
// --------------------------------------------------------------------------

// | device | container | name |, each with its length before it in decimal and a colon: what the
// feed of one program carries to a handle of another graph. Only we read it.
std::string written(const ResourceHandle& handle) {
  std::string text;
  for (const std::string* part : {&handle.device, &handle.container, &handle.name})
    str_append(&text, part->size(), ":", *part);
  return text;
}

Result<ResourceHandle> read_handle(std::string_view text) {
  ResourceHandle handle;
  handle.type_name = Iterator::kTypeName;
  for (std::string* part : {&handle.device, &handle.container, &handle.name}) {
    size_t size = 0, digits = 0;
    while (digits < text.size() && digits < 8 && text[digits] >= '0' && text[digits] <= '9')
      size = size * 10 + static_cast<size_t>(text[digits++] - '0');
    if (digits == 0 || digits >= text.size() || text[digits] != ':' ||
        size > text.size() - digits - 1)
      return invalid(
          "Could not parse string_handle as a valid ResourceHandle: it is what string_handle() of "
          "an iterator gives");
    *part = text.substr(digits + 1, size);
    text.remove_prefix(digits + 1 + size);
  }
  if (!text.empty()) return invalid("Could not parse string_handle as a valid ResourceHandle");
  return handle;
}

Result<Tensor> to_string_handle(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, Iterator::kTypeName));
  MR_TRY(context.step().device->resources->find<Iterator>(name.container, name.name));
  return Tensor::scalar(written(context.input(0).item<ResourceHandle>()));
}

class FromStringKernel final : public Kernel {
 public:
  explicit FromStringKernel(Dataset::Components components) : components_(std::move(components)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(auto components, components_of(spec.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<FromStringKernel>(std::move(components)));
  }
  Status run(KernelContext& context) override {
    const Tensor& given = context.input(0);
    if (given.shape().rank() != 0) return invalid("string_handle must be a scalar");
    MutexLock lock(mutex_);
    // Who feeds the same string again gets the same handle, which kernels behind recognize.
    if (!handle_.has_value() || text_ != given.item<std::string>()) {
      MR_ASSIGN(const ResourceHandle handle, read_handle(given.item<std::string>()));
      handle_ = Tensor::scalar(handle);
      text_ = given.item<std::string>();
    }
    const ResourceHandle& handle = handle_.item<ResourceHandle>();
    if (handle.device != context.step().device->name)
      return invalid("Attempted create an iterator on device \"", context.step().device->name,
                     "\" from handle defined on device \"", handle.device, "\"");
    MR_ASSIGN(const auto iterator,
              context.step().device->resources->find<Iterator>(handle.container, handle.name));
    if (!components_.types.empty() && !iterator->components().types.empty())
      MR_TRY(check_components(components_, iterator->components()));
    context.set_output(0, handle_);
    return {};
  }

 private:
  const Dataset::Components components_;
  Mutex mutex_;
  std::string text_ MR_GUARDED_BY(mutex_);
  Tensor handle_ MR_GUARDED_BY(mutex_);
};

Result<Tensor> device_of_iterator(KernelContext& context) {
  MR_TRY(named_by_input(context, 0, Iterator::kTypeName));
  return Tensor::scalar(context.input(0).item<ResourceHandle>().device);
}

// ---- Their ops
// -----------------------------------------------------------------------------------

Status infer_components(InferContext& context) {
  MR_ASSIGN(const auto shapes, context.attrs().shapes("output_shapes"));
  if (shapes.size() != static_cast<size_t>(context.num_outputs()))
    return invalid("output_shapes has ", shapes.size(), " shapes for ", context.num_outputs(),
                   " components");
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    context.set_output(slot, shapes[static_cast<size_t>(slot)]);
  return {};
}

OpDef iterator_op(std::string name, std::string doc, std::string signature, KernelFactory cpu,
                  InferFn infer = infer::scalar) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = std::move(infer),
          .cpu = std::move(cpu),
          .not_differentiable = kNoNumber,
          .stateful = true,
          .cost = Cost::cheap};
}

Status register_iterator_handles(OpRegistry& ops) {
  const std::string outputs = kOutputs;
  for (const char* name : {"Iterator", "IteratorV2"}) {
    MR_TRY(ops.add(
        iterator_op(name, "A walk along a dataset; MakeIterator begins it.",
                    "-> handle: resource | shared_name: string, container: string, " + outputs,
                    kernel_class<ResourceHandleKernel<IteratorNode>>())));
  }
  for (const char* name : {"AnonymousIterator", "AnonymousIteratorV3"}) {
    MR_TRY(ops.add(iterator_op(name, "A new walk with each run, which only its handle names.",
                               "-> handle: resource | " + outputs,
                               kernel_class<AnonymousIteratorKernel>())));
  }
  MR_TRY(ops.add(iterator_op("AnonymousIteratorV2",
                             "A new walk with each run, which only its handle names.",
                             "-> handle: resource, deleter: variant | " + outputs,
                             kernel_class<AnonymousIteratorKernel>())));
  MR_TRY(ops.add(iterator_op("DeleteIterator", "Ends a walk that only its handle names.",
                             "handle: resource, deleter: variant ->", kernel(delete_iterator),
                             infer::no_outputs)));
  return ops.add(iterator_op(
      "OneShotIterator", "A walk along the dataset that a function makes, which is called once.",
      "-> handle: resource | dataset_factory: func, " + outputs +
          ", container: string = '', shared_name: string = ''",
      one_shot_kernel()));
}

}  // namespace

Status register_iterators(OpRegistry& ops) {
  const std::string outputs = kOutputs;
  MR_TRY(register_iterator_handles(ops));
  MR_TRY(ops.add(iterator_op("MakeIterator", "Lets an iterator begin a walk along a dataset.",
                             "dataset: variant, iterator: resource ->",
                             kernel_class<MakeIteratorKernel>(), infer::no_outputs)));
  for (const char* name : {"IteratorGetNext", "IteratorGetNextSync"}) {
    MR_TRY(ops.add(iterator_op(name, "The next element; fails with OUT_OF_RANGE behind the last.",
                               "iterator: resource -> components: output_types | " + outputs,
                               kernel_class<GetNextKernel>(), infer_components)));
  }
  MR_TRY(ops.add(iterator_op("IteratorGetNextAsOptional",
                             "The next element as an optional, which is empty behind the last.",
                             "iterator: resource -> optional: variant | " + outputs,
                             kernel_class<GetNextAsOptionalKernel>())));
  MR_TRY(ops.add(iterator_op(
      "IteratorToStringHandle", "A string that names an iterator, for steps of other graphs.",
      "resource_handle: resource -> string_handle: string", kernel(to_string_handle))));
  for (const char* name : {"IteratorFromStringHandle", "IteratorFromStringHandleV2"}) {
    MR_TRY(ops.add(
        iterator_op(name, "The iterator that a string names.",
                    "string_handle: string -> resource_handle: resource | "
                    "output_types: list(type) >= 0 = {}, output_shapes: list(shape) >= 0 = {}",
                    kernel_class<FromStringKernel>())));
  }
  return ops.add(iterator_op("IteratorGetDevice", "The device of an iterator.",
                             "resource: resource -> device: string", kernel(device_of_iterator)));
}

}  // namespace millrace::data
