// Part of families.h: register_kept_walks, walks that are kept and gone on with.
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/iterator.h"
#include "millrace/ops/data/iterator_node.h"
#include "millrace/ops/state/resource_access.h"

namespace millrace::data {
namespace {

Result<std::shared_ptr<Iterator>> iterator_at(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, Iterator::kTypeName));
  return context.step().device->resources->find<Iterator>(name.container, name.name);
}

// What TensorFlow's external_state_policy says: 0 that state of functions is warned of, 1 ignored,
// 2 refused.
constexpr int64_t kRefused = 2;

Result<std::unique_ptr<Kernel>> serialize_kernel(const KernelSpec& spec) {
  MR_ASSIGN(const int64_t policy, spec.attrs.integer("external_state_policy"));
  if (policy < 0 || policy > kRefused)
    return invalid("Unexpected value of external policy: ", policy, "; it is 0, 1 or 2");
  const auto unkept = policy == kRefused ? Iterator::Unkept::refused : Iterator::Unkept::allowed;
  return kernel([unkept](KernelContext& context) -> Result<Tensor> {
    MR_ASSIGN(const auto iterator, iterator_at(context));
    MR_ASSIGN(const WalkState state, iterator->save(unkept));
    return Tensor::vector<Variant>({state.to_variant()});
  })(spec);
}

class DeserializeIteratorKernel final : public Kernel {
 public:
  explicit DeserializeIteratorKernel(const KernelSpec&) {}
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    const Status begun = begin(context, done);
    if (!begun.ok()) done(begun);
  }

 private:
  // `done` is taken unless that fails.
  static Status begin(KernelContext& context, Done<void>& done) {
    const Tensor& given = context.input(1);
    if (given.num_elements() != 1)
      return invalid("the state of an iterator is one variant, as SerializeIterator gives it; ",
                     given.shape().to_string(), " are ", given.num_elements());
    MR_ASSIGN(WalkState state, WalkState::from_variant(given.flat<Variant>()[0]));
    MR_ASSIGN(auto iterator, iterator_at(context));
    Iterator& restored = *iterator;
    restored.restore(
        std::move(state), machine_of(context), context.step().cancellation,
        Done<void>([kept = std::move(iterator), done = std::move(done)](Status status) mutable {
          kept.reset();
          done(std::move(status));
        }));
    return {};
  }
};

Status infer_state(InferContext& context) {
  context.set_output(0, PartialShape{kUnknownDim});
  return {};
}

constexpr const char* kNoGradient = "it keeps how far a walk is, which is no number";

}  // namespace

Status register_kept_walks(OpRegistry& ops) {
  MR_TRY(ops.add(
      {.name = "SerializeIterator",
       .doc =
           "How far an iterator is, as a vector of one variant: the number of elements that were "
           "handed out and the seeds that were drawn. What functions keep for themselves "
           "(variables, files, random numbers) is not in it: it is ignored, or an error if "
           "external_state_policy is 2.",
       .signature =
           "resource_handle: resource -> serialized: variant | external_state_policy: int = 0",
       .infer = infer_state,
       .cpu = serialize_kernel,
       .not_differentiable = kNoGradient,
       .stateful = true,
       .cost = Cost::cheap}));
  return ops.add(
      {.name = "DeserializeIterator",
       .doc = "Lets an iterator that was initialized go on where another walk along the same "
              "dataset was: elements before are made again and dropped.",
       .signature = "resource_handle: resource, serialized: variant ->",
       .infer = infer::no_outputs,
       .cpu = kernel_class<DeserializeIteratorKernel>(),
       .not_differentiable = kNoGradient,
       .stateful = true});
}

}  // namespace millrace::data
