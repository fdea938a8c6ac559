// ResourceHandleKernel: what ops do whose output is the handle of a resource: each finds the
// resource of its name on its device, or makes it.
//
// A Spec is what a node says of the resource. It has
//
//   using Kind = …;                                      // a Resource with kTypeName
//   static Result<Spec> read(const KernelSpec& spec);
//   Result<std::shared_ptr<Kind>> make(const std::string& name, KernelContext& context) const;
//   Status check(const Kind& found) const;               // made by another node, maybe differently
//
// A resource without a shared name ends with its kernel. The handle is a resource tensor, or a
// reference to the strings of container and name in the forms of before TensorFlow 1.0.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "millrace/op/durable.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/op/op_def.h"
#include "millrace/ops/state/resource_access.h"

namespace millrace {

// What a reference handle refers to: a string tensor [container, name], as long as its kernel
// lives.
struct HandleStrings final : Resource {
  Mutex mutex;
  Tensor tensor;
  std::string description() const override { return "a handle of two strings"; }
};

// The shape of such strings.
inline Status infer_handle_strings(InferContext& context) {
  context.set_output(0, PartialShape{2});
  return {};
}

template <class Spec>
class ResourceHandleKernel final : public Kernel {
 public:
  using Kind = typename Spec::Kind;

  ResourceHandleKernel(Spec spec, std::string node_name, ResourceName asked, bool gives_ref)
      : spec_(std::move(spec)),
        node_name_(std::move(node_name)),
        asked_(std::move(asked)),
        gives_ref_(gives_ref) {}

  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    // Also of those that can't last: who asks hears of it.
    MR_TRY(asks_to_last(spec.attrs.op().name, spec.attrs.attrs()).status());
    MR_ASSIGN(Spec read, Spec::read(spec));
    ResourceName asked;
    MR_ASSIGN(asked.container, spec.attrs.string("container"));
    MR_ASSIGN(asked.name, spec.attrs.string("shared_name"));
    if constexpr (requires { read.shares_node_name(); }) {
      if (asked.name.empty() && read.shares_node_name()) asked.name = spec.node_name;
    }
    return std::unique_ptr<Kernel>(std::make_unique<ResourceHandleKernel>(
        std::move(read), std::string(spec.node_name), std::move(asked), spec.outputs[0].is_ref));
  }

  ~ResourceHandleKernel() override {
    // The device's resources outlive the kernel.
    if (asked_.name.empty() && found_ != nullptr)
      (void)resources_->remove<Kind>(name_.container, name_.name);
  }

  Status run(KernelContext& context) override {
    MutexLock lock(mutex_);
    if (found_ == nullptr || generation_ != context.step().device->resources->generation())
      MR_TRY(find(context));
    if (gives_ref_) {
      context.set_output_ref(0, {&strings_->mutex, &strings_->tensor, strings_});
      return {};
    }
    if (!handle_.has_value())
      handle_ = Tensor::scalar(make_handle(context, name_, Kind::kTypeName));
    context.set_output(0, handle_);
    return {};
  }

 private:
  Status find(KernelContext& context) MR_REQUIRES(mutex_) {
    ResourceStore& resources = *context.step().device->resources;
    resources_ = &resources;
    const uint64_t generation = resources.generation();
    if (name_.container.empty()) {
      name_.container = asked_.container.empty() ? resources.default_container() : asked_.container;
    }
    if (name_.name.empty())
      name_.name = asked_.name.empty() ? resources.private_name(node_name_) : asked_.name;
    const auto make = [&spec = spec_, name = name_.name, &context] {
      return spec.make(name, context);
    };
    MR_ASSIGN(std::shared_ptr<Kind> found,
              resources.find_or_create<Kind>(name_.container, name_.name, make));
    MR_TRY(spec_.check(*found));
    found_ = std::move(found);
    generation_ = generation;
    strings_ = std::make_shared<HandleStrings>();
    strings_->tensor = Tensor::vector<std::string>({name_.container, name_.name});
    return {};
  }

  // Constant after construction. What the node leaves open is empty.
  const Spec spec_;
  const std::string node_name_;
  const ResourceName asked_;
  const bool gives_ref_;

  Mutex mutex_;
  // Chosen with the first run.
  ResourceName name_ MR_GUARDED_BY(mutex_);
  ResourceStore* resources_ MR_GUARDED_BY(mutex_) = nullptr;
  uint64_t generation_ MR_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Kind> found_ MR_GUARDED_BY(mutex_);
  std::shared_ptr<HandleStrings> strings_ MR_GUARDED_BY(mutex_);
  Tensor handle_ MR_GUARDED_BY(mutex_);
};

// The resource behind an input, remembered from run to run.
template <class Kind>
class ResourceInput {
 public:
  // Errors: as for named_by_input(), and NOT_FOUND.
  Result<std::shared_ptr<Kind>> find(KernelContext& context, int slot = 0) {
    MR_ASSIGN(const ResourceName name, named_by_input(context, slot, Kind::kTypeName));
    return cached_.get(*context.step().device->resources, name,
                       [](ResourceStore& resources, const ResourceName& wanted) {
                         return resources.find<Kind>(wanted.container, wanted.name);
                       });
  }

 private:
  CachedResource<Kind> cached_;
};

// A kernel of one function on the resource behind input 0:
//   .cpu = resource_kernel<Barrier>([](KernelContext& context, Barrier& barrier) -> Status { … })
template <class Kind, class Run>
class ResourceKernel final : public Kernel {
 public:
  explicit ResourceKernel(Run run) : run_(std::move(run)) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const std::shared_ptr<Kind> found, input_.find(context));
    return run_(context, *found);
  }

 private:
  const Run run_;
  ResourceInput<Kind> input_;
};

template <class Kind, class Run>
KernelFactory resource_kernel(Run run) {
  return [run](const KernelSpec&) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(std::make_unique<ResourceKernel<Kind, Run>>(run));
  };
}

// The same of one that may wait: run(context, shared_ptr<Kind>, Done<void>). It sees to it that the
// resource lives as long as it waits.
template <class Kind, class Start>
class WaitingResourceKernel final : public Kernel {
 public:
  explicit WaitingResourceKernel(Start start) : start_(std::move(start)) {}
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto found = input_.find(context);
    if (!found.ok()) return done(found.status());
    Kind& target = **found;
    start_(context, target,
           Done<void>([kept = *std::move(found), done = std::move(done)](Status status) mutable {
             done(std::move(status));
           }));
  }

 private:
  const Start start_;
  ResourceInput<Kind> input_;
};

template <class Kind, class Start>
KernelFactory waiting_resource_kernel(Start start) {
  return [start](const KernelSpec&) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(std::make_unique<WaitingResourceKernel<Kind, Start>>(start));
  };
}

}  // namespace millrace
