// Part of families.h: register_devices: what a node is told of where it runs.
#include <algorithm>

#include "millrace/op/device_name.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/flow/families.h"

namespace millrace {
namespace {

class DeviceIndexKernel final : public Kernel {
 public:
  explicit DeviceIndexKernel(int32_t index) : index_(index) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    const AttrValue* given = spec.attrs.find("device_names");
    const auto* names = given == nullptr ? nullptr : given->as_list_of<std::string>();
    if (names == nullptr) return invalid("attribute 'device_names' is no list of strings");
    MR_ASSIGN(const DeviceName device, DeviceName::parse(spec.device));
    const auto found = std::ranges::find(*names, device.type.value_or(""));
    return std::unique_ptr<Kernel>(
        std::make_unique<DeviceIndexKernel>(static_cast<int32_t>(found - names->begin())));
  }
  Status run(KernelContext& context) override {
    context.set_output(0, Tensor::scalar(index_));
    return {};
  }

 private:
  const int32_t index_;
};

}  // namespace

Status register_devices(OpRegistry& ops) {
  return ops.add({
      .name = "DeviceIndex",
      .doc = "Where in device_names the type of the device that runs it stands; how many there are "
             "if it is not among them.",
      .signature = "-> index: int32 | device_names: list(string)",
      .infer = infer::scalar,
      .cpu = kernel_class<DeviceIndexKernel>(),
      .not_differentiable = "it has no inputs",
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
  });
}

}  // namespace millrace
