// Part of families.h: register_transfer.
#include "millrace/op/transfer.h"

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/op/rendezvous.h"
#include "millrace/ops/transfer/families.h"

namespace millrace {
namespace {

Status no_rendezvous(const KernelContext& context) {
  return failed_precondition("'", context.node_name(), "' can't run here: there is no rendezvous");
}

class SendKernel final : public Kernel {
 public:
  explicit SendKernel(RendezvousKey key) : key_(std::move(key)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(RendezvousKey key, transfer_key(spec.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<SendKernel>(std::move(key)));
  }

  Status run(KernelContext& context) override {
    Rendezvous* rendezvous = context.step().rendezvous;
    if (rendezvous == nullptr) return no_rendezvous(context);
    const bool is_dead = context.input_is_dead();
    Delivery delivery{is_dead ? Tensor() : context.take_input(0), is_dead};
    return key_.with(context.where(), [&](std::string_view key) {
      return rendezvous->send(key, std::move(delivery));
    });
  }

 private:
  const TransferKey key_;
};

class ReceiveKernel final : public Kernel {
 public:
  explicit ReceiveKernel(RendezvousKey key) : key_(std::move(key)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(RendezvousKey key, transfer_key(spec.attrs));
    return std::unique_ptr<Kernel>(std::make_unique<ReceiveKernel>(std::move(key)));
  }

  bool is_async() const override { return true; }

  void start(KernelContext& context, Done<void> done) override {
    StepContext& step = context.step();
    if (step.rendezvous == nullptr) return done(no_rendezvous(context));
    key_.with(context.where(), [&](std::string_view key) {
      step.rendezvous->receive(
          key, step.cancellation,
          Done<Delivery>([&context, done = std::move(done)](Result<Delivery> answer) mutable {
            done(take_delivery(context, std::move(answer)));
          }));
    });
  }

 private:
  const TransferKey key_;
};

}  // namespace

Status register_transfer(OpRegistry& ops) {
  const std::string channel =
      "tensor_name: string, send_device: string, send_device_incarnation: int, "
      "recv_device: string, client_terminated: bool = false";
  for (const char* name : {"_Send", "_HostSend", "Send"}) {
    MR_TRY(ops.add({
        .name = name,
        .doc =
            "Sends a tensor from send_device to recv_device under the name tensor_name. Runs even "
            "when its input is dead, and sends that.",
        .signature = "tensor: T -> | T: type, " + channel,
        .infer = infer::no_outputs,
        .cpu = kernel_class<SendKernel>(),
        .not_differentiable =
            "it joins parts of a step that was cut up after its gradients were made",
        .role = Role::send,
        .stateful = true,
        .foldable = false,
        .cost = Cost::cheap,
    }));
  }
  for (const char* name : {"_Recv", "_HostRecv", "Recv"}) {
    MR_TRY(ops.add({
        .name = name,
        .doc =
            "Waits for the tensor that was sent under the same name between the same devices. Its "
            "output is dead if the sender's input was.",
        .signature = "-> tensor: tensor_type | tensor_type: type, " + channel,
        .infer = infer::unknown,
        .cpu = kernel_class<ReceiveKernel>(),
        .not_differentiable =
            "it joins parts of a step that was cut up after its gradients were made",
        .role = Role::receive,
        .stateful = true,
        .foldable = false,
        .cost = Cost::cheap,
    }));
  }
  return {};
}

}  // namespace millrace
