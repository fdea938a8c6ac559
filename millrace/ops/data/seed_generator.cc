#include "millrace/ops/data/seed_generator.h"

#include <utility>

#include "millrace/op/infer.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/state/resource_access.h"

namespace millrace::data {
namespace {

class SeedGenerator final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::data::SeedGeneratorManager";
  explicit SeedGenerator(std::shared_ptr<WalkSeeds> held) : seeds(std::move(held)) {}
  std::string description() const override { return "a generator of seeds"; }
  const std::shared_ptr<WalkSeeds> seeds;
};

constexpr std::string_view kDummyName = "_dummy_seed_generator";

Result<Tensor> dummy_handle(KernelContext& context) {
  return Tensor::scalar(
      make_handle(context, {"", std::string(kDummyName)}, SeedGenerator::kTypeName));
}

// Handles of what nobody else can name: they live until they are deleted, or with the device.
Status make_anonymous(KernelContext& context) {
  for (const int slot : {0, 1, 2}) {
    if (context.input(slot).shape().rank() != 0)
      return invalid("seed, seed2 and reshuffle must be scalars");
  }
  const Seeds seeds = Seeds::of(context.input(0).item<int64_t>(), context.input(1).item<int64_t>(),
                                context.step().device->random);
  const auto reshuffle = context.input(2).item<bool>() ? Reshuffle::each_walk : Reshuffle::never;
  ResourceStore& resources = *context.step().device->resources;
  const ResourceName name{resources.default_container(),
                          resources.private_name("AnonymousSeedGenerator")};
  MR_TRY(resources.add<SeedGenerator>(
      name.container, name.name,
      std::make_shared<SeedGenerator>(std::make_shared<WalkSeeds>(seeds, reshuffle))));
  const ResourceHandle handle = make_handle(context, name, SeedGenerator::kTypeName);
  context.set_output(0, Tensor::scalar(handle));
  if (context.num_outputs() > 1) context.set_output(1, Tensor::scalar(Variant()));
  return {};
}

}  // namespace

Result<std::shared_ptr<WalkSeeds>> seed_generator_at(KernelContext& context, int slot) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, slot, SeedGenerator::kTypeName));
  if (name.name == kDummyName) return std::shared_ptr<WalkSeeds>();
  MR_ASSIGN(const auto found,
            context.step().device->resources->find<SeedGenerator>(name.container, name.name));
  return found->seeds;
}

Status register_seed_generators(OpRegistry& ops) {
  MR_TRY(ops.add({.name = "DummySeedGenerator",
                  .doc = "The handle of no seed generator, for ops that want one.",
                  .signature = "-> handle: resource",
                  .infer = infer::scalar,
                  .cpu = kernel(dummy_handle),
                  .not_differentiable = "it gives a handle, which is no number",
                  .stateful = true,
                  .cost = Cost::cheap}));
  return ops.add({.name = "AnonymousSeedGenerator",
                  .doc = "A generator of seeds that only its handle names.",
                  .signature = "seed: int64, seed2: int64, reshuffle: bool -> handle: resource, "
                               "deleter: variant",
                  .infer = infer::scalar,
                  .cpu = kernel(make_anonymous),
                  .not_differentiable = "it gives a handle, which is no number",
                  .stateful = true,
                  .cost = Cost::cheap});
}

}  // namespace millrace::data
