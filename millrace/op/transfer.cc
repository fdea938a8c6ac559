#include "millrace/op/transfer.h"

#include <utility>

namespace millrace {

Result<RendezvousKey> transfer_key(const AttrView& attrs) {
  MR_ASSIGN(const std::string name, attrs.string("tensor_name"));
  MR_ASSIGN(const std::string source, attrs.string("send_device"));
  MR_ASSIGN(const int64_t incarnation, attrs.integer("send_device_incarnation"));
  MR_ASSIGN(const std::string destination, attrs.string("recv_device"));
  RendezvousKey key =
      RendezvousKey::make(source, static_cast<uint64_t>(incarnation), destination, name);
  MR_TRY(RendezvousKey::parse(key.text));
  return key;
}

Status take_delivery(KernelContext& context, Result<Delivery> answer) {
  MR_ASSIGN(Delivery delivery, std::move(answer));
  if (delivery.is_dead) {
    context.set_all_outputs_dead();
    return {};
  }
  if (delivery.tensor.dtype() != context.output_dtype(0)) {
    return invalid("'", context.node_name(), "' received a tensor of type ",
                   dtype_name(delivery.tensor.dtype()), "; it expects ",
                   dtype_name(context.output_dtype(0)));
  }
  context.set_output(0, std::move(delivery.tensor));
  return {};
}

}  // namespace millrace
