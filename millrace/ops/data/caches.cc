// Part of families.h: register_dataset_caches, elements that are kept for the next walk.
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/data/cache_files.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/state/resource_access.h"

namespace millrace::data {
namespace {

// The elements of a dataset once a walk has come to its end. Thread-safe.
class Memory {
 public:
  using Elements = std::shared_ptr<const std::vector<Element>>;
  Elements elements() const {
    MutexLock lock(mutex_);
    return elements_;
  }
  void fill(std::vector<Element> elements) {
    MutexLock lock(mutex_);
    if (elements_ == nullptr)
      elements_ = std::make_shared<const std::vector<Element>>(std::move(elements));
  }

 private:
  mutable Mutex mutex_;
  Elements elements_ MR_GUARDED_BY(mutex_);
};

class Remembered final : public DatasetIterator {
 public:
  explicit Remembered(Memory::Elements elements) : elements_(std::move(elements)) {}
  Result<Next> next(Pull&, Element* element) override {
    if (next_ == elements_->size()) return Next::end;
    *element = (*elements_)[next_++];
    return Next::element;
  }

 private:
  const Memory::Elements elements_;
  size_t next_ = 0;
};

class Remembering final : public DatasetIterator {
 public:
  Remembering(IteratorPtr input, std::shared_ptr<Memory> memory)
      : input_(std::move(input)), memory_(std::move(memory)) {}
  Result<Next> next(Pull& pull, Element* element) override {
    MR_ASSIGN(const Next next, input_->next(pull, element));
    if (next == Next::element) {
      Element kept;
      for (const Tensor& component : *element) {
        MR_ASSIGN(Tensor one, component.kept());
        kept.push_back(std::move(one));
      }
      elements_.push_back(std::move(kept));
    }
    if (next == Next::end && !std::exchange(is_over_, true)) memory_->fill(std::move(elements_));
    return next;
  }

 private:
  const IteratorPtr input_;
  const std::shared_ptr<Memory> memory_;
  std::vector<Element> elements_;
  bool is_over_ = false;
};

class CacheDataset final : public DerivedDataset {
 public:
  explicit CacheDataset(DatasetPtr input)
      : DerivedDataset(std::move(input)), memory_(std::make_shared<Memory>()) {}
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    if (auto elements = memory_->elements())
      return IteratorPtr(std::make_unique<Remembered>(std::move(elements)));
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return IteratorPtr(std::make_unique<Remembering>(std::move(input), memory_));
  }

 private:
  const std::shared_ptr<Memory> memory_;
};

class FileCacheDataset final : public DerivedDataset {
 public:
  FileCacheDataset(DatasetPtr input, std::string name, std::shared_ptr<LeftCaches> left)
      : DerivedDataset(std::move(input)), name_(std::move(name)), left_(std::move(left)) {}
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    return walk_by_files(input_, host, name_, left_);
  }

 private:
  const std::string name_;
  const std::shared_ptr<LeftCaches> left_;
};

Result<DatasetPtr> make_cache(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(std::string name, inputs.scalar<std::string>(1, "filename"));
  if (!name.empty()) {
    MR_ASSIGN(auto left, LeftCaches::of(*inputs.context().step().device->resources));
    return DatasetPtr(
        std::make_shared<FileCacheDataset>(std::move(input), std::move(name), std::move(left)));
  }
  return DatasetPtr(std::make_shared<CacheDataset>(std::move(input)));
}

Result<Tensor> memory_handle(KernelContext& context) {
  return Tensor::scalar(make_handle(context, {"", "_dummy_memory_cache"}, "MemoryCache"));
}

Status anonymous_memory(KernelContext& context) {
  MR_ASSIGN(Tensor handle, memory_handle(context));
  context.set_output(0, std::move(handle));
  context.set_output(1, Tensor::scalar(Variant()));
  return {};
}

}  // namespace

Status register_dataset_caches(OpRegistry& ops) {
  const std::string inputs = "input_dataset: variant, filename: string";
  MR_TRY(ops.add(dataset_op("CacheDataset",
                            "The elements of the first walk, kept for those that follow it: in "
                            "memory, or in files that begin with `filename`.",
                            inputs, kOutputs, make_cache)));
  MR_TRY(ops.add(dataset_op("CacheDatasetV2",
                            "CacheDataset; what the handle names lives with the dataset here.",
                            inputs + ", cache: resource", kOutputs, make_cache, Kind::source)));
  MR_TRY(ops.add({.name = "DummyMemoryCache",
                  .doc = "A handle for ops that want one; caches live with their datasets.",
                  .signature = "-> handle: resource",
                  .infer = infer::scalar,
                  .cpu = kernel(memory_handle),
                  .not_differentiable = "it gives a handle, which is no number",
                  .stateful = true,
                  .cost = Cost::cheap}));
  return ops.add({.name = "AnonymousMemoryCache",
                  .doc = "A handle for ops that want one; caches live with their datasets.",
                  .signature = "-> handle: resource, deleter: variant",
                  .infer = infer::scalar,
                  .cpu = kernel(anonymous_memory),
                  .not_differentiable = "it gives a handle, which is no number",
                  .stateful = true,
                  .cost = Cost::cheap});
}

}  // namespace millrace::data
