#include "millrace/ops/exchange/batch_node.h"

namespace millrace {

std::shared_ptr<const DeviceTime> time_of(KernelContext& context) {
  auto found = context.step().device->resources->find<DeviceTime>(DeviceTime::kContainer, "");
  return found.ok() ? *std::move(found) : nullptr;
}

Result<std::unique_ptr<BatchNode>> BatchNode::read(const KernelSpec& spec) {
  MR_ASSIGN(BatchRules rules, BatchRules::read(spec.attrs));
  MR_ASSIGN(ResourceName name, resource_name_of(spec));
  MR_ASSIGN(std::string line, spec.attrs.string("batching_queue"));
  return std::make_unique<BatchNode>(std::move(rules), std::move(name), std::move(line));
}

Result<std::shared_ptr<Batcher>> BatchNode::batcher(KernelContext& context) {
  const auto make = [&](ResourceStore& resources, const ResourceName& name) {
    return resources.find_or_create<Batcher>(
        name.container, name.name, [&]() -> Result<std::shared_ptr<Batcher>> {
          return std::make_shared<Batcher>(rules_, time_of(context), name.name);
        });
  };
  return found_.get(*context.step().device->resources, name_, make);
}

}  // namespace millrace
